"""The knobs of curation: which conversations, what counts as a near-duplicate, which samples."""

import difflib
from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from flows.hub.address import address_of
from stages.sample_memories import LabelLimits, limits_of
from stages.taxonomy import LABELS, UNMAPPED, label_of

Count = Annotated[int, Field(ge=1)]
Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]


class Part(BaseModel):
    """A table of a recipe: nothing unknown in it, and nothing changes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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
