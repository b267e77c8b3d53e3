"""The researcher's command: reproduce."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.app import Json, app
from discreet.cli.screen import make_table, print_json, show, working
from discreet.errors import StoreError


def _complete_experiment(incomplete: str) -> list[str]:
    from discreet.experiments import REGISTRY

    return [name for name in REGISTRY if name.startswith(incomplete)]


@app.command()
def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            help="An experiment, or a paper for all of it; without it, they are listed.",
            autocompletion=_complete_experiment,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for JSON and charts.")] = Path("reproduction"),
    data: Annotated[
        Path | None,
        typer.Option(help="A file: ACS persons for angel and proximity, trees for sequential."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller tables, fewer queries.")] = False,
    json: Json = False,
) -> None:
    """Run a paper's experiments again, and hold what is found against what it says."""
    from discreet.experiments import REGISTRY, Settings, find_experiments

    if name is None:
        listed = {each: experiment.about for each, experiment in REGISTRY.items()}
        if json:
            print_json(listed)
            return
        table = make_table("experiment", "shows")
        for each, shows in listed.items():
            table.add_row(each, shows)
        show(table)
        return
    if out.exists() and not out.is_dir():
        raise StoreError(f"{out}: is not a folder.", hint="Give another --out.")
    outcomes = []
    for each in find_experiments(name):
        with working(each):
            outcome = REGISTRY[each](Settings(quick=quick, source=data))
        files = outcome.write(out)
        outcomes.append({**outcome.to_dict(), "files": list(map(str, files))})
        if not json:
            _print_outcome(outcome, files)
    if json:
        print_json(outcomes)


def _write_cell(cell: float | None) -> str:
    if cell is None:
        return "impossible"
    return f"{cell:,.4g}" if isinstance(cell, float) else f"{cell:,}"


def _print_outcome(outcome: Any, files: list[Path]) -> None:
    show(f"{outcome.name}\n{outcome.shows}\n{outcome.data}")
    table = make_table(*outcome.table.columns)
    for row in outcome.table.iter_rows():
        table.add_row(*map(_write_cell, row))
    show(table)
    claims = make_table("the paper says", "found here", "")
    for claim in outcome.claims:
        verdict = "holds" if claim.holds else "does not hold"
        claims.add_row(claim.paper, claim.here, f"{verdict}. {claim.why}" if claim.why else verdict)
    show(claims)
    show(f"Written: {', '.join(map(str, files))}")
    if not any(file.suffix == ".svg" for file in files):
        show("No chart was drawn; pip install 'discreet[charts]' adds it.")
