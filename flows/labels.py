"""What a build shows of the labels, before and after the selection of samples."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as Grid

from stages.label_counts import TITLES, LabelCount


def show_labels(console: Console, counts: Sequence[LabelCount]) -> None:
    """Show the labels that memories have, by the ends of their paths, and name those that none has."""
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    grid.add_column("label", overflow="fold")
    for title in TITLES:
        grid.add_column(title, justify="right")
    grid.add_column("")
    for one in counts:
        if one.extracted:
            numbers = (one.extracted, one.eligible, one.selected, one.samples)
            grid.add_row(_short(one.label), *(f"{number:,}" for number in numbers), f"[yellow]{one.remark}[/]")
    console.print(grid)
    if none := [_short(one.label) for one in counts if not one.extracted]:
        console.print(f"no memory of {', '.join(none)}", highlight=False)


def _short(label: str) -> str:
    return label.partition("/")[2] or label
