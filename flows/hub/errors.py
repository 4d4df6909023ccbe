"""Says in one line what is wrong when a hub does not give what it is asked for, and what to do about it."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
from huggingface_hub.errors import (
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from flows.hub.address import Address
from flows.hub.hub import Hub
from warehouse import AlpsbenchError, BadInputError

AGAIN = "run it again to go on: files that are complete are kept"


class HubError(AlpsbenchError):
    """The hub, the way to it or the disk fails; nothing is wrong with what was asked for."""

    exit_code = 10


@contextmanager
def telling(hub: Hub, address: Address) -> Iterator[None]:
    """Turn what the hub's client raises into one line.

    Raises:
        BadInputError: there is no such dataset or revision, or it is not for whoever asks.
        HubError: the hub cannot be reached, does not do what it should, or the disk is full.
    """
    try:
        yield
    except (ValueError, KeyError, RuntimeError, httpx2.HTTPError, OSError) as error:
        raise error_of(error, hub, address) from None


def error_of(error: BaseException, hub: Hub, address: Address) -> AlpsbenchError:
    """Return the error to show for one of the hub's client."""
    dataset, url = address.dataset, hub.url
    match error:
        case GatedRepoError():
            terms = f"accept its terms at {url}/datasets/{dataset}"
            return BadInputError(f"{dataset} is gated: {terms}, and give the token of that account as HF_TOKEN")
        case RepositoryNotFoundError():
            return BadInputError(f"{url} has no dataset {dataset}, or it is private and HF_TOKEN may not read it")
        case RevisionNotFoundError():
            return BadInputError(f"{dataset} has no revision {address.revision}; {url}/datasets/{dataset} has all")
        case RemoteEntryNotFoundError():
            return HubError(f"{url} lists a file of {address} that it does not have")
        case HfHubHTTPError(response=response):
            return _refusal(response.status_code, response.headers.get("X-Error-Message"), address, url)
        case HFValidationError():
            return BadInputError(f"{address}: {error}")
        case OfflineModeIsEnabled():
            return HubError(f"HF_HUB_OFFLINE is set, and the cache does not have all of {address}")
        case LocalEntryNotFoundError(__cause__=cause) if cause is not None:
            return error_of(cause, hub, address)
        case httpx2.LocalProtocolError():  # may repeat what it was to send, the token included
            return HubError(f"what is to be sent to {url} is not HTTP; see HF_TOKEN and HF_ENDPOINT")
        case httpx2.TransportError():
            told = str(error) or type(error).__name__
            return HubError(f"cannot get {address} from {url} ({told}); {AGAIN}")
        case FileMetadataError():
            return HubError(f"{url} does not answer like a hub; see HF_ENDPOINT and proxies")
        case OSError(errno=None):
            return HubError(f"a file of {address} does not come whole from {url}; {AGAIN}")
        case OSError(errno=errno.ENOSPC):
            return HubError(f"the disk of the cache {hub.place} is full; {AGAIN}")
        case OSError(errno=int(), strerror=told):
            return HubError(f"cannot write to the cache {hub.place}: {told}; {AGAIN}")
    return HubError(f"cannot get {address} from {url}: {error}; {AGAIN}")


def _refusal(status: int, told: str | None, address: Address, url: str) -> AlpsbenchError:
    if status == 401:
        return BadInputError(f"{url} does not accept the token in HF_TOKEN")
    if status == 403:
        return BadInputError(f"{url} does not let the token in HF_TOKEN read {address.dataset}")
    return HubError(f"{url} answers {status}{f', {told},' if told else ''} for {address}; {AGAIN}")
