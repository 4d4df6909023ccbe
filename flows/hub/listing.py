"""Finds out which files a dataset has at which commit; of a commit that is in the cache, without the network."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from huggingface_hub import HfApi, get_cached_repo_tree, snapshot_download
from huggingface_hub.errors import CachedRepoTreeNotFoundError
from huggingface_hub.hf_api import RepoFile

from flows.hub.address import Address
from flows.hub.errors import telling
from flows.hub.hub import Hub
from flows.hub.meter import Meter, quiet
from flows.hub.snapshot import File, Snapshot
from stages.source import SUFFIXES
from warehouse import BadInputError

INFO_SECONDS = 30
SHA256 = re.compile("[0-9a-f]{64}")


def snapshot_of(hub: Hub, address: Address) -> Snapshot:
    """Pin a dataset to the commit that its revision is now, and list the files of it that can be a source.

    The hub is not asked for what is pinned and wholly in the cache.

    Raises:
        BadInputError: there is no such dataset, revision or file, or it is not for whoever asks.
        HubError: the hub cannot be reached.
    """
    with quiet(), telling(hub, address):
        if address.is_pinned and (files := _files_kept(hub, address)):
            return Snapshot(address, files)
        api = HfApi(endpoint=hub.endpoint, token=hub.token)
        info = api.dataset_info(address.dataset, revision=address.revision, timeout=INFO_SECONDS)
        pinned = replace(address, revision=info.sha)
        return Snapshot(pinned, _files_kept(hub, pinned) or _files_listed(hub, api, pinned))


def _files_kept(hub: Hub, pinned: Address) -> tuple[File, ...]:
    """Return the files as the cache has them; none if it lacks the list of them, or one of them."""
    with suppress(CachedRepoTreeNotFoundError):
        tree = get_cached_repo_tree(pinned.dataset, repo_type="dataset", revision=pinned.revision, cache_dir=hub.place)
        files = _files(hub, pinned, tree)
        if all(file.path for file in files):
            return files
    return ()


def _files_listed(hub: Hub, api: HfApi, pinned: Address) -> tuple[File, ...]:
    """Ask the hub for the list of files, and have its client keep that."""
    tree = api.list_repo_tree(pinned.dataset, recursive=True, revision=pinned.revision, repo_type="dataset")
    files = _files(hub, pinned, [one for one in tree if isinstance(one, RepoFile)])
    if not files:
        raise BadInputError(f"{pinned} holds no {' or '.join(SUFFIXES)} file")
    # Of no file, so that it fetches nothing but the list, and keeps that: a listing alone is not kept.
    snapshot_download(
        pinned.dataset,
        repo_type="dataset",
        revision=pinned.revision,
        cache_dir=hub.place,
        endpoint=hub.endpoint,
        token=hub.token,
        allow_patterns=[],
        tqdm_class=Meter,
    )
    return files


def _files(hub: Hub, pinned: Address, tree: Sequence[RepoFile]) -> tuple[File, ...]:
    """Return what can be a source, in the order in which files of a folder are read."""
    meant = [one for one in tree if one.path.endswith(SUFFIXES) and pinned.has(one.path)]
    return tuple(_file(hub, pinned, one) for one in sorted(meant, key=lambda one: one.path))


def _file(hub: Hub, pinned: Address, listed: RepoFile) -> File:
    path = hub.kept(pinned, listed.path)
    return File(listed.path, listed.size, listed.lfs.sha256 if listed.lfs else _sha256_of_link(path), path)


def _sha256_of_link(path: Path | None) -> str | None:
    """Return the SHA-256 that the cache names a large file by."""
    name = path.readlink().name if path and path.is_symlink() else ""
    return name if SHA256.fullmatch(name) else None
