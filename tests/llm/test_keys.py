import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, create_model

from llm.catalogue import Entry
from llm.jobs import Jobs
from llm.keys import keys_of
from llm.pace import Pace, Patience
from llm.questions import Prompt, Request
from llm.served import Sampling, Served

FORMS = [create_model("Count", a=(int, ...)), create_model("Count", a=(str, ...)), create_model("Count", b=(int, ...))]
WORDS = st.sampled_from(["", "a", "b", "猫", "\ud83d"])
VALUES = st.none() | WORDS | st.integers(0, 2) | st.just(2**70) | st.booleans()
INPUTS = st.dictionaries(WORDS, VALUES | st.lists(VALUES, max_size=2) | st.dictionaries(WORDS, VALUES, max_size=2))
SAMPLINGS = st.builds(
    Sampling,
    temperature=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    top_p=st.none() | st.sampled_from([0.5, 1.0]),
    seed=st.none() | st.integers(0, 1),
    reasoning_effort=st.none() | st.sampled_from(["low", "high"]),
)
NAMES = st.sampled_from(["one", "other"])
CALLS = st.tuples(NAMES, NAMES, SAMPLINGS, NAMES, WORDS, st.sampled_from(FORMS), INPUTS)
ENTRIES = st.fixed_dictionaries(
    {
        "url": st.sampled_from(["http://one", "https://other/v1"]),
        "key_variable": st.none() | st.just("A_KEY"),
        "context_tokens": st.none() | st.integers(1, 10**6),
        "output_tokens": st.none() | st.integers(1, 10**6),
        "concurrency": st.integers(1, 64),
        "timeout_seconds": st.floats(0.1, 3600),
        "limit_parameter": st.sampled_from(["max_tokens", "max_completion_tokens"]),
    }
)
WAYS = st.fixed_dictionaries(
    {
        "max_tokens": st.integers(1, 100_000),
        "pace": st.builds(Pace, st.integers(1, 64)),
        "patience": st.builds(Patience, st.integers(1, 8)),
        "jobs": st.none() | st.builds(Jobs),
    }
)


def key(call, subject="s", entry=None, account=None, ways=None, is_turned=False):
    name, served_as, sampling, prompt, text, form, input = call
    served = Served(
        Entry(name, **({"url": "http://a"} | (entry or {})), served_as=served_as), account, sampling, **(ways or {})
    )
    request = Request(subject, dict(reversed(input.items())) if is_turned else input)
    return keys_of(served, Prompt(prompt, text), form)(request)


def written(call):
    """Return a call as what tells it from others: `1` is another input than `True`, which Python calls equal."""
    return [repr(sorted(part.items())) if isinstance(part, dict) else repr(part) for part in call[:5]] + [
        FORMS.index(call[5]),
        turned(call[6]),
    ]


def turned(value):
    if isinstance(value, dict):
        return sorted((name, turned(inner)) for name, inner in value.items())
    return [turned(inner) for inner in value] if isinstance(value, list) else repr(value)


@given(CALLS, CALLS)
def test_a_key_is_the_same_if_and_only_if_model_sampling_prompt_form_and_input_are(one, other):
    assert (key(one) == key(other)) == (written(one) == written(other))


@given(CALLS, st.data())
def test_one_thing_changed_changes_the_key(call, data):
    place = data.draw(st.integers(0, len(call) - 1))
    other = list(call)
    other[place] = data.draw(CALLS.map(lambda drawn: drawn[place]))
    assert (key(other) == key(call)) == (written(other) == written(call))


@given(CALLS, st.text(max_size=5), ENTRIES, st.none() | st.just("sk-other"), WAYS)
def test_how_and_where_and_for_whom_a_call_is_made_does_not_change_the_key(call, subject, entry, account, ways):
    assert key(call, subject, entry, account, ways, is_turned=True) == key(call)


def test_a_field_of_the_input_is_not_taken_for_one_of_another_place():
    inputs = [{"a": {"b": 1}}, {"a": {}, "b": 1}, {"a": "b", "b": 1}, {"a": '{"b":1}'}, {"a": [["b", 1]]}]
    assert len({key(("m", "m", Sampling(), "p", "", FORMS[0], input)) for input in inputs}) == 5


def test_a_sampling_that_is_left_to_the_server_is_another_than_one_that_is_set():
    samplings = [Sampling(), Sampling(temperature=0), Sampling(temperature=1), Sampling(top_p=1), Sampling(seed=0)]
    assert len({key(("m", "m", sampling, "p", "", FORMS[0], {})) for sampling in samplings}) == 5


def test_a_form_with_other_words_for_its_fields_is_another_form():
    class Verdict(BaseModel):
        """One sentence that a model reads."""

        number: int

    class Other(BaseModel):
        """Another sentence that a model reads."""

        number: int

    Other.__name__ = Other.__qualname__ = "Verdict"
    assert key(("m", "m", Sampling(), "p", "", Verdict, {})) != key(("m", "m", Sampling(), "p", "", Other, {}))


def identity_of(sampling, **entry):
    return Served(Entry("fable", "http://a", "fable-2", **entry), None, sampling).identity


def test_sampling_that_the_server_refuses_is_not_sent_and_so_is_no_part_of_a_key():
    refuses = ("temperature",)
    one, other = (identity_of(Sampling(temperature=heat), refuses=refuses) for heat in (0, 1))
    assert one == other == identity_of(None, refuses=refuses)
    assert identity_of(Sampling(temperature=0)) != identity_of(Sampling(temperature=1))


def test_a_model_that_is_told_the_schema_has_another_key_than_one_whose_server_holds_it_to_it():
    told, held = (identity_of(None, answers=answers) for answers in ("text", "json_schema"))
    assert told != held


def test_a_key_is_the_hash_of_its_parts_and_so_the_same_on_every_machine():
    form, input = create_model("Count", number=(int, ...)), {"n": 1, "a": "猫"}
    identity = {"model": "fable", "served_as": "fable-2", "sampling": {"temperature": 0.5}, "is_told_schema": False}
    parts = [2, identity, "a_stage", "Say how many.", form.model_json_schema()]
    written = [json.dumps(part, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for part in (parts, input)]
    found = key(("fable", "fable-2", Sampling(temperature=0.5), "a_stage", "Say how many.", form, input))
    assert found == hashlib.sha256("".join(written).encode()).hexdigest()


def test_a_parameter_that_the_server_takes_no_notice_of_does_not_change_the_key():
    one, other = [("m", "m", Sampling(temperature=heat, seed=1), "p", "", FORMS[0], {}) for heat in (0.5, 1.0)]
    assert key(one, entry={"refuses": ("temperature",)}) == key(other, entry={"refuses": ("temperature",)})
    assert key(one, entry={"refuses": ("seed",)}) != key(other, entry={"refuses": ("seed",)})


def test_a_model_that_reads_the_form_in_its_prompt_is_asked_something_else():
    ways = ("json_schema", "json_object_schema", "json_object", "text")
    held, also_held, told, also_told = [
        key(("m", "m", Sampling(), "p", "", FORMS[0], {}), entry={"answers": way}) for way in ways
    ]
    assert held == also_held != told == also_told
