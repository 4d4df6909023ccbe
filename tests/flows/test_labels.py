import io

from rich.console import Console

from flows.labels import show_labels
from stages.label_counts import LabelCount
from stages.sample_memories import LabelLimits
from stages.taxonomy import LABELS, UNMAPPED


def shown(counts, width=80):
    console = Console(file=io.StringIO(), width=width, emoji=False)
    show_labels(console, counts)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    return lines


def test_a_label_of_a_million_memories_has_one_line_of_a_narrow_console():
    limits = LabelLimits(2_000, 999)
    counts = [LabelCount(one, limits, 999_999, 999_999, 998, 998) for one in (*LABELS, UNMAPPED)]

    lines = shown(counts)

    assert len(lines) == 1 + len(counts)
    assert lines[0].split() == ["label", "extracted", "eligible", "selected", "samples"]
    [line] = [line for line in lines if "Interaction_Preferences" in line]
    assert line == "Interaction_Preferences    999,999   999,999       998      998  below floor 999"


def test_labels_without_a_memory_are_named_in_one_sentence():
    limits = LabelLimits(9, 0)
    counts = [LabelCount("Possessions/Pet", limits, 2, 2, 1, 1), *(LabelCount(one, limits) for one in LABELS[-2:])]

    assert [line.split() for line in shown(counts)] == [
        ["label", "extracted", "eligible", "selected", "samples"],
        ["Pet", "2", "2", "1", "1"],
        ["no", "memory", "of", "Sensitive_Topics,", "Do_Not_Remember"],
    ]
