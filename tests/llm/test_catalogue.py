import datetime
import re
import tomllib
from pathlib import Path

import pytest

import llm.catalogue
from llm.catalogue import Entry, Price, entries_of, entry_of
from llm.errors import ModelError
from warehouse import BadInputError

SHIPPED = Path(llm.catalogue.__file__).with_suffix(".toml")
OF_THE_PAPER = {
    "deepseek-reasoner",
    "gpt-5.2",
    "gpt-4.1-mini",
    "gemini-3-flash",
    "claude-sonnet-4.5",
    "qwen3-max",
    "llama-4-maverick",
    "text-embedding-3-small",
}
PLAIN = '[mine]\nurl = "http://127.0.0.1:9/v1"\nserved_as = "mine-q4"\n'
PRICE = 'input = 1\noutput = 2.5\nsource = "a leaflet"\ndate = 2026-01-31\n'


@pytest.fixture
def extra(tmp_path):
    def do(text):
        path = tmp_path / "models.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return do


@pytest.fixture
def fault(extra):
    """What is told of a catalogue, after the words that every fault begins with."""

    def do(text):
        path = extra(text)
        with pytest.raises(BadInputError) as error:
            entry_of("mine", path)
        begin = f"the catalogue {path} is not right: "
        assert str(error.value).startswith(begin)
        assert "\n" not in str(error.value)
        return str(error.value).removeprefix(begin)

    return do


def test_the_models_of_the_paper_are_known():
    assert set(entries_of()) == OF_THE_PAPER
    assert [name for name, entry in entries_of().items() if entry.kind == "embeddings"] == ["text-embedding-3-small"]


@pytest.mark.parametrize("name", sorted(OF_THE_PAPER))
def test_a_shipped_model_says_where_it_is_and_what_it_holds(name):
    entry = entry_of(name)
    assert entry.name == name
    assert entry.url.startswith("https://")
    assert not entry.url.endswith("/")
    assert entry.key_variable
    assert entry.key_variable.endswith("_API_KEY")
    assert entry.context_tokens
    assert entry.context_tokens >= 8_191
    if entry.kind == "chat":
        assert entry.output_tokens
        assert entry.output_tokens < entry.context_tokens


@pytest.mark.parametrize("name", sorted(OF_THE_PAPER))
def test_a_shipped_price_is_one_that_can_be(name):
    entry = entry_of(name)
    price = entry.price
    assert price
    assert 0 < price.input < 100
    assert (price.output == 0) == (entry.kind == "embeddings")
    assert price.cached_input is None or price.cached_input < price.input
    assert price.batch_factor in (0.5, 1)
    assert price.source.startswith("https://")
    assert price.date > datetime.date(2025, 1, 1)


def test_every_shipped_price_has_a_source_and_a_date_in_the_file_itself():
    tables = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))
    assert len(tables) == len(OF_THE_PAPER)
    for table in tables.values():
        assert table["price"]["source"]
        assert isinstance(table["price"]["date"], datetime.date)


def test_no_key_stands_in_the_shipped_file():
    text = SHIPPED.read_text(encoding="utf-8")
    assert not re.search(r"\b(sk-|AIza|Bearer)", text)
    words = re.findall(r"[A-Za-z0-9_]{24,}", text)  # keys are long words without a dot or a dash
    assert words == []


def test_servers_that_know_no_schema_are_asked_in_another_way():
    ways = {name: entry.answers for name, entry in entries_of().items() if entry.answers != "json_schema"}
    assert ways == {"deepseek-reasoner": "json_object", "qwen3-max": "json_object", "claude-sonnet-4.5": "text"}
    assert "temperature" in entry_of("deepseek-reasoner").refuses
    assert entry_of("gpt-5.2").limit_parameter == "max_completion_tokens"


def test_an_entry_needs_a_name_an_address_and_what_the_server_calls_it(extra):
    entry = entry_of("mine", extra(PLAIN))
    assert entry == Entry("mine", "http://127.0.0.1:9/v1", "mine-q4", None)
    assert entry == Entry(
        name="mine",
        url="http://127.0.0.1:9/v1",
        served_as="mine-q4",
        key_variable=None,
        kind="chat",
        context_tokens=None,
        output_tokens=None,
        answers="json_schema",
        limit_parameter="max_tokens",
        refuses=(),
        reasoning_fields=("reasoning_content", "reasoning"),
        concurrency=32,
        timeout_seconds=600,
        price=None,
    )


def test_every_key_of_an_entry_is_read(extra):
    more = """
key_variable = "MY_KEY"
kind = "embeddings"
context_tokens = 2_048
output_tokens = 512
answers = "json_object_schema"
limit_parameter = "max_completion_tokens"
refuses = ["temperature", "seed"]
reasoning_fields = ["thoughts"]
concurrency = 1
timeout_seconds = 2.5
[mine.price]
input = 1
cached_input = 0.25
output = 2.5
batch_factor = 0.5
source = "a leaflet"
date = 2026-01-31
"""
    assert entry_of("mine", extra(PLAIN + more)) == Entry(
        "mine",
        "http://127.0.0.1:9/v1",
        "mine-q4",
        "MY_KEY",
        "embeddings",
        2048,
        512,
        "json_object_schema",
        "max_completion_tokens",
        ("temperature", "seed"),
        ("thoughts",),
        1,
        2.5,
        Price(1.0, 2.5, "a leaflet", datetime.date(2026, 1, 31), cached_input=0.25, batch_factor=0.5),
    )


def test_a_file_of_ones_own_adds_models_and_keeps_the_others(extra):
    known = entries_of(extra(PLAIN))
    assert {name: entry for name, entry in known.items() if name != "mine"} == entries_of()
    assert known["mine"].served_as == "mine-q4"


def test_a_file_of_ones_own_replaces_a_model_whole(extra):
    path = extra('["gpt-5.2"]\nurl = "http://gateway/v1"\nserved_as = "g"\nkey_variable = "GATEWAY_KEY"\n')
    assert entry_of("gpt-5.2").price
    assert entry_of("gpt-5.2", path) == Entry("gpt-5.2", "http://gateway/v1", "g", "GATEWAY_KEY")
    assert list(entries_of(path)) == list(entries_of())


def test_an_unknown_name_is_told_with_the_known_ones(extra):
    with pytest.raises(ModelError) as error:
        entry_of("gpt-9", extra(PLAIN))
    assert str(error.value) == (
        "unknown model 'gpt-9'; known: offline, claude-sonnet-4.5, deepseek-reasoner, gemini-3-flash, gpt-4.1-mini, "
        "gpt-5.2, llama-4-maverick, mine, qwen3-max, text-embedding-3-small"
    )


@pytest.mark.parametrize(
    "text",
    ["[mine", b'[mine]\nurl = "\xff"\n', PLAIN + PLAIN],
    ids=["no TOML", "no UTF-8", "twice the same"],
)
def test_a_file_that_is_no_catalogue_is_told_in_one_line(fault, text):
    assert fault(text)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ('colour = "red"', "mine.colour: unknown key"),
        ('name = "other"', "mine.name: unknown key"),
        ("served_as = 3", "mine.served_as: Input should be a valid string"),
        ('served_as = ""', "mine.served_as: String should have at least 1 character"),
        ('kind = "images"', "mine.kind: Input should be 'chat' or 'embeddings'"),
        (
            'answers = "xml"',
            "mine.answers: Input should be 'json_schema', 'json_object_schema', 'json_object' or 'text'",
        ),
        ('limit_parameter = "n"', "mine.limit_parameter: Input should be 'max_tokens' or 'max_completion_tokens'"),
        ('context_tokens = "2048"', "mine.context_tokens: Input should be a valid integer"),
        ("output_tokens = 0", "mine.output_tokens: Input should be greater than 0"),
        ("concurrency = true", "mine.concurrency: Input should be a valid integer"),
        ("timeout_seconds = 0", "mine.timeout_seconds: Input should be greater than 0"),
        ("timeout_seconds = inf", "mine.timeout_seconds: Input should be a finite number"),
        ('refuses = "seed"', "mine.refuses: Input should be a valid tuple"),
        ('refuses = ["seed", 1]', "mine.refuses.1: Input should be a valid string"),
        ('price = "free"', "mine.price: wants a table"),
    ],
)
def test_a_wrong_value_is_told_with_its_key(fault, more, told):
    key = more.split(" = ")[0]
    kept = "".join(line for line in PLAIN.splitlines(keepends=True) if not line.startswith(f"{key} "))
    assert fault(f"{kept}{more}\n") == told


@pytest.mark.parametrize(
    ("price", "told"),
    [
        (PRICE.replace('source = "a leaflet"\n', ""), "mine.price.source: is missing"),
        (PRICE.replace("date = 2026-01-31\n", ""), "mine.price.date: is missing"),
        (PRICE.replace('"a leaflet"', '""'), "mine.price.source: String should have at least 1 character"),
        (PRICE.replace("2026-01-31", '"2026-01-31"'), "mine.price.date: Input should be a valid date"),
        (PRICE.replace("output = 2.5\n", ""), "mine.price.output: is missing"),
        (PRICE.replace("input = 1", "input = -1"), "mine.price.input: Input should be greater than or equal to 0"),
        (PRICE.replace("2.5", "nan"), "mine.price.output: Input should be a finite number"),
        (PRICE + 'cached_input = "0.1"\n', "mine.price.cached_input: Input should be a valid number"),
        (PRICE + "batch_factor = 1.5\n", "mine.price.batch_factor: Input should be less than or equal to 1"),
        (PRICE + "per = 1000\n", "mine.price.per: unknown key"),
    ],
)
def test_a_wrong_price_is_told_with_its_key(fault, price, told):
    assert fault(f"{PLAIN}[mine.price]\n{price}") == told


@pytest.mark.parametrize("text", ["mine = 1\n", '[[mine]]\nurl = "http://x"\n'])
def test_what_is_no_table_is_no_model(fault, text):
    assert fault(text) == "mine: wants a table"


def test_a_model_without_an_address_is_told(fault):
    assert fault('[mine]\nserved_as = "m"\n') == "mine.url: is missing"


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:9/v1",
        "ftp://127.0.0.1/v1",
        "http://",
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:9/v1 ",
        "https://user:SECRET@host/v1",
        "https://SECRET@host/v1",
        "https://host/v1?key=SECRET",
        "https://host/v1#SECRET",
    ],
)
def test_an_address_is_one_of_http_and_holds_no_key(fault, url):
    told = fault(f'[mine]\nurl = "{url}"\nserved_as = "m"\n')
    assert told == "mine.url: wants an address such as https://host/v1, with no key in it"


@pytest.mark.parametrize("line", ['key = "sk-0123456789"', 'key_variable = "sk-0123456789"', 'price = "sk-0123456789"'])
def test_a_key_in_the_catalogue_is_refused_and_not_shown(fault, line):
    assert "sk-0123456789" not in fault(f"{PLAIN}{line}\n")


def test_a_fault_of_a_model_that_nobody_asks_for_is_told_too(extra):
    with pytest.raises(BadInputError, match=r"mine\.colour: unknown key$"):
        entry_of("gpt-5.2", extra(f"{PLAIN}colour = 1\n"))


def test_a_catalogue_that_is_not_there_is_told(tmp_path):
    with pytest.raises(BadInputError, match=r"^cannot read the catalogue .*none\.toml: No such file or directory$"):
        entry_of("gpt-5.2", tmp_path / "none.toml")
