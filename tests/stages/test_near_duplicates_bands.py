import random

import pytest

from stages.near_duplicates import Listed, near_duplicates
from stages.near_duplicates.bands import Bands, choose_bands

THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
LETTERS = [chr(code) for code in range(0x4E00, 0x9F00)]


def pair_of(draw, common, more):
    """Two texts whose sets of single characters share `common` and differ in `more` each."""
    signs = draw.sample(LETTERS, common + 2 * more)
    texts = [signs[: common + more], signs[:common] + signs[common + more :]]
    for text in texts:
        draw.shuffle(text)
    return ["".join(text) for text in texts]


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("permutations", [16, 64, 128, 256])
def test_of_the_pairs_at_the_threshold_a_bit_more_than_all_but_one_in_a_hundred_agree_in_a_band(
    threshold, permutations
):
    bands = choose_bands(threshold, permutations)

    assert bands.count * bands.rows <= permutations
    # The chance that no band agrees, by multiplying up.
    missed = 1.0
    for _ in range(bands.count):
        missed *= 1 - threshold**bands.rows
    assert missed <= 0.005
    assert bands.share_found(threshold) == pytest.approx(1 - missed)


def test_where_permutations_are_too_few_all_are_used_alone():
    assert choose_bands(0.05, 16) == Bands(16, 1)


@pytest.mark.parametrize(
    ("threshold", "common", "more"), [(0.3, 18, 21), (0.5, 40, 20), (0.8, 64, 8), (0.9, 90, 5), (0.3, 3, 3)]
)
def test_pairs_exactly_at_the_threshold_are_found(threshold, common, more):
    draw = random.Random(13)
    similarity = common / (common + 2 * more)
    assert threshold <= similarity < threshold + 0.04
    texts = [text for _ in range(2_000) for text in pair_of(draw, common, more)]

    likes = near_duplicates(Listed(texts), shingle_characters=1, threshold=threshold, permutations=128).to_pylist()

    planted = [one for one in likes if one["kept"] + 1 == one["member"] and one["kept"] % 2 == 0]
    assert {one["jaccard"] for one in planted} == {similarity}
    assert len(planted) >= 1_980
