"""Buckets: the texts that share a key in one band, and the components that hang together by them."""

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from stages.near_duplicates.shingles import Hashes, Numbers

Buckets = npt.NDArray[np.int32]
"""The number of the bucket of each text (row) in each band (column); 0 where the text is alone."""
ALONE = 0


def bucketed(keys: Hashes) -> Buckets:
    """Number the keys that two texts or more share, band after band."""
    buckets = np.zeros(keys.shape, dtype=np.int32)
    highest = ALONE
    for band in range(keys.shape[1]):
        order = np.argsort(keys[:, band])
        ordered = keys[order, band]
        differs = np.diff(ordered) != 0
        is_first, is_last = np.append(True, differs), np.append(differs, True)
        is_shared = ~(is_first & is_last)[: len(ordered)]
        numbers = highest + np.cumsum((is_first & ~is_last)[: len(ordered)])
        buckets[order[is_shared], band] = numbers[is_shared]
        highest = int(numbers.max(initial=highest))
    return buckets


def pieces_of(buckets: Buckets, sizes: Numbers, most: int, at_least: int) -> list[Numbers]:
    """Cut the texts that share a bucket into pieces of whole components; give the texts of each, in their order.

    The `sizes` of a piece come to about `most`, unless a single component is larger; and there are `at_least` so many
    pieces, if no component is too large for that.
    """
    texts = np.flatnonzero(buckets.any(axis=1))
    components = _components(buckets[texts])
    totals = np.bincount(components, weights=sizes[texts])
    share = min(most, sizes[texts].sum() / at_least)
    large_first = np.argsort(-totals, kind="stable")
    pieces = np.empty(len(totals), dtype=np.int64)
    pieces[large_first] = (np.cumsum(totals[large_first]) - totals[large_first]) // max(share, 1)
    piece_of = pieces[components]
    order = np.argsort(piece_of, kind="stable")
    borders = np.flatnonzero(np.diff(piece_of[order])) + 1
    return [piece for piece in np.split(texts[order], borders) if len(piece)]


def _components(buckets: Buckets) -> npt.NDArray[np.int32]:
    """Number the components of a graph of texts and buckets, where each text is linked with its buckets."""
    texts, bands = np.nonzero(buckets)
    ends = (texts, len(buckets) + buckets[texts, bands])
    nodes = len(buckets) + int(buckets.max(initial=ALONE)) + 1
    links = coo_array((np.ones(len(texts), dtype=np.int8), ends), shape=(nodes, nodes))
    components: npt.NDArray[np.int32] = connected_components(links, directed=False)[1][: len(buckets)]
    return components
