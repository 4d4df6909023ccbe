"""Tables on their way between a flow and its workers: Parquet files in a folder that all of them see."""

import uuid
from dataclasses import dataclass

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse import BadInputError


@dataclass(frozen=True)
class Scratch:
    """A folder by its path or URL, as fsspec knows them: `/mnt/shared`, `s3://bucket/place`."""

    url: str

    def check(self) -> None:
        """Make the folder, and write into it.

        Raises:
            BadInputError: that does not work, or nothing installed knows such addresses.
        """
        try:
            self.write("probe.parquet", pa.table({}))
        except (OSError, ValueError, ImportError) as error:
            raise BadInputError(f"--scratch {self.url}: {error}") from None

    def below(self, name: str) -> "Scratch":
        """Return a folder in this one."""
        return Scratch(f"{self.url.rstrip('/')}/{name}")

    def write(self, name: str, table: pa.Table) -> int:
        """Write a table under a name, whole or not at all; give its number of rows."""
        files, folder = fsspec.core.url_to_fs(self.url)
        files.makedirs(folder, exist_ok=True)
        draft = f"{folder}/{name}.{uuid.uuid4().hex}"
        pq.write_table(table, draft, filesystem=files)
        files.mv(draft, f"{folder}/{name}")
        return int(table.num_rows)

    def has(self, name: str) -> bool:
        """Say whether there is a table of a name."""
        files, folder = fsspec.core.url_to_fs(self.url)
        return bool(files.exists(f"{folder}/{name}"))

    def read(self, name: str) -> pa.Table:
        """Read the table of a name.

        Raises:
            OSError: there is none.
        """
        files, folder = fsspec.core.url_to_fs(self.url)
        with files.open(f"{folder}/{name}") as file:
            return pq.read_table(file)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        files, folder = fsspec.core.url_to_fs(self.url)
        if files.exists(folder):
            files.rm(folder, recursive=True)
