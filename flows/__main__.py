"""The command `alpsbench`."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from flows.console import console_for
from flows.settings import read_settings
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
SourceOption = Annotated[
    str | None,
    typer.Option(
        help="A Parquet or JSONL file (.jsonl, .jsonl.gz) in WildChat's form, a folder of them, a dataset of the hub, "
        "hf://datasets/OWNER/NAME\\[@REVISION]\\[/PATH], or `sample`; without it what the recipe names, or the sample.",
        show_default=False,
    ),
]
RecipeOption = Annotated[Path | None, typer.Option(help="A recipe in TOML; the paper's numbers without one.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Change a knob: a.b=value, as in models.extractor.name=recorded:FILE#MODEL.",
        metavar="A.B=VALUE",
    ),
]
UntilOption = Annotated[str | None, typer.Option(help="Stop after this table.")]
VersionOption = Annotated[
    str, typer.Option(help="The benchmark version to release. All but `draft` are never replaced.")
]
AgainOption = Annotated[
    str | None,
    typer.Option(help="Build this table and all after it again: known answers stay, calls that failed are made anew."),
]
RunnerOption = Annotated[
    str | None,
    typer.Option(
        help="Who does the work that can be cut: `dask`, processes on this machine; `dask://HOST:PORT`, the workers of "
        "a Dask scheduler; without it this process. What comes out is the same.",
        show_default=False,
    ),
]
ScratchOption = Annotated[
    str | None,
    typer.Option(
        help="A folder, or a URL as fsspec knows them, that this machine and all workers see: shards go through it.",
        show_default=False,
    ),
]
console = console_for()


def home_of(home: Path | None) -> Home:
    """Return the home to work in."""
    return Home(home or read_settings().home)


@app.command()
def build(
    source: SourceOption = None,
    recipe: RecipeOption = None,
    set: SetOption = None,
    home: HomeOption = None,
    until: UntilOption = None,
    version: VersionOption = "draft",
    again: AgainOption = None,
    runner: RunnerOption = None,
    scratch: ScratchOption = None,
) -> None:
    """Build every table and the release, as far as they are not there already.

    The bundled sample brings its own recipe, with smaller pools. A build that was killed goes on where it was.
    """
    from flows.command import Order, run_build
    from flows.runner import Runner

    order = Order(source, recipe, tuple(set or ()), until, version, again, Runner(runner, scratch))
    run_build(console, read_settings(), home_of(home), order)


@app.command()
def plan(
    source: SourceOption = None,
    recipe: RecipeOption = None,
    set: SetOption = None,
    home: HomeOption = None,
    until: UntilOption = None,
    version: VersionOption = "draft",
    again: AgainOption = None,
) -> None:
    """Say what a build with the same options would do, why, and what its model calls would cost.

    No model is called, no key is needed, nothing is built, and a build that runs is not disturbed.
    """
    from flows.command import Order
    from flows.plan import run_plan

    order = Order(source, recipe, tuple(set or ()), until, version, again)
    run_plan(console, read_settings(), home_of(home), order)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help='Such as "from funnel"; see also drop_reasons, cost_by_stage, trace.')],
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


@app.command()
def gateway(
    home: HomeOption = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 0,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    max_usd: Annotated[
        float | None, typer.Option(min=0, help="The most that the home's whole ledger may spend, in US dollars.")
    ] = None,
) -> None:
    """Serve the models of the catalogue to other programs: metered, cached and capped like a build.

    It speaks the OpenAI protocol (chat completions, embeddings) and asks for a token, which stays in the home.
    """
    from flows.serve import serve_gateway

    serve_gateway(console, read_settings(), home_of(home), host, port, max_usd)


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
