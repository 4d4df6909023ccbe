"""Sketches: of each text what is needed to find those that may be like it."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from rensa import RMinHash

from stages.near_duplicates.bands import choose_bands
from stages.near_duplicates.columns import column_of
from stages.near_duplicates.shingles import Hashes, folded, hashed_shingles, mixed

SEED = 42
DIGEST_BYTES = 16


def sketch(texts: pa.Table, *, shingle_characters: int, threshold: float, permutations: int) -> pa.Table:
    """Return the sketches of texts, given as `position`, `group` and `text`. Each depends on these and the knobs alone.

    A sketch has a `digest` of group and folded text, (0, 0) where nothing is left of that; its `size` in n-grams,
    repeated ones too; a key for each band, which no text of another group has; and the last eight bits of each number
    of its MinHash signature. Sketches that were made with other knobs cannot be compared, and none are kept from one
    run to the next.
    """
    bands = choose_bands(threshold, permutations)
    plain = folded(texts["text"].to_pylist())
    hashes, starts = hashed_shingles(plain, shingle_characters)
    width = bands.count * bands.rows
    matrix = RMinHash.digest_matrix_from_flat_token_hashes(hashes, starts.astype(np.uint64), width, SEED)
    signatures = np.array(matrix.to_rows(), dtype=np.uint32).reshape(len(plain), width)
    groups = texts["group"].to_pylist()
    keys = np.repeat(_digests(groups, groups)[:, :1], bands.count, axis=1)
    for row in range(bands.rows):
        keys = mixed(keys, signatures[:, row :: bands.rows])
    return pa.table(
        {
            "position": texts["position"],
            "digest": column_of(_digests(plain, groups)),
            "size": np.diff(starts),
            "keys": column_of(keys),
            "signature": column_of(signatures.astype(np.uint8)),
        }
    )


def _digests(texts: Sequence[str], groups: Sequence[str]) -> Hashes:
    digests = (_digest(text, group) if text else bytes(DIGEST_BYTES) for text, group in zip(texts, groups, strict=True))
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, DIGEST_BYTES // 8)


def _digest(text: str, group: str) -> bytes:
    return blake2b(f"{group}\0{text}".encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()
