"""The bundled sample, built by the command, held against its own file."""

import hashlib
import json
import re
import stat
from collections import Counter
from contextlib import contextmanager

import duckdb
import pytest

from evaluation.tracks import ABILITIES, tracks_of
from flows.sources import SAMPLE

pytestmark = pytest.mark.slow

TRACKS = tracks_of((5, 10, 15, 20, 25))
SPLITS = ("examples", "dev", "validation", "test")
TABLES = [
    *("conversations", "dialogues", "users", "duplicate_dialogues", "candidate_memories", "memories"),
    *("duplicate_memories", "sample_memories", "samples", "annotation_tasks", "annotations", "gold_memories"),
    *("splits", "targets", "extraction_items", "update_items", "query_drafts", "retrieval_items"),
    *("utilization_items", "leak_checks", "release_rows", "audits"),
]


@contextmanager
def opened(home):
    with duckdb.connect(str(home / "alpsbench.duckdb"), read_only=True) as db:
        yield db


@pytest.fixture
def ask(sample_home):
    def ask(sql):
        with opened(sample_home) as db:
            return db.execute(sql).fetchall()

    return ask


@pytest.fixture
def public(sample_home):
    return sample_home / "releases" / "draft" / "public"


@pytest.fixture
def sealed(sample_home):
    return sample_home / "releases" / "draft" / "sealed"


@pytest.fixture(scope="session")
def lines():
    """The lines of the sample as they stand there; what is no JSON object is None."""

    def read(line):
        try:
            record = json.loads(line)
        except ValueError:
            return None
        return record if isinstance(record, dict) else None

    return [read(line) for line in (SAMPLE / "conversations.jsonl").read_text(encoding="utf-8").split("\n")][:75]


@pytest.fixture(scope="session")
def good(lines):
    """The lines that hold a conversation of 6 to 249 messages, by their number from 1; line 21 repeats line 15."""

    def is_good(record):
        messages = (record or {}).get("conversation") or ()
        texts = all(message["content"] is not None for message in messages)
        return record and record["hashed_ip"] and texts and 6 <= len(messages) <= 249

    return {number: record for number, record in enumerate(lines, 1) if is_good(record) and number != 21}


# What stands in the tables


def test_every_table_is_in_the_log_in_the_order_of_building(ask):
    assert [name for (name,) in ask("select name from builds order by position")] == TABLES
    assert {name for (name,) in ask("select table_name from duckdb_tables()")} == {
        *TABLES,
        *("builds", "made_of", "dropped", "calls"),
    }


def test_the_funnel_counts_every_bad_row_of_the_sample(ask, good):
    funnel = {name: counts for name, *counts in ask('select "table", items_in, rows, dropped from funnel')}

    assert funnel["conversations"] == [75, 68, 7]
    assert funnel["dialogues"] == [68, 63, 5]
    assert len(good) == 63
    assert funnel["duplicate_dialogues"][1] == 3
    assert funnel["candidate_memories"][0] == 63
    assert funnel["users"][1] == len({record["hashed_ip"] for record in good.values()})
    assert funnel["samples"][1] == funnel["annotation_tasks"][1] == 40


def test_each_bad_row_is_dropped_for_what_is_bad_about_it(ask):
    dropped = {
        (stage, int(item.rpartition(":")[2]) + 1): reason
        for stage, item, reason, _ in ask("from dropped where stage in ('conversations', 'dialogues')")
    }

    assert dropped == {
        ("conversations", 23): "not_json",
        ("conversations", 42): "blank_line",
        ("conversations", 59): "not_an_object",
        ("conversations", 29): "no_conversation",
        ("conversations", 30): "empty_conversation",
        ("conversations", 63): "message_without_text",
        ("conversations", 44): "no_user",
        ("dialogues", 13): "too_few_turns",
        ("dialogues", 36): "too_few_turns",
        ("dialogues", 71): "too_few_turns",
        ("dialogues", 33): "too_many_turns",
        ("dialogues", 21): "repeated_row",
    }


def test_the_near_duplicates_are_those_that_were_written_as_such(ask):
    found = ask("""
        select kept.row + 1, member.row + 1
        from duplicate_dialogues
        join conversations as kept on kept.dialogue_id = kept_id
        join conversations as member on member.dialogue_id = member_id
    """)

    assert {frozenset(pair) for pair in found} == {frozenset({5, 10}), frozenset({52, 56}), frozenset({66, 69})}


def test_every_item_that_went_in_came_out_or_was_dropped(ask):
    for table, item, items_in in ask("select name, item, items_in from builds where items_in is not null"):
        column = item.rpartition(".")[2]
        [(out,)] = ask(f"""
            select count(*) from (
                select {column}::varchar from {table}
                union select item from dropped where stage = '{table}'
            )
        """)
        assert out == items_in, table


def test_evidence_stands_word_for_word_where_a_memory_says(ask, lines):
    found = ask("""
        select row, evidence_text, evidence_message, evidence_start, evidence_end
        from memories
        join conversations using (dialogue_id)
        where row + 1 <> 21
    """)

    assert len(found) >= 200
    for row, text, message, start, end in found:
        said = lines[row]["conversation"][message]
        assert said["role"] == "user"
        assert said["content"][start:end] == text


def test_every_model_call_is_in_the_published_calls(ask):
    counted = ask("select name, calls from builds where calls > 0 order by position")

    assert counted == ask("select prompt, count(*) from calls where status = 'ok' group by 1 order by min(call)")


# What stands in the release


def test_all_twelve_tracks_have_rows_in_the_files_as_in_the_tables(ask, public, lines_of):
    rows = ask("select track, split, count(*) from release_rows group by all")
    counts = {(track, split): number for track, split, number in rows}
    files = {
        (track.name, split): len(lines_of(public / split / track.folder / "model_input.jsonl"))
        for track in TRACKS
        for split in SPLITS
    }

    assert {place: number for place, number in files.items() if number} == counts
    assert {track for track, _ in counts} == {track.name for track in TRACKS}
    assert len(TRACKS) == 12


def test_public_rows_hold_nothing_but_the_envelope(public, lines_of):
    allowed = {
        "task1": {"dialogue"},
        "task2": {"memory", "old_dialogue", "new_dialogue", "query"},
        "task3": {"query", "candidate_memories"},
        "task4": {"model_input"},
    }
    files = list(public.rglob("model_input.jsonl"))

    assert len(files) == len(TRACKS) * len(SPLITS)
    for file in files:
        for row in lines_of(file):
            assert set(row) - {"ability"} == {"benchmark_id", "task", "input"}
            assert ("ability" in row) == (row["task"] == "task4")
            assert set(row["input"]) == allowed[row["task"]]


def test_each_input_has_its_reference_in_the_same_order_and_the_held_out_ones_are_sealed(public, sealed, lines_of):
    assert not list((public / "test").rglob("reference_output.jsonl"))
    for split in SPLITS:
        for track in TRACKS:
            place = f"{split}/{track.folder}"
            side = sealed if split == "test" else public
            inputs = lines_of(public / place / "model_input.jsonl")
            references = lines_of(side / place / "reference_output.jsonl")
            assert [row["benchmark_id"] for row in inputs] == [row["benchmark_id"] for row in references]


def test_sealed_files_are_for_their_owner_alone(sealed):
    modes = {stat.S_IMODE(path.stat().st_mode) for path in sealed.rglob("*") if path.is_file()}

    assert modes == {0o600}


def test_pools_of_task_3_hold_the_target_once_and_grow_from_track_to_track(public, sealed, lines_of):
    for split in SPLITS:
        side = sealed if split == "test" else public
        for size in (5, 10, 15, 20, 25):
            place = f"{split}/task3/d{size}"
            inputs = lines_of(public / place / "model_input.jsonl")
            references = lines_of(side / place / "reference_output.jsonl")
            for row, reference in zip(inputs, references, strict=True):
                pool = row["input"]["candidate_memories"]
                selected = reference["gold"]["selected_memory"]
                assert len(pool) == size + 1
                assert pool.count(selected) == 1
                assert [one["value"] for one in pool].count(selected["value"]) == 1


def test_a_held_out_group_serves_the_tracks_of_its_role_alone(ask):
    served = {
        role: set(kinds)
        for role, kinds in ask("""
            select role, list(distinct kind) from targets join splits using (user_id)
            where splits.split = 'test' group by role
        """)
    }

    assert served.pop("utilization") <= set(ABILITIES) - {"PA"}
    assert served == {"extraction": {"extraction"}, "memory": {"update", "PA"}, "retrieval": {"retrieval"}}


def test_no_value_of_a_held_out_pool_stands_in_a_public_one_nor_where_another_task_shows_it(public, lines_of):
    def values(split):
        files = sorted((public / split / "task3").rglob("model_input.jsonl"))
        return {one["value"] for file in files for row in lines_of(file) for one in row["input"]["candidate_memories"]}

    held_out = values("test")
    others = [path for path in public.rglob("model_input.jsonl") if "task3" not in path.parts]
    shown = {f'"{value}"' for value in held_out if any(f'"{value}"' in path.read_text("utf-8") for path in others)}

    assert len(held_out) >= 25
    assert held_out.isdisjoint(values("dev") | values("validation") | values("examples"))
    assert shown == set()


def test_every_way_to_look_a_held_out_gold_up_was_tried(ask):
    found = ask(
        "select track, verdict, count(*) from audits where gate like 'shortcut\\_value\\_%' escape '\\' group by all"
    )

    assert sorted(found) == sorted((f"task3_d{size}", "passed", 4) for size in (5, 10, 15, 20, 25))


def test_the_abilities_of_task_4_stand_in_their_own_tracks(public, lines_of):
    for path in public.rglob("task4_*/*.jsonl"):
        assert {f"task4_{row['ability']}" for row in lines_of(path)} <= {path.parent.name}
    assert {path.parent.name for path in public.rglob("task4_*/*.jsonl")} == {
        f"task4_{ability}" for ability in ABILITIES.values()
    }


def test_the_manifest_names_every_file_with_its_hash(public, sealed, hashes_of):
    manifest = json.loads((public / "manifest.json").read_text())
    stated = {side: {name: file["sha256"] for name, file in manifest[side].items()} for side in ("public", "sealed")}

    assert stated["sealed"] == hashes_of(sealed)
    found = hashes_of(public)
    del found["manifest.json"]
    assert stated["public"] == found
    assert manifest["version"] == "draft"
    assert re.fullmatch(r"alpsbench:[0-9a-f-]{36}", manifest["canary"])


def test_no_path_no_secret_and_no_id_of_the_source_stands_in_a_public_file(public, sample_home, lines):
    hidden = [
        str(SAMPLE.parent),
        str(sample_home),
        "/home/",
        "/tmp/",
        "a-secret-that-stands-in-no-file",
        "evidence_start",
    ]
    hidden += [record[key] for record in lines if record for key in ("conversation_hash", "hashed_ip") if record[key]]
    texts = {path: path.read_text(encoding="utf-8") for path in public.rglob("*") if path.is_file()}

    assert len(texts) > 80
    assert [(path.name, word) for path, text in texts.items() for word in hidden if word in text] == []


def test_the_home_does_not_keep_the_secret_that_it_was_given(sample_home):
    files = [path for path in sample_home.rglob("*") if path.is_file() and path.name != "secret"]

    assert [path for path in files if b"a-secret-that-stands-in-no-file" in path.read_bytes()] == []


# What people are shown


def test_the_card_says_what_nobody_verified_and_what_is_no_language_model(public, ask):
    card = (public / "README.md").read_text(encoding="utf-8")
    [(gold,)] = ask("select count(*) from gold_memories")

    assert f"UNVERIFIED**: 0 of {gold} " in card
    assert "extractor offline-rules" in card
    assert "`offline-rules` is a set of rules, no language model" in card
    assert "| conversations | source_rows.source_row | 75 | 68 | 7 |" in card
    assert "not_measured" in card
    assert "failed" not in card


def test_the_card_counts_each_label_as_the_view_does_and_the_label_that_no_memory_has(public, ask):
    card = (public / "README.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in card.splitlines() if re.match(r"\| (UNMAPPED|[A-Z]\w+/)", line)]

    columns = "label, extracted, eligible, selected, samples, floor, cap, gold"
    assert [tuple(line) for line in lines[:-1]] == [
        tuple(map(str, row)) for row in ask(f"select {columns} from label_counts")
    ]
    assert lines[-1] == ["Social_Relationships/Adversarial", *"00000", "1000", "0"]


def test_a_build_shows_the_labels_before_and_after_where_it_selected(alpsbench, home, sample_home, ask):
    [counts] = ask("select extracted, eligible, selected, samples from label_counts where label = 'Possessions/Pet'")
    shown = sample_home.with_suffix(".log").read_text(encoding="utf-8").splitlines()

    assert ["Pet", *map(str, counts)] in [line.split() for line in shown]
    assert "no memory of Adversarial" in shown
    assert "no memory of" not in alpsbench.succeed("build", "--home", home, "--set", "updates.noise_turns=4")


def test_the_cards_configurations_name_the_files_that_are_there(public):
    card = (public / "README.md").read_text(encoding="utf-8")
    header = card.split("---")[1]

    assert re.findall(r"config_name: (\S+)", header) == [track.name for track in TRACKS]
    paths = re.findall(r"path: (\S+)", header)
    assert len(paths) == len(set(paths)) == len(TRACKS) * len(SPLITS)
    assert all((public / path).is_file() for path in paths)


def test_every_gate_passed_or_says_why_it_was_not_measured(public, ask):
    written = json.loads((public / "audit.json").read_text())
    verdicts = Counter(gate["verdict"] for gate in written)

    assert set(verdicts) == {"passed", "not_measured"}
    assert all(gate["detail"] for gate in written if gate["verdict"] == "not_measured")
    assert [(gate["gate"], gate["track"], gate["verdict"]) for gate in written] == ask(
        "select gate, track, verdict from audits"
    )


def test_the_release_is_audited_again_from_its_files(alpsbench, sample_home):
    shown = alpsbench.succeed("audit", "--home", sample_home)

    assert "unique_benchmark_ids" in shown
    assert "failed" not in shown
    assert alpsbench.succeed("audit", sample_home / "releases" / "draft").splitlines()[-1] == shown.splitlines()[-1]


def test_the_data_docs_have_a_page_of_every_table(sample_home):
    index = (sample_home / "data_docs" / "index.html").read_text(encoding="utf-8")
    pages = re.findall(r'href="(validations/[^"]+)">(\w+)<', index)

    assert [name for _, name in pages] == TABLES
    assert all((sample_home / "data_docs" / page).is_file() for page, _ in pages)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("from funnel", ["conversations", "75", "68", "7"]),
        ("from drop_reasons", ["too_few_turns", "3"]),
        ("from label_counts", ["Possessions/Pet", "selected", "gold"]),
        ("select benchmark_id, shard, row from trace", ["conversations.jsonl", "task3_d5-"]),
        ("select model, status from calls limit 1", ["offline-rules", "ok"]),
        ("select '[red]' || chr(27) as word", ["[red]"]),
    ],
)
def test_tables_and_views_answer_to_sql(alpsbench, sample_home, query, words):
    shown = alpsbench.succeed("sql", query, "--home", sample_home)

    assert [word for word in words if word not in shown] == []


def test_the_published_file_is_read_only_and_stands_alone(sample_home):
    assert stat.S_IMODE((sample_home / "alpsbench.duckdb").stat().st_mode) == 0o444
    assert {path.name for path in sample_home.iterdir()} == {".build", "alpsbench.duckdb", "data_docs", "releases"}


# The way back to the source


def test_every_row_of_the_release_leads_to_its_line_of_the_source(ask, lines):
    rows = ask("select benchmark_id, memory, evidence_text, evidence_message, conversation_hash, shard, row from trace")

    assert len(rows) == len({row[0] for row in rows}) == ask("select count(*) from release_rows")[0][0]
    for benchmark_id, memory, evidence, message, conversation_hash, shard, row in rows:
        record = lines[row]
        assert shard == "conversations.jsonl"
        assert record["conversation_hash"] == conversation_hash
        assert (memory is None) == benchmark_id.startswith("task1-")
        if evidence is not None:
            assert evidence in record["conversation"][message]["content"]


@pytest.mark.parametrize("split", SPLITS)
def test_trace_leads_from_a_row_of_task_3_to_its_line_of_the_source(
    alpsbench, sample_home, public, sealed, lines_of, lines, split
):
    row = lines_of(public / split / "task3" / "d5" / "model_input.jsonl")[0]
    side = sealed if split == "test" else public
    reference = lines_of(side / split / "task3" / "d5" / "reference_output.jsonl")[0]

    shown = alpsbench.succeed("trace", row["benchmark_id"], "--home", sample_home)

    facts: dict[str, str] = {}
    name = ""
    for line in shown.splitlines():
        name = line[:12].strip() or name
        facts[name] = f"{facts.get(name, '')} {line[12:].strip()}".strip()
    assert facts["query"] == " ".join(row["input"]["query"].split())
    assert facts["memory"].startswith(reference["gold"]["selected_memory"]["value"])
    assert f"split {split}" in facts["item"]
    assert row["benchmark_id"] in facts["rows"]
    [(shard, place)] = re.findall(r"shard (\S+), row (\d+) \(the first is 0\)", facts["source"])
    record = lines[int(place)]
    assert shard == "conversations.jsonl"
    assert f"hash {record['conversation_hash']}" in facts["conversation"]
    [numbers] = re.findall(r"message (\d+), characters (\d+) to (\d+)", facts["evidence"])
    message, start, end = map(int, numbers)
    [quoted] = re.findall("»(.*)«", facts["evidence"])
    said = record["conversation"][message]["content"][start:end]
    assert "".join(quoted.split()) == "".join(said.split())


def test_trace_tells_of_a_line_that_was_dropped(alpsbench, sample_home):
    shown = alpsbench.succeed("trace", "conversations.jsonl:22", "--home", sample_home)

    assert shown.split() == ["dropped", "by", "conversations:", "not_json"]


def test_trace_tells_apart_a_row_that_is_kept_and_the_one_that_repeats_it(alpsbench, sample_home, ask):
    [(other, kept)] = ask("select item, detail from dropped where reason = 'repeated_row'")
    [(dialogue_id,)] = ask(f"select dialogue_id from dialogues where source_row = '{kept}'")

    of_kept = alpsbench.succeed("trace", dialogue_id, "--home", sample_home)
    of_other = alpsbench.succeed("trace", other, "--home", sample_home)

    assert f"row {kept.partition(':')[2]} (" in of_kept
    assert "repeated_row" not in of_kept
    assert f"row {other.partition(':')[2]} (" in of_other
    assert f"by dialogues: repeated_row ({kept})" in of_other


# Once more


def test_a_second_build_finds_everything_there_and_changes_no_byte(alpsbench, home, sample_home, hashes_of):
    def state():
        published = hashlib.sha256((home / "alpsbench.duckdb").read_bytes()).hexdigest()
        return hashes_of(home / "releases"), hashes_of(home / "data_docs"), published

    before = state()
    assert before[0] == hashes_of(sample_home / "releases")

    shown = alpsbench.succeed("build", "--home", home, seconds=60)

    assert f"all {len(TABLES)} tables unchanged" in shown.lower()
    assert state() == before


def test_another_build_elsewhere_makes_the_same_release(alpsbench, sample_home, tmp_path, hashes_of):
    alpsbench.succeed("build", "--home", tmp_path / "elsewhere", ALPSBENCH_SECRET="another")

    assert hashes_of(tmp_path / "elsewhere" / "releases") == hashes_of(sample_home / "releases")


def test_a_changed_limit_builds_what_depends_on_it_and_nothing_before(alpsbench, home):
    shown = alpsbench.succeed("build", "--home", home, "--set", "updates.noise_turns=4")

    built = re.findall(r"^✓ (\w+):", shown, flags=re.MULTILINE)
    assert built == ["update_items", "release_rows", "audits"]


def test_a_version_that_is_released_is_not_replaced(alpsbench, home, hashes_of):
    alpsbench.succeed("build", "--home", home, "--version", "1.0")
    before = hashes_of(home / "releases")

    refused = alpsbench("build", "--home", home, "--version", "1.0", "--set", "updates.noise_turns=4")

    assert refused.returncode == 2
    assert "version 1.0 is released already" in refused.stderr
    assert hashes_of(home / "releases") == before
