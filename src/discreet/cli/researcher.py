"""The researcher's command: reproduce."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.app import Json, app
from discreet.cli.screen import make_table, print_json, show, working
from discreet.errors import DiscreetError, SchemaError, StoreError

if TYPE_CHECKING:
    from discreet.experiments import Claim, Outcome, Settings

LONG = 2
"""Minutes from which on an experiment says how long it takes before it starts."""


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
    everything: Annotated[
        bool, typer.Option("--all", help="All of all papers, as one table of claims.")
    ] = False,
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

    if everything and (name or data):
        raise SchemaError(
            "--all is about all papers, each on its embedded data.",
            hint="Give either --all or a name, and --data with a name.",
        )
    if name is None and not everything:
        _list_experiments(json)
        return
    if out.exists() and not out.is_dir():
        raise StoreError(f"{out}: is not a folder.", hint="Give another --out.")
    settings = Settings(quick=quick, source=data)
    names = list(REGISTRY) if name is None else find_experiments(name)
    _say_how_long(names, settings)
    told, failed = [], {}
    outcomes: list[Outcome] = []
    for each in names:
        try:
            with working(each):
                outcome = REGISTRY[each](settings)
        except DiscreetError as error:
            if not everything:
                raise
            failed[each] = error  # such as a library that only some of them need
            continue
        files = outcome.write(out)
        outcomes.append(outcome)
        told.append({**outcome.to_dict(), "files": list(map(str, files))})
        if not json and not everything:
            _print_outcome(outcome, files)
    if json:
        print_json(told)
    elif everything:
        _print_verdicts(outcomes, settings)
        show(f"Written: {out}, a JSON file and a chart for each.")
    for each, why in failed.items():
        show(f"{each} could not run. {why}")
    if failed:
        raise typer.Exit(1)


def _list_experiments(json: bool) -> None:
    from discreet.experiments import REGISTRY

    listed = {each: experiment.about for each, experiment in REGISTRY.items()}
    if json:
        print_json(listed)
        return
    table = make_table("experiment", "shows")
    for each, shows in listed.items():
        table.add_row(each, shows)
    show(table)


def _say_how_long(names: list[str], settings: Settings) -> None:
    """Say it before the work starts, from the stored runs, if it is long."""
    from discreet.experiments import find_run

    runs = [] if settings.quick else [find_run(name, settings) for name in names]
    minutes = sum(run.minutes for run in runs if run is not None)
    if minutes >= LONG and any(run is not None and run.minutes >= LONG for run in runs):
        what = names[0] if len(names) == 1 else f"These {len(names)} experiments"
        said = f"{what} took at most {minutes} minutes when last stored. --quick is short."
        typer.echo(said, err=True)


def _write_cell(cell: float | None) -> str:
    if cell is None:
        return "impossible"
    return f"{cell:,.4g}" if isinstance(cell, float) else f"{cell:,}"


def _say_verdict(claim: Claim) -> str:
    return {"yes": "holds", "no": "does not hold"}.get(claim.verdict, f"holds {claim.verdict}")


def _print_outcome(outcome: Outcome, files: list[Path]) -> None:
    show(f"{outcome.name}\n{outcome.shows}\n{outcome.data}")
    table = make_table(*outcome.table.columns)
    for row in outcome.table.iter_rows():
        table.add_row(*map(_write_cell, row))
    show(table)
    claims = make_table("the paper says", "found here", "")
    for claim in outcome.claims:
        said = f"(not in the paper) {claim.paper}" if claim.beyond else claim.paper
        verdict = _say_verdict(claim)
        claims.add_row(said, claim.here, f"{verdict}. {claim.why}" if claim.why else verdict)
    show(claims)
    show(f"Written: {', '.join(map(str, files))}")
    if not any(file.suffix == ".svg" for file in files):
        show("No chart was drawn; pip install 'discreet[charts]' adds it.")


def _print_verdicts(outcomes: list[Outcome], settings: Settings) -> None:
    """Print every claim of every paper, and which came out otherwise than in the stored runs."""
    from discreet.experiments import find_run

    table = make_table("figure", "the paper", "here", "holds", "why not")
    held = count = 0
    changed = []
    for outcome in outcomes:
        run = find_run(outcome.name, settings)
        before = {claim.paper: claim.verdict for claim in run.claims} if run else {}
        for claim in outcome.claims:
            if before.get(claim.paper, claim.verdict) != claim.verdict:
                changed.append(f"{outcome.name}: {claim.paper}")
            if claim.beyond:
                continue
            count, held = count + 1, held + claim.holds
            figure = f"{outcome.name.partition('-')[0]}, {outcome.figure}"
            table.add_row(figure, claim.paper, claim.here, claim.verdict, claim.why)
    show(table)
    show(f"{held} of {count} claims hold.")
    if changed:
        show("Otherwise than in the stored runs of full size:\n  " + "\n  ".join(changed))
