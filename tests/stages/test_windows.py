import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.tokens import expected_tokens
from stages.windows import LEAST_TOKENS, OVERLAP_MESSAGES, as_window, halves_of, merged, windows_of

TEXTS = st.text(st.sampled_from('ab c\n"d我😀'), max_size=400)
TURNS = st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "text": TEXTS}), max_size=12)
ROOM = st.integers(LEAST_TOKENS, 1200)
ITEMS = st.lists(
    st.builds(
        lambda label, value, evidence: SimpleNamespace(label=label, value=value, evidence_text=evidence),
        *(
            st.sampled_from([None, "A/B", "C/D"]),
            st.sampled_from(["x", "X!", "y", ""]),
            st.sampled_from(["p", "P.", "q", ""]),
        ),
    ),
    max_size=4,
)


def shown_tokens(window):
    """The estimated tokens of a window as it stands in an input."""
    return expected_tokens(json.dumps([piece.shown for piece in window], ensure_ascii=False))


def item(value, evidence="", label="A/B"):
    return SimpleNamespace(label=label, value=value, evidence_text=evidence)


def turns(*texts):
    return [{"role": ("user", "assistant")[place % 2], "text": text} for place, text in enumerate(texts)]


@given(TURNS, ROOM)
def test_each_window_fits(turns, room):
    assert max(shown_tokens(window) for window in windows_of(turns, room)) <= room


@given(TURNS, ROOM)
def test_every_character_of_every_message_is_in_some_window_where_it_is_said_to_be(turns, room):
    said = [["?"] * len(turn["text"]) for turn in turns]
    for window in windows_of(turns, room):
        for piece in window:
            assert piece.role == turns[piece.index]["role"]
            said[piece.index][piece.start : piece.start + len(piece.text)] = piece.text

    assert ["".join(characters) for characters in said] == [turn["text"] for turn in turns]


@given(TURNS, ROOM)
def test_a_window_begins_with_the_end_of_the_one_before_it_and_goes_on_beyond_it(turns, room):
    windows = windows_of(turns, room)
    for before, after in zip(windows, windows[1:], strict=False):
        last, first, furthest = before[-1], after[0], after[-1]
        is_end_of_last = bool(first.text) and last.text.endswith(first.text)
        assert first in before[-OVERLAP_MESSAGES:] or is_end_of_last
        assert (furthest.index, furthest.start) > (last.index, last.start)


@given(TURNS)
def test_what_fits_or_has_no_limit_is_one_window(turns):
    window = as_window(turns)

    assert [piece.shown for piece in window] == [{"index": place, **turn} for place, turn in enumerate(turns)]
    assert windows_of(turns, None) == [window]
    assert windows_of(turns, 12 * 1000) == [window]


def test_messages_stay_whole_and_the_last_two_are_repeated_or_one_where_two_are_too_much():
    texts = [f"message {place} " + "x" * 200 for place in range(12)]

    def indices(room):
        windows = windows_of(turns(*texts), room)
        assert all(piece.text == texts[piece.index] for window in windows for piece in window)
        return [[piece.index for piece in window] for window in windows]

    assert indices(560) == [[*range(8)], [*range(6, 12)]]
    assert indices(320) == [[*range(4)], [*range(3, 7)], [*range(6, 10)], [9, 10, 11]]


def test_a_message_that_no_window_can_hold_is_cut_at_white_space_and_keeps_its_index():
    long = " ".join(f"word{place}" for place in range(400))

    windows = windows_of(turns("Hello", "Hi", long, "Well"), 300)
    pieces = {(piece.start, piece.text) for window in windows for piece in window if piece.index == 2}
    cut = [text for start, text in sorted(pieces) if start == 0 or long[start - 1] == " "]

    assert len(windows) > 2
    assert "".join(dict.fromkeys(cut)) == long
    assert {piece.shown["index"] for window in windows for piece in window} == {0, 1, 2, 3}


@given(TURNS)
def test_halves_of_a_window_are_the_window(turns):
    window = as_window(turns)
    halves = halves_of(window)

    assert len(halves) == (2 if len(window) > 1 else 0)
    assert sum(halves, ()) == (window if halves else ())
    assert all(halves)


def test_halves_are_alike_in_tokens_not_in_number():
    window = as_window(turns("x" * 4000, "short", "short", "short"))

    assert [len(half) for half in halves_of(window)] == [1, 3]


def test_a_single_message_is_halved_on_demand_unless_it_is_short():
    long = "word " * 400
    halves = halves_of(as_window(turns(long)), cuts_message=True)

    assert len(halves) >= 2
    assert "".join(piece.text for (piece,) in halves) == long
    assert [piece.start for (piece,) in halves] == [0, len(halves[0][0].text), *(p.start for (p,) in halves[2:])]
    assert halves_of(as_window(turns(long))) == ()
    assert halves_of(as_window(turns("short")), cuts_message=True) == ()


@given(ITEMS)
def test_what_one_window_gave_is_left_as_it_is(items):
    assert merged([items]) == items
    assert merged([[], items, []]) == items


@given(st.lists(ITEMS, max_size=4))
def test_merging_keeps_order_and_every_label_with_a_value(found):
    items = [one for items in found for one in items]
    kept = merged(found)

    assert [id(one) for one in kept] == [id(one) for one in items if any(one is other for other in kept)]
    assert {one.label for one in kept} == {one.label for one in items}


def test_what_an_earlier_window_gave_is_not_taken_again():
    first = [item("Has a dog", "my dog"), item("Has a cat", "my cat")]
    again = [
        *(item("has a DOG.", "the dog"), item("Owns a dog", "My dog!"), item("Has a dog", "my dog", label="C/D")),
        *(item("Has a fox"), item("Has an owl")),
    ]

    assert merged([first, again]) == [*first, *again[2:]]
    assert merged([first, first, first]) == first


@pytest.mark.parametrize("room", [-5, 0, 1, LEAST_TOKENS])
def test_a_model_without_room_is_given_small_windows_all_the_same(room):
    windows = windows_of(turns("word " * 300), room)

    assert windows == windows_of(turns("word " * 300), LEAST_TOKENS)
    assert len(windows) > 2


def test_two_things_that_rest_on_one_sentence_are_kept_though_an_earlier_window_saw_only_one():
    said = "I have a cat and a dog"
    cat, dog, cat_again = item("Has a cat", said), item("Has a dog", said), item("Owns a cat", said)

    assert merged([[cat], [cat_again, dog]]) == [cat, dog]
    assert merged([[cat], [cat, dog]]) == [cat, dog]
