"""The recipe of a benchmark version: every knob, with the paper's numbers where it gives them."""

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from evaluation.leaks import Limits
from flows.hub.address import address_of
from llm.ledger import NANO
from llm.served import Sampling
from stages.sample_memories import LabelLimits, limits_of
from stages.taxonomy import LABELS, UNMAPPED, label_of
from warehouse import BadInputError

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
ROLES = ("extractor", "validator", "generator", "auditor", "judge")


class Part(BaseModel):
    """A table of a recipe: nothing unknown in it, and nothing changes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def check_whole(what: str, shares: Mapping[str, float]) -> None:
    """Refuse shares that are no whole; a ValueError, as pydantic wants it."""
    if abs(sum(shares.values()) - 1) > 1e-9:
        raise ValueError(f"the shares of {what} add up to {sum(shares.values()):g}, not to 1")


class SourcePin(Part):
    """Where the conversations come from unless --source says otherwise: a dataset of the hub at a commit."""

    dataset: str | None = None

    @model_validator(mode="after")
    def _pinned(self) -> "SourcePin":
        if self.dataset is not None and not address_of(self.dataset).is_pinned:
            raise ValueError(f"{self.dataset} has to name a commit, hf://datasets/OWNER/NAME@ and 40 digits")
        return self


class Dialogues(Part):
    """Which conversations are kept: those of `minimum` to `maximum` turns that pass the filters, all off at first.

    What each asks, and in which order, is said in stages/choice.py. Names are matched in any case; both days count.
    """

    unit: Literal["dialogue", "user"] = "dialogue"
    measure: Literal["messages", "rounds"] = "messages"
    minimum: Count = 6
    maximum: Count = 249
    languages: Names | None = None
    toxic: Literal["keep", "drop"] = "keep"
    redacted: Literal["keep", "drop"] = "keep"
    chat_models: Names | None = None
    countries: Names | None = None
    since: date | None = None
    until: date | None = None
    address_conversations: Count | None = None
    address_countries: Count | None = None
    address_languages: Count | None = None

    @field_validator("since", "until", mode="before")
    @classmethod
    def _day(cls, value: object) -> object:
        if isinstance(value, datetime) or not isinstance(value, date | str | None):
            raise ValueError(f"wants a day such as 2023-05-01, not {value}")
        return date.fromisoformat(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _in_order(self) -> "Dialogues":
        if self.minimum > self.maximum:
            raise ValueError(f"minimum {self.minimum} is above maximum {self.maximum}")
        if self.since and self.until and self.since > self.until:
            raise ValueError(f"since {self.since} is after until {self.until}")
        return self


class NearDuplicates(Part):
    """When two texts count as nearly the same: exact Jaccard of character n-grams."""

    shingle_characters: Count = 4
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.8
    permutations: Annotated[int, Field(ge=16, le=1024)] = 128


class MemoryDuplicates(NearDuplicates):
    """The same for memories: compared with `all` others, or only with those of their `label`."""

    scope: Literal["all", "label"] = "all"


class Evidence(Part):
    """What becomes of a memory that only the assistant's words bear out, or nobody's: it goes, or stays as a weak one.

    A weak one has confidence 0.50 and is never gold.
    """

    on_assistant: Literal["drop", "downgrade"] = "drop"
    not_found: Literal["drop", "downgrade"] = "drop"


def check_labels(numbers: Mapping[str, int]) -> Mapping[str, int]:
    """Refuse a label that is none of the taxonomy, naming the one that is meant; a ValueError, as pydantic wants it."""
    known = {label.casefold(): label for label in (*LABELS, UNMAPPED)}
    for label in numbers:
        if label not in known.values():
            near = [known[one] for one in difflib.get_close_matches(label.casefold(), known, n=1)]
            meant = near if label_of(label) == UNMAPPED else [label_of(label)]
            more = f"did you mean {meant[0]}?" if meant else f"there are {', '.join(known.values())}"
            raise ValueError(f"{label} is no label; {more}")
    return numbers


PerLabel = Annotated[Mapping[str, Annotated[int, Field(ge=0)]], AfterValidator(check_labels)]


class Samples(Part):
    """How many samples, and how evenly over labels: how many memories a label has at the most, and at the least.

    `label_cap` and `label_floor` are for every label, `label_caps` and `label_floors` for single ones.
    """

    dialogues_per_user: Count = 1
    label_cap: Count = 1000
    label_caps: PerLabel = {}
    label_floor: Annotated[int, Field(ge=0)] = 0
    label_floors: PerLabel = {}
    limit: Count = 2500

    @property
    def limits(self) -> dict[str, LabelLimits]:
        """The cap and the floor of every label."""
        return limits_of(self.label_cap, self.label_caps, self.label_floor, self.label_floors)

    @model_validator(mode="after")
    def _possible(self) -> "Samples":
        for label, (cap, floor) in self.limits.items():
            if cap < floor:
                raise ValueError(f"the cap of {label}, {cap}, is below its floor, {floor}")
        wanted = sum(floor for _, floor in self.limits.values())
        if wanted > self.limit:
            raise ValueError(
                f"the floors add up to {wanted} memories, which may take more than the {self.limit} samples"
            )
        return self


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

    about: str = "AlpsBench with the paper's numbers"
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


def read_recipe(path: Path | None, changes: Sequence[str] = ()) -> Recipe:
    """Read a recipe file, or the default recipe, and apply `a.b=value` changes to it.

    Raises:
        BadInputError: no such file, no TOML, an unknown key or a value out of range; it names the key.
    """
    where = str(path) if path and not changes else "the recipe"
    try:
        made = tomllib.loads(path.read_text(encoding="utf-8")) if path else {}
    except OSError as error:
        raise BadInputError(f"cannot read the recipe {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} is no TOML: {error}") from None
    for change in changes:
        _apply(made, change)
    try:
        return Recipe.model_validate(made)
    except ValidationError as error:
        raise BadInputError(f"{where}: {_sentence(error)}") from None


def _apply(made: dict[str, Any], change: str) -> None:
    key, equals, text = change.partition("=")
    *tables, last = key.strip().split(".")
    if not equals or not all([*tables, last]):
        raise BadInputError(f"--set wants a.b=value, not {change!r}")
    try:
        given = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        given = {}
    value = given["value"] if len(given) == 1 else text  # a bare word is a text
    for table in tables:
        made = made.setdefault(table, {})
        if not isinstance(made, dict):
            raise BadInputError(f"--set {key}: {table} is no table")
    made[last] = value


def _sentence(error: ValidationError) -> str:
    one = error.errors()[0]
    key = ".".join(map(str, one["loc"]))
    if one["type"] == "extra_forbidden":
        return f"unknown key {key}{_suggestion(one['loc'])}"
    message = one["msg"].removeprefix("Value error, ")
    return f"{key}: {message}" if key else message


def _suggestion(place: Sequence[int | str]) -> str:
    part: Any = Recipe
    for name in place[:-1]:
        part = part.model_fields[name].annotation
    names = list(part.model_fields)
    close = difflib.get_close_matches(str(place[-1]), names, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known here: {', '.join(names)}"


def recipe_text(recipe: Recipe) -> str:
    """Return a recipe as TOML, every knob written out but caps that are not set."""
    return tomli_w.dumps(recipe.model_dump(mode="json", exclude_none=True))
