import difflib
import random
import string

from hypothesis import given
from hypothesis import strategies as st

from stages.slips import LETTERS, LIKENESS, MOST_LETTERS, find_alike

LINES = st.text("abcdefghij", min_size=LETTERS, max_size=40)


@given(LINES, LINES, LINES)
def test_a_text_is_most_like_itself(before, wanted, after):
    found = find_alike(wanted, f"{before}{wanted}{after}")

    assert found is not None
    assert found.likeness == 100
    assert f"{before}{wanted}{after}"[found.start : found.end] == wanted


@given(st.text("abc", max_size=60), st.text("abc", max_size=80))
def test_what_is_found_is_as_alike_as_is_wanted(wanted, text):
    found = find_alike(wanted, text)

    if found is not None:
        assert len(wanted) >= LETTERS
        assert 0 <= found.start < found.end <= len(text)
        assert LIKENESS <= found.likeness <= 100


def test_letters_that_are_missing_added_or_changed_are_forgiven_up_to_a_share():
    wanted = string.ascii_lowercase
    text = "0123" + wanted + "456789"

    for slips in range(1, 14):
        letters = list(wanted)
        for place in range(1, 2 * slips, 2):
            letters[place] = "#"
        likeness = 100 * difflib.SequenceMatcher(None, wanted, "".join(letters), autojunk=False).ratio()
        assert (find_alike("".join(letters), text) is not None) == (likeness >= LIKENESS), slips


def test_a_part_begins_and_ends_with_what_matches():
    wanted = "ilivedinavillageneartherivertiber"

    found = find_alike(wanted[:10] + "old" + wanted[10:], f"wellyousee{wanted}andso")

    assert found is not None
    assert f"wellyousee{wanted}andso"[found.start : found.end] == wanted


def test_a_text_that_is_shorter_than_what_is_wanted_must_be_like_all_of_it():
    assert find_alike("ilivedinavillagenearrome", "rome") is None
    assert find_alike("ilivedinavillagenearrome", "ilivedinavillagenearrom") is not None


def test_of_a_long_text_the_beginning_is_looked_for():
    draw = random.Random(1)
    long = "".join(draw.choices(string.ascii_lowercase, k=3 * MOST_LETTERS))

    found = find_alike(long, "xx" + long[:MOST_LETTERS] + "yy" * 200)

    assert found is not None
    assert (found.start, found.end) == (2, 2 + MOST_LETTERS)
