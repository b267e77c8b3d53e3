"""The reviewer's commands: audit, verify."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from discreet.cli.app import Json, Overwrite, ReleaseFolder, app
from discreet.cli.screen import print_findings, print_json, refuse_outputs, show, working
from discreet.errors import MicrodataError, SchemaError


def _complete_preset(incomplete: str) -> list[str]:
    from discreet.auditing.identity import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


@app.command()
def audit(
    release: ReleaseFolder,
    microdata: Annotated[Path, typer.Option(help="The table it was made from.")],
    population: Annotated[
        int | None, typer.Option(help="People the table is a sample of, for the journalist.")
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
    attacks: Annotated[
        bool,
        typer.Option("--attacks", help="Also try homogeneity, deFinetti and corruption attacks."),
    ] = False,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(help="An earlier release that the promise of a sequential one is about."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page for reviewers here.")] = None,
    evidence: Annotated[
        Path | None,
        typer.Option(help="Write a pack for sign-off into this folder: a page, and JSON."),
    ] = None,
    per_person: Annotated[
        Path | None, typer.Option(help="Write every person's risk to this CSV file.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Check a release independently, from the bytes on disk; exit 1 on a breach."""
    from discreet.auditing import audit as examine
    from discreet.files import write_file
    from discreet.forms.disclosure import read_known
    from discreet.release.store import load, load_schema
    from discreet.steward.evidence import (
        NAME,
        PAGE,
        draw_salt,
        gather,
        place_salt,
        write_evidence,
        write_salt,
    )

    inputs = [microdata, *([plan] if plan else [])]
    packed = []
    if evidence is not None:
        packed = [evidence / NAME, evidence / PAGE, place_salt(evidence)]
    refuse_outputs(
        [report, per_person, *packed], inputs=inputs, release=release, overwrite=overwrite
    )
    wanted = None
    schema = load_schema(release)
    if plan is not None:
        from discreet.auditing.roles import widen
        from discreet.steward.plan import Plan

        wanted = Plan.read(plan)
        schema = widen(wanted.schema, schema)
    with working(f"Reading {microdata.name}"):
        try:
            data = read_known(microdata, schema, [load(folder) for folder in earlier or ()])
        except MicrodataError as error:
            error.hint = "Is this the table the release was made from?"
            raise
    with working("Auditing"):
        found = examine(
            release,
            data,
            principle=None if wanted is None else wanted.method.principle,
            schema=None if wanted is None else wanted.schema,
            population=population,
            presets=preset,
            attacks=attacks or evidence is not None,
            earlier=earlier or (),
        )
    if report is not None:
        found.to_html(report)
    if evidence is not None:
        with working("Measuring what it is good for"):
            salt = draw_salt()
            pack = gather(release, microdata, data, found, salt)
            kept = write_salt(salt, evidence)
            seal = write_evidence(pack, evidence)
    if per_person is not None:
        write_file(per_person, found.per_person.write_csv)
    if json:
        print_json(found.to_dict())
    else:
        print_findings(found)
        if evidence is not None:
            show(f"Evidence: {evidence / PAGE} (yours; do not publish it).")
            show(f"Its seal, to be written down beside your signature: {seal}")
            show(f"Keep {kept} to yourself: it is the salt of the microdata's digest.")
            place = quote(str(evidence))
            show(f"Check a copy of the release against it: discreet verify {place} RELEASE")
    if not found.kept:
        raise typer.Exit(1)


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
        show("This is the release that was examined; every published group keeps the promise.")
        show(f"Seal of the evidence: {read_seal(evidence)}")
    if problems:
        raise typer.Exit(1)
