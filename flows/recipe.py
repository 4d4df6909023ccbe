"""The recipe of a benchmark version: every knob, with the paper's numbers where it gives them."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, model_validator

from evaluation.leaks import Limits
from flows.recipe_curation import (
    Count,
    Dialogues,
    Evidence,
    MemoryDuplicates,
    NearDuplicates,
    Part,
    Samples,
    SourcePin,
)
from llm.ledger import NANO
from llm.served import Sampling

Share = Annotated[float, Field(ge=0, le=1)]
ROLES = ("extractor", "validator", "generator", "auditor", "judge")


def check_whole(what: str, shares: Mapping[str, float]) -> None:
    """Refuse shares that are no whole; a ValueError, as pydantic wants it."""
    if abs(sum(shares.values()) - 1) > 1e-9:
        raise ValueError(f"the shares of {what} add up to {sum(shares.values()):g}, not to 1")


class Role(Part):
    """The model that plays a role, by its name in the catalogue, or `offline`, and how it is asked.

    `max_tokens` is what an answer may have at first, thoughts included; one that is cut may have four times that. In a
    `batch` calls are cheaper and slower, and otherwise the same.
    """

    name: str = "offline"
    max_tokens: Count = 8192
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    batch: bool = False

    @property
    def sampling(self) -> Sampling:
        """How answers are drawn."""
        return Sampling(**self.model_dump(include=set(Sampling.model_fields)))


class Models(Part):
    """Who reads, checks, writes, audits and judges."""

    extractor: Role = Role()
    validator: Role = Role()
    generator: Role = Role()
    auditor: Role = Role()
    judge: Role = Role()


class Budget(Part):
    """What a home may spend on model calls in all, in US dollars; without a number, whatever it takes."""

    max_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    @property
    def most_nano_usd(self) -> int | None:
        """The same in billionths of a dollar, as the ledger counts."""
        return None if self.max_usd is None else int(self.max_usd * NANO)


class TestRoles(Part):
    """Shares of the held-out groups: each serves the tracks of one role, so that none shows another's gold.

    extraction: task 1. memory: task 2 and ability PA. retrieval: task 3. utilization: the other abilities.
    """

    extraction: Share = 0.25
    memory: Share = 0.25
    retrieval: Share = 0.25
    utilization: Share = 0.25

    @model_validator(mode="after")
    def _whole(self) -> "TestRoles":
        check_whole("test_roles", self.model_dump())
        return self


class Splits(Part):
    """Shares of the user groups; a tiny part of dev is set apart as examples."""

    examples: Share = 0.02
    dev: Share = 0.18
    validation: Share = 0.2
    test: Share = 0.6
    test_roles: TestRoles = TestRoles()
    bank_factor: Annotated[float, Field(ge=1)] = 1.2

    @model_validator(mode="after")
    def _whole(self) -> "Splits":
        check_whole("splits", self.shares)
        return self

    @property
    def shares(self) -> dict[str, float]:
        """The share of each split, in the order of drawing."""
        return {"examples": self.examples, "dev": self.dev, "validation": self.validation, "test": self.test}


class Caps(Part):
    """How many targets a kind may have at the most; EI, of each language. Kinds without a number have no cap."""

    extraction: Count | None = None
    update: Count | None = None
    retrieval: Count | None = None
    PA: Count | None = None
    PF_general: Count | None = None
    PF_interaction: Count | None = 250
    VRA: Count | None = 500
    CF: Count | None = None
    EI: Count | None = 500


class LabelCaps(Part):
    """How many targets each label may have at the most within a kind."""

    PA: Count | None = 55
    PF_general: Count | None = None
    VRA: Count | None = None
    CF: Count | None = 100
    EI: Count | None = None


class Targets(Part):
    """What may be a target, and how many."""

    minimum_confidence: Share = 0.65
    label_caps: LabelCaps = LabelCaps()
    caps: Caps = Caps()


class Retrieval(Part):
    """How many distractors the five tracks of task 3 show."""

    distractors: Annotated[tuple[Count, ...], Field(min_length=5, max_length=5)] = (100, 300, 500, 700, 1000)

    @model_validator(mode="after")
    def _growing(self) -> "Retrieval":
        if list(self.distractors) != sorted(set(self.distractors)):
            raise ValueError("distractors must grow from track to track")
        return self


class Leaks(Part):
    """When a query gives its memory away, and how often it is written again."""

    rewrites: Annotated[int, Field(ge=0, le=10)] = 3
    maximum_words: Annotated[int, Field(ge=0)] = 1
    maximum_share: Annotated[float, Field(gt=0, le=1)] = 0.5

    @property
    def limits(self) -> Limits:
        """How much a query may share with its memory."""
        return Limits(self.maximum_words, self.maximum_share)


class Updates(Part):
    """How task 2's new dialogue is made."""

    noise_turns: Annotated[int, Field(ge=2, multiple_of=2)] = 8


class Recipe(Part):
    """Every knob of a benchmark version. It holds no path and no key."""

    about: str = "A version of AlpsBench; recipe.toml has the numbers that it was made with"
    origin: str = (
        "The dialogues come from WildChat. User ids are hashes made with a secret, but the texts of the dialogues are "
        "public there and can be joined to it"
    )
    license: str = "odc-by"
    source: SourcePin = SourcePin()
    dialogues: Dialogues = Dialogues()
    duplicate_dialogues: NearDuplicates = NearDuplicates()
    evidence: Evidence = Evidence()
    duplicate_memories: MemoryDuplicates = MemoryDuplicates()
    samples: Samples = Samples()
    models: Models = Models()
    budget: Budget = Budget()
    splits: Splits = Splits()
    targets: Targets = Targets()
    retrieval: Retrieval = Retrieval()
    leaks: Leaks = Leaks()
    updates: Updates = Updates()
