"""Downloads the files of a dataset that the cache does not have, one after the other, and shows how far it is."""

import shutil
from dataclasses import replace
from pathlib import Path

import httpx2
from huggingface_hub import hf_hub_download
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from flows.hub.errors import AGAIN, HubError, telling
from flows.hub.hub import Hub
from flows.hub.meter import Meter, meter_of, quiet
from flows.hub.snapshot import File, Snapshot

ATTEMPTS = 3
"""How often a file whose connection is reset is begun; the client goes on by itself after a mere end."""
RESET = retry_if_exception_type(httpx2.ReadError)
COLUMNS = (
    TextColumn("{task.description}"),
    BarColumn(),
    DownloadColumn(),
    TransferSpeedColumn(),
    TimeRemainingColumn(),
)


def fetch(console: Console, hub: Hub, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with all its files in the cache.

    A file whose connection ends goes on where it was, to 10 MiB; one that was stopped otherwise begins anew.

    Raises:
        BadInputError: the dataset is not for whoever asks.
        HubError: the hub cannot be reached, or the disk is full.
    """
    missing = snapshot.missing
    if not missing:
        return snapshot
    _check_room(hub.place, snapshot.missing_bytes)
    told = f"downloading {snapshot} into {hub.place}"
    console.print(escape(told), highlight=False, soft_wrap=True)
    with quiet(), _progress(console) as progress, telling(hub, snapshot.address):
        task = progress.add_task("", total=snapshot.missing_bytes)
        meter = meter_of(lambda size: progress.advance(task, size))
        done, fetched = 0, {}
        for file in missing:
            progress.update(task, description=escape(file.name))
            for attempt in Retrying(stop=stop_after_attempt(ATTEMPTS), retry=RESET, reraise=True):
                progress.update(task, completed=done)
                with attempt:
                    fetched[file.name] = _fetched(hub, snapshot, file, meter)
            done += file.size
            progress.update(task, completed=done)
    return replace(snapshot, files=tuple(fetched.get(file.name, file) for file in snapshot.files))


def _fetched(hub: Hub, snapshot: Snapshot, file: File, meter: type[Meter]) -> File:
    path = hf_hub_download(
        snapshot.address.dataset,
        file.name,
        repo_type="dataset",
        revision=snapshot.address.revision,
        cache_dir=hub.place,
        endpoint=hub.endpoint,
        token=hub.token,
        tqdm_class=meter,
    )
    return replace(file, path=Path(path))


def _progress(console: Console) -> Progress:
    return Progress(*COLUMNS, console=console, transient=True, disable=not console.is_terminal)


def _check_room(cache: Path, size: int) -> None:
    """Look before hours of download whether the disk has room for so many bytes."""
    there = next(folder for folder in (cache.absolute(), *cache.absolute().parents) if folder.exists())
    if (free := shutil.disk_usage(there).free) < size:
        told = f"{decimal(size)} are to be downloaded, and the disk of the cache {cache} has {decimal(free)} left"
        raise HubError(f"{told}: make room, or name another place as HF_HOME; {AGAIN}")
