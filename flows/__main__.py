"""The command `alpsbench`."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from flows.console import console_for
from flows.settings import Settings
from warehouse import AlpsbenchError, Home

app = typer.Typer(
    help="Curates real dialogues into a benchmark of what assistants remember, and scores systems on it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
HomeOption = Annotated[
    Path | None,
    typer.Option("--home", help="Where everything is kept; ALPSBENCH_HOME, else ./benchmark.", show_default=False),
]
console = console_for()


def home_of(home: Path | None) -> Home:
    """Return the home to work in."""
    return Home(home or Settings().home)


@app.command()
def build(
    source: Annotated[
        str, typer.Option(help="A Parquet or JSONL file in WildChat's form, a folder of them, or `sample`.")
    ] = "sample",
    recipe: Annotated[Path | None, typer.Option(help="A recipe in TOML; the paper's numbers without one.")] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(
            help="Change a knob: a.b=value, as in models.extractor.name=recorded:FILE#MODEL.",
            metavar="A.B=VALUE",
        ),
    ] = None,
    home: HomeOption = None,
    until: Annotated[str | None, typer.Option(help="Stop after this table.")] = None,
    version: Annotated[
        str, typer.Option(help="The benchmark version to release. All but `draft` are never replaced.")
    ] = "draft",
) -> None:
    """Build every table and the release, as far as they are not there already.

    The bundled sample brings its own recipe, with smaller pools. A build that was killed goes on where it was.
    """
    from flows.command import run_build

    run_build(console, Settings(), home_of(home), source, recipe, set or [], until, version)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help='Such as "from funnel"; see also drop_reasons, label_counts, trace.')],
    home: HomeOption = None,
) -> None:
    """Ask the published tables; a running build does not matter."""
    from flows.look import show_query

    show_query(console, home_of(home), query)


@app.command()
def trace(
    id: Annotated[str, typer.Argument(help="A benchmark_id, item, memory, dialogue or user id.")],
    home: HomeOption = None,
) -> None:
    """Follow one thing back to the line of the source that it comes from."""
    from flows.trace import show_trace

    show_trace(console, home_of(home), id)


@app.command()
def audit(
    version: Annotated[str, typer.Argument(help="A released version, or the folder of a release.")] = "draft",
    home: HomeOption = None,
) -> None:
    """Attack a release again, from its files alone: each gate with its figure and its bound."""
    from flows.look import show_audit

    show_audit(console, home_of(home), version)


def main() -> None:
    """Run the command line: a mistake ends in one line and an exit code, never in a traceback."""
    try:
        app()
    except AlpsbenchError as error:
        line = f"[red]alpsbench:[/] {escape(' '.join(str(error).split()))}"
        console_for(stderr=True).print(line, soft_wrap=True, highlight=False)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
