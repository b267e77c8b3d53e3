"""The reviewer's commands: audit, verify."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.app import Engine, Json, Memory, Overwrite, ReleaseFolder, app
from discreet.cli.screen import (
    print_findings,
    print_json,
    show,
    working,
    working_in_stages,
)
from discreet.errors import SchemaError
from discreet.steward.outputs import refuse_outputs

if TYPE_CHECKING:
    from discreet.auditing import AuditReport
    from discreet.steward.review import Review


def _complete_preset(incomplete: str) -> list[str]:
    from discreet.auditing.identity import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


@app.command()
def audit(
    release: ReleaseFolder,
    microdata: Annotated[Path, typer.Option(help="The table it was made from.")],
    population: Annotated[
        int | None,
        typer.Option(help="How many people the table is a sample of, to estimate what they tell."),
    ] = None,
    population_file: Annotated[
        Path | None,
        typer.Option(
            help="A table of these people, to count what they tell and who must be in it."
        ),
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(
            help="A published rule that must hold too: cell-11, risk-0.09.",
            autocompletion=_complete_preset,
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="Hold the release to this plan's promise and roles, not to its own."),
    ] = None,
    person: Annotated[
        str | None, typer.Option(help="The column that says which rows are of one person.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="The column of those found together, such as households.")
    ] = None,
    attacks: Annotated[
        bool,
        typer.Option(
            "--attacks",
            help="Also try attacks: homogeneity, deFinetti, corruption; singling out, linkability, "
            "inference; with --plan also membership and minimality, by making releases anew.",
        ),
    ] = False,
    control: Annotated[
        Path | None,
        typer.Option(help="People like these who are not in the table, to try attacks on too."),
    ] = None,
    explain: Annotated[
        int | None,
        typer.Option(help="Say why the person of this row, from 0, is at these beliefs."),
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(help="An earlier release that the promise of a sequential one is about."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page for reviewers here.")] = None,
    rows: Annotated[
        int,
        typer.Option(
            min=0,
            help="Show so many rows of the microdata on that page, as they are and as released.",
        ),
    ] = 0,
    evidence: Annotated[
        Path | None,
        typer.Option(help="Write a pack for sign-off into this folder: a page, and JSON."),
    ] = None,
    per_person: Annotated[
        Path | None, typer.Option(help="Write every person's risk to this CSV file.")
    ] = None,
    memory: Memory = None,
    engine: Engine = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Check a release independently, from the bytes on disk; exit 1 on a breach."""
    from discreet.auditing.report import Subject
    from discreet.files import write_file
    from discreet.steward.beyond_memory import is_beyond, read_memory
    from discreet.steward.evidence import list_pack
    from discreet.steward.plan import Plan
    from discreet.steward.review import Review, point_plan

    _refuse_alone(
        control=control is not None and not attacks and evidence is None,
        rows=rows > 0 and report is None,
    )
    given = [file for file in (microdata, plan, control, population_file) if file is not None]
    packed = [] if evidence is None else list_pack(evidence)
    refuse_outputs(
        [report, per_person, *packed], inputs=given, release=release, overwrite=overwrite
    )
    review = Review(
        release,
        microdata,
        None if plan is None else point_plan(Plan.read(plan), microdata),
        person=person,
        cluster=cluster,
        population=population,
        population_file=population_file,
        presets=preset or (),
        attacks=attacks,
        control=control,
        earlier=earlier or (),
    )
    limit = read_memory(memory)
    if engine is not None or is_beyond(microdata, review.schema, limit):
        more = {"--attacks": attacks, "--control": control,
                  "--evidence": evidence, "--rows": rows, "--explain": explain is not None,
                  "--per-person": per_person, "--population": population,
                  "--population-file": population_file}  # fmt: skip
        asked = [option for option, given in more.items() if given]
        if asked:
            raise SchemaError(
                f"{asked[0]} is not done in parts, as tables beyond memory are audited.",
                hint="Leave it out, or audit on a machine whose memory holds the table.",
            )
        _audit_in_parts(review, engine or limit, report, json)
        return
    found, data = review.examine(working, evidence=evidence is not None)
    grounds = None if explain is None else found.explain(explain)
    if report is not None:
        with working("Writing the page"):
            found.to_html(report, subject=Subject.of(release, microdata), rows=rows)
    if evidence is not None:
        with working("Measuring what it is good for"):
            seal, kept = review.pack(data, found, evidence)
    if per_person is not None:
        write_file(per_person, found.per_person.write_csv)
    if json:
        explained = {} if grounds is None else {"explained": grounds.to_dict()}
        print_json({**found.to_dict(), **explained})
    else:
        print_findings(found)
        _say_reach(found)
        if grounds is not None:
            show(str(grounds))
        if evidence is not None:
            _hand_over(evidence, seal, kept)
    if not found.kept:
        raise typer.Exit(1)


def _refuse_alone(*, control: bool, rows: bool) -> None:
    """Refuse options that are for something else, without it."""
    if control:
        raise SchemaError("--control is for attacks.", hint="Add --attacks.")
    if rows:
        raise SchemaError("--rows is for the page.", hint="Say where to write it: --report FILE.")


def _audit_in_parts(review: Review, means: int | str, report: Path | None, json: bool) -> None:
    """Check a release of a table that memory does not hold, from disk or on a cluster."""
    with working_in_stages() as progress:
        found = review.examine_in_parts(means, progress)
    if report is not None:
        from discreet.auditing.report import Subject

        found.to_html(report, subject=Subject.of(review.release, review.microdata))
    if json:
        print_json(found.to_dict())
    else:
        print_findings(found)
        _say_reach(found)
    if not found.kept:
        raise typer.Exit(1)


def _say_reach(found: AuditReport) -> None:
    """Say how far it goes that nothing is wrong."""
    if found.reach is not None:
        show(f"Note: {found.reach}")


def _hand_over(folder: Path, seal: str, kept: Path) -> None:
    """Say where evidence is, and what it is good for."""
    from discreet.steward.evidence import list_pack

    show(f"Evidence: {list_pack(folder)[0]} (yours; do not publish it).")
    show(f"Its seal, to be written down beside your signature: {seal}")
    show(f"Keep {kept} to yourself: it is the salt of the microdata's digest.")
    show(f"Check a copy of the release against it: discreet verify {quote(str(folder))} RELEASE")


@app.command()
def verify(
    evidence: Annotated[Path, typer.Argument(help="The folder that `audit --evidence` wrote.")],
    release: ReleaseFolder,
    microdata: Annotated[
        Path | None, typer.Option(help="Also check that this is the table it was made from.")
    ] = None,
    salt: Annotated[
        Path | None, typer.Option(help="The file that lies beside the evidence, for --microdata.")
    ] = None,
    json: Json = False,
) -> None:
    """Check that a release is the one that was examined, byte by byte; exit 1 if it is not."""
    from discreet.steward.review import NOT_THE_ONE, compare

    if salt is not None and microdata is None:
        raise SchemaError("--salt goes with --microdata.", hint="Give the table: --microdata FILE.")
    with working("Comparing"):
        problems, told = compare(evidence, release, microdata, salt)
    if json:
        print_json({"same": not problems, "problems": problems})
    elif problems:
        for problem in problems:
            show(f"PROBLEM: {problem}")
        show(NOT_THE_ONE)
    for line in [] if json else told:
        show(line)
    if problems:
        raise typer.Exit(1)
