"""Names a dataset of the Hugging Face hub, or files of it: hf://datasets/OWNER/NAME@REVISION/PATH."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import quote, unquote

from warehouse import BadInputError

SCHEME = "hf://"
MADE_BY_HUB = re.compile("refs/(?:pr/[0-9]+|convert/[^/@]+)")
"""The revisions whose slashes are written as they are; those in others are written %2F."""
FORM = re.compile(
    r"hf://datasets/(?P<dataset>[^/@]+/[^/@]+)"
    rf"(?:@(?P<revision>{MADE_BY_HUB.pattern}|[^/@]+))?"
    r"(?:/(?P<path>[^@]*))?"
)
COMMIT = re.compile("[0-9a-f]{40}")


@dataclass(frozen=True)
class Address:
    """A dataset, `OWNER/NAME`, at a revision (None: as it is now), and which files of it.

    `path` is a file, a folder or a pattern as of a shell; without it all are meant.
    """

    dataset: str
    revision: str | None = None
    path: str = ""

    @property
    def is_pinned(self) -> bool:
        """Whether the revision is a commit, which never changes."""
        return self.revision is not None and COMMIT.fullmatch(self.revision) is not None

    def has(self, name: str) -> bool:
        """Say whether a file of the dataset, by its path there, is meant."""
        return not self.path or name.startswith(f"{self.path}/") or fnmatchcase(name, self.path) or name == self.path

    def __str__(self) -> str:
        revision = self.revision or ""
        at = revision if MADE_BY_HUB.fullmatch(revision) else quote(revision, safe="")
        return f"hf://datasets/{self.dataset}{'@' if at else ''}{at}{'/' if self.path else ''}{self.path}"


def address_of(text: str) -> Address:
    """Read an address.

    Raises:
        BadInputError: it is none.
    """
    found = FORM.fullmatch(text.strip())
    if found is None:
        raise BadInputError(f"{text!r} is no dataset of the hub: write hf://datasets/OWNER/NAME[@REVISION][/PATH]")
    revision = found["revision"]
    return Address(found["dataset"], unquote(revision) if revision else None, (found["path"] or "").strip("/"))
