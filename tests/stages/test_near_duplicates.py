import random
from typing import Any

import pytest
from datasketch import MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.near_duplicates import jaccard, near_duplicates, pairs_table, shingles_of

KNOBS: dict[str, Any] = {"shingle_characters": 4, "threshold": 0.8, "permutations": 128}
WORDS = (
    *("user", "loves", "old", "maps", "of", "rivers", "and", "walks", "along", "them", "each", "spring", "with"),
    *("her", "brother", "who", "draws", "birds", "in", "a", "small", "green", "book", "that", "their", "father"),
    *("bought", "from", "an", "antique", "dealer"),
)
NEW = [f"{a}{b}{c}" for a in "qxz" for b in "jkv" for c in ("ww", "yy", "hh", "gg")]
SMALL_TEXTS = st.lists(st.text("ab ", max_size=12), max_size=12)


def ngrams(text, characters=4):
    """The set of n-grams of a text of lower-case letters, digits and single spaces."""
    return {text[i : i + characters] for i in range(len(text)) if i + characters <= len(text)} or {text}


def exact(one, other):
    return len(ngrams(one) & ngrams(other)) / len(ngrams(one) | ngrams(other))


def greedy(texts, threshold):
    """Keep each text that is like no kept one: (kept, member) of the others, by brute force."""
    kept: list[int] = []
    pairs: list[tuple[int, int]] = []
    for position, text in enumerate(texts):
        likes = [(exact(texts[one], text), -one) for one in kept if exact(texts[one], text) >= threshold]
        if likes:
            pairs.append((-max(likes)[1], position))
        else:
            kept.append(position)
    return pairs


def likes(texts, threshold):
    """All kept texts that each member is like, by brute force."""
    kept = [
        position for position in range(len(texts)) if position not in {member for _, member in greedy(texts, threshold)}
    ]
    return {
        member: tuple(one for one in kept if one < member and exact(texts[one], texts[member]) >= threshold)
        for _, member in greedy(texts, threshold)
    }


def found(texts, **knobs):
    return [(pair.kept, pair.member) for pair in near_duplicates(texts, **(KNOBS | knobs))]


@pytest.mark.parametrize(
    "texts",
    [
        ["", "hi", "ok", "是", "😀"],
        ["", "", " ", "\n"],
        ["😀", "🎉", "😀", "❤️", "☀️", "?!", "..."],
        ["hi", "ho", "hit", "hits"],
        ["是", "不", "好的"],
    ],
)
def test_texts_shorter_than_the_n_gram_are_not_like_one_another(texts):
    assert found(texts) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("我喜欢在周末去爬山", "我喜欢在周末去爬山。"),
        ("User likes jazz", "user likes JAZZ!"),
        ("User  likes\njazz.", "User likes jazz"),
        ("ＪＡＺＺ and blues", "jazz and blues"),
        ("hi", "Hi!"),
        ("是", "是。"),
        ("snake_case_name here", "snake case name here"),
    ],
)
def test_case_width_space_and_punctuation_make_no_difference(one, other):
    assert [(pair.kept, pair.member, pair.jaccard) for pair in near_duplicates([one, other], **KNOBS)] == [(0, 1, 1.0)]


def test_vowel_signs_are_part_of_a_word():
    assert shingles_of("दिन", 4) != shingles_of("दीन", 4)


def test_thirty_memories_with_one_word_changed_each_do_not_chain():
    texts = [" ".join([*NEW[:changed], *WORDS[changed:]]) for changed in range(30)]
    assert min(exact(one, other) for one, other in zip(texts, texts[1:], strict=False)) >= 0.8
    assert exact(texts[0], texts[-1]) < 0.1

    pairs = near_duplicates(texts, **KNOBS)

    assert [(pair.kept, pair.member) for pair in pairs] == greedy(texts, 0.8)
    assert len({pair.kept for pair in pairs}) > 5


def test_fifty_prompts_of_one_template_are_each_like_the_first():
    frame = (
        "write a product description of about two hundred words for our new {} and end it with a question to the buyer"
    )
    texts = [frame.format(word) for word in (*NEW, *WORDS)[:50]]

    assert found(texts) == [(0, member) for member in range(1, 50)] == greedy(texts, 0.8)


def test_of_two_kept_texts_a_member_goes_to_the_one_that_it_is_most_like():
    texts = [" ".join(words) for words in (WORDS[:20], (*WORDS[:12], *NEW[:8]), (*WORDS[:14], *NEW[2:8]))]
    assert exact(texts[0], texts[1]) < 0.5 <= exact(texts[0], texts[2]) < exact(texts[1], texts[2])

    [pair] = near_duplicates(texts, **KNOBS | {"threshold": 0.5, "permutations": 256})

    assert (pair.kept, pair.member, pair.likes) == (1, 2, (0, 1))
    assert pair.jaccard == pytest.approx(exact(texts[1], texts[2]))


def test_every_kept_text_that_a_member_is_like_is_named_and_no_member():
    draw = random.Random(3)
    texts = [" ".join(draw.sample(WORDS, 10)) for _ in range(3)]
    texts += [" ".join((*one.split()[:5], *other.split()[5:])) for one in texts for other in texts if one != other]

    pairs = near_duplicates(texts, shingle_characters=4, threshold=0.25, permutations=256)

    assert {pair.member: pair.likes for pair in pairs} == likes(texts, 0.25)
    assert {len(pair.likes) for pair in pairs} >= {2}
    assert all(pair.kept in pair.likes for pair in pairs)


def test_hardly_a_pair_at_the_threshold_is_missed():
    draw = random.Random(7)
    pairs: list[list[str]] = []
    while len(pairs) < 200:
        words = draw.sample(WORDS, 20)
        changed = [*words]
        changed[draw.randrange(20)] = draw.choice(NEW)
        if 0.8 <= exact(" ".join(words), " ".join(changed)) < 0.86:
            pairs.append([" ".join(words), " ".join(changed)])

    assert sum(found(texts) == [(0, 1)] for texts in pairs) >= 180


@settings(max_examples=60, deadline=None)
@given(SMALL_TEXTS, st.sampled_from([0.3, 0.5, 0.8, 1.0]))
def test_every_member_is_like_the_kept_text_itself_and_comes_after_it(texts, threshold):
    texts = [" ".join(text.split()) for text in texts]
    pairs = near_duplicates(texts, shingle_characters=4, threshold=threshold, permutations=64)

    members = {pair.member for pair in pairs}
    assert len(members) == len(pairs)
    for pair in pairs:
        assert pair.kept < pair.member
        assert pair.kept not in members
        assert pair.jaccard == pytest.approx(exact(texts[pair.kept], texts[pair.member]))
        assert pair.jaccard >= threshold
        assert pair.kept in pair.likes
        assert list(pair.likes) == sorted(set(pair.likes) - members)
        assert all(threshold <= exact(texts[one], texts[pair.member]) <= pair.jaccard + 1e-9 for one in pair.likes)


@settings(max_examples=60, deadline=None)
@given(SMALL_TEXTS)
def test_no_two_kept_texts_are_plainly_alike(texts):
    texts = [" ".join(text.split()) for text in texts]
    members = {pair.member for pair in near_duplicates(texts, shingle_characters=4, threshold=0.5, permutations=256)}

    kept = [text for position, text in enumerate(texts) if text and position not in members]
    # At 0.75 the chance that no band agrees is below one in a billion.
    assert all(exact(one, other) < 0.75 for place, one in enumerate(kept) for other in kept[:place])


def test_the_same_texts_give_the_same_pairs_each_time():
    texts = [" ".join(random.Random(seed).choices(WORDS[:6], k=4)) for seed in range(60)]

    assert near_duplicates(texts, **KNOBS) == near_duplicates(texts, **KNOBS)


def test_a_similarity_agrees_with_the_estimate_of_datasketch():
    texts = [" ".join(WORDS), " ".join([*WORDS[:-1], "merchant"])]
    sketches = [MinHash(num_perm=512, seed=1) for _ in texts]
    for sketch, text in zip(sketches, texts, strict=True):
        sketch.update_batch([gram.encode() for gram in ngrams(text)])

    [pair] = near_duplicates(texts, **KNOBS)

    assert pair.jaccard == pytest.approx(sketches[0].jaccard(sketches[1]), abs=0.06)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("", "", 0.0), ("ab", "", 0.0), ("ab", "ab", 1.0), ("abc", "bcd", 0.5), ("ab", "cd", 0.0)],
)
def test_jaccard_is_the_share_of_what_is_common(one, other, expected):
    assert jaccard(frozenset(one), frozenset(other)) == expected


def test_a_table_names_both_texts_and_both_users():
    rows = [("m1", "ua", "User likes jazz"), ("m2", "ub", "User has a dog"), ("m3", "uc", "User likes jazz.")]
    pair = {"kept_id": "m1", "member_id": "m3", "kept_user_id": "ua", "member_user_id": "uc", "jaccard": 1.0}

    assert pairs_table(rows, 4, 0.8, 128).to_pylist() == [pair | {"like_user_ids": ["ua"]}]
    assert pairs_table([], 4, 0.8, 128).num_rows == 0


def test_a_table_names_each_user_once_whose_text_a_member_is_like():
    first, second = " ".join(WORDS[:20]), " ".join((*WORDS[:12], *NEW[:8]))
    between = " ".join((*WORDS[:14], *NEW[2:8]))
    third = " ".join((*WORDS[:12], *NEW[20:28]))
    rows = [("m1", "uz", first), ("m2", "ua", second), ("m3", "ua", third), ("m4", "uc", between)]
    assert max(exact(third, first), exact(third, second)) < 0.5 > exact(first, second)
    assert exact(third, between) >= 0.3

    [pair] = [row for row in pairs_table(rows, 4, 0.5, 256).to_pylist() if row["member_id"] == "m4"]

    assert (pair["kept_id"], pair["kept_user_id"]) == ("m2", "ua")
    assert pair["like_user_ids"] == ["ua", "uz"]
