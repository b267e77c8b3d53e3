"""The command itself, and the options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

FLOW = ("studio", "inspect", "plan", "tradeoff", "ratings", "columns", "buckets", "compare",
        "publish", "ledger", "query", "crosstab", "histogram", "regress", "export", "install",
        "serve", "audit", "verify", "croissant", "reproduce")  # fmt: skip


class Commands(TyperGroup):
    """Commands, listed in the order in which a table flows through them; then the rest."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Give their names as ``--help`` lists them."""
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: FLOW.index(name) if name in FLOW else len(FLOW))


app = typer.Typer(
    name="discreet",
    cls=Commands,
    help="Publish tables about people: make a release, audit it, prove what it protects.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
ReleaseFolder = Annotated[Path, typer.Argument(help="The folder of a release.")]
Memory = Annotated[
    str | None,
    typer.Option(
        help="How much memory may be used, such as 4GB; by default half of what is free. "
        "Larger tables in Parquet files are worked on from disk."
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(help="A cluster to work on: spark://host:7077, sc://host, local[*]."),
]
IntoSchema = Annotated[str, typer.Option(help="The schema to make in the database.")]
PlainTable = Annotated[Path, typer.Argument(help="A CSV, Parquet or Excel file.")]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from discreet import __version__

        print(f"discreet {__version__}")
        raise typer.Exit
