"""The reviewer's commands: audit, verify."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
from discreet.errors import MicrodataError, SchemaError
from discreet.steward.outputs import refuse_outputs

if TYPE_CHECKING:
    from discreet.auditing import AuditReport
    from discreet.publishing.method import Method
    from discreet.steward.plan import Plan
    from discreet.table.microdata import Microdata
    from discreet.table.schema import Schema


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
    from discreet.auditing import audit as examine
    from discreet.auditing.report import Subject
    from discreet.files import write_file
    from discreet.steward.beyond_memory import is_beyond, read_memory
    from discreet.table.microdata import read

    inputs = [given for given in (microdata, plan, control, population_file) if given is not None]
    _refuse_alone(
        control=control is not None and not attacks and evidence is None,
        rows=rows > 0 and report is None,
    )
    packed = [] if evidence is None else _list_pack(evidence)
    refuse_outputs(
        [report, per_person, *packed], inputs=inputs, release=release, overwrite=overwrite
    )
    wanted = None if plan is None else _read_plan(plan, microdata)
    schema = _read_roles(release, wanted, person, cluster)
    limit = read_memory(memory)
    if engine is not None or is_beyond(microdata, schema, limit):
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
        _audit_in_parts(
            release, microdata, schema, wanted, engine or limit, preset or [], earlier or [],
            report, json,
        )  # fmt: skip
        return
    with working(f"Reading {', '.join(file.name for file in inputs)}"):
        data = _read_people(microdata, schema, earlier or (), wanted)
        others = None if control is None else read(control, schema.of_rows)
        known = schema.of_rows.only(schema.quasi_identifiers)
        everyone = None if population_file is None else read(population_file, known)
    with working("Auditing and attacking" if attacks else "Auditing"):
        found = examine(
            release,
            data,
            principle=None if wanted is None else wanted.method.principle,
            schema=None if wanted is None else wanted.schema,
            population=population,
            population_data=everyone,
            presets=preset,
            attacks=attacks or evidence is not None,
            control=others,
            earlier=earlier or (),
        )
    if attacks and wanted is not None:
        found = _attack_method(found, wanted.method)
    grounds = None if explain is None else found.explain(explain)
    if report is not None:
        with working("Writing the page"):
            found.to_html(report, subject=Subject.of(release, microdata), rows=rows)
    if evidence is not None:
        with working("Measuring what it is good for"):
            seal, kept = _pack(release, microdata, data, found, evidence)
    if per_person is not None:
        write_file(per_person, found.per_person.write_csv)
    if json:
        explained = {} if grounds is None else {"explained": grounds.to_dict()}
        print_json({**found.to_dict(), **explained})
    else:
        print_findings(found)
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


def _audit_in_parts(
    release: Path,
    microdata: Path,
    schema: Schema,
    wanted: Plan | None,
    means: int | str,
    presets: list[str],
    earlier: list[Path],
    report: Path | None,
    json: bool,
) -> None:
    """Check a release of a table that memory does not hold, from disk or on a cluster."""
    from discreet.auditing import open_earlier
    from discreet.auditing.in_parts import AskedOfParts
    from discreet.steward.beyond_memory import audit_on_disk

    asked = AskedOfParts(presets, earlier=open_earlier(earlier))
    if wanted is not None:
        asked = replace(asked, principle=wanted.method.principle, roles=wanted.schema)
    with working_in_stages() as progress:
        if isinstance(means, int):
            found = audit_on_disk(release, microdata, schema, means, asked=asked, progress=progress)
        else:
            from discreet.steward.on_cluster import audit_by_cluster

            found = audit_by_cluster(
                release, microdata, schema, means, asked=asked, progress=progress
            )
    if report is not None:
        from discreet.auditing.report import Subject

        found.to_html(report, subject=Subject.of(release, microdata))
    if json:
        print_json(found.to_dict())
    else:
        print_findings(found)
    if not found.kept:
        raise typer.Exit(1)


def _pack(
    release: Path, source: Path, data: Microdata, found: AuditReport, folder: Path
) -> tuple[str, Path]:
    """Write evidence and, beside it, the salt of the microdata's digest; give seal and salt."""
    from discreet.steward.evidence import draw_salt, gather, write_evidence, write_salt

    salt = draw_salt()
    pack = gather(release, source, data, found, salt)
    kept = write_salt(salt, folder)
    return write_evidence(pack, folder), kept


def _list_pack(folder: Path) -> list[Path]:
    """List the files of evidence."""
    from discreet.steward.evidence import NAME, PAGE, place_salt

    return [folder / PAGE, folder / NAME, place_salt(folder)]


def _hand_over(folder: Path, seal: str, kept: Path) -> None:
    """Say where evidence is, and what it is good for."""
    show(f"Evidence: {_list_pack(folder)[0]} (yours; do not publish it).")
    show(f"Its seal, to be written down beside your signature: {seal}")
    show(f"Keep {kept} to yourself: it is the salt of the microdata's digest.")
    show(f"Check a copy of the release against it: discreet verify {quote(str(folder))} RELEASE")


def _read_roles(
    release: Path, wanted: Plan | None, person: str | None, cluster: str | None
) -> Schema:
    """Give the columns of a release, and those that a plan has beside them; and the key."""
    from discreet.auditing.roles import widen
    from discreet.release.store import load_schema

    schema = load_schema(release)
    schema = schema if wanted is None else widen(wanted.schema, schema)
    told = schema.people
    key = replace(told, person=person or told.person, cluster=cluster or told.cluster)
    return replace(schema, people=key)


def _read_people(
    microdata: Path, schema: Schema, earlier: Sequence[Path], plan: Plan | None
) -> Microdata:
    """Read the table that a release was made from, with all that earlier releases show of it.

    A release does not say how the table is written, of which a plan does.
    """
    from discreet.forms.disclosure import read_known
    from discreet.release.store import load
    from discreet.table.inference import adopt_spellings
    from discreet.table.readers import read_table

    try:
        if plan is not None:
            table = read_table(plan.table)
        else:
            table = read_table(microdata)
            schema = adopt_spellings(table, schema)
        return read_known(table, schema, [load(folder) for folder in earlier])
    except MicrodataError as error:
        error.hint = "Is this the table the release was made from?"
        raise


def _read_plan(plan: Path, microdata: Path) -> Plan:
    """Read a plan, for a table wherever it lies; only who makes releases needs what makes them."""
    from discreet.steward.plan import Plan
    from discreet.table.readers import TableFile
    from discreet.table.text_files import AS_FOUND

    wanted = Plan.read(plan)
    told = wanted.table.format if isinstance(wanted.table, TableFile) else AS_FOUND
    return replace(wanted, table=TableFile(microdata, told), remote=None)


def _attack_method(found: AuditReport, method: Method) -> AuditReport:
    """Add what somebody learns who knows by which method a release was made."""
    from discreet.steward.method_known import attack_method

    assert found.examined is not None
    with working("Making releases anew, to attack by"):
        return replace(found, method_known=attack_method(*found.examined, method))


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
    from discreet.forms.verify import list_unverifiable
    from discreet.release.store import load
    from discreet.steward.evidence import check_evidence, read_seal

    if salt is not None and microdata is None:
        raise SchemaError("--salt goes with --microdata.", hint="Give the table: --microdata FILE.")
    with working("Comparing"):
        problems = check_evidence(evidence, release, microdata, salt)
    if json:
        print_json({"same": not problems, "problems": problems})
    elif problems:
        for problem in problems:
            show(f"PROBLEM: {problem}")
        show("This is not what was signed off.")
    else:
        untold = list_unverifiable(load(release))
        told = (
            "what it tells of the promise is kept"
            if untold
            else ("every published group keeps the promise")
        )
        show(f"This is the release that was examined; {told}.")
        for text in untold:
            show(f"Not told by the release alone: {text}")
        show(f"Seal of the evidence: {read_seal(evidence)}")
    if problems:
        raise typer.Exit(1)
