"""Audit: a release examined for a reviewer, evidence of it, and the check of evidence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.auditing.identity import PRESETS
from discreet.auditing.report import Subject, render_findings, render_html
from discreet.errors import SchemaError, StoreError, visible
from discreet.files import temporary_folder, write_file
from discreet.steward.beyond_memory import is_beyond, read_memory
from discreet.steward.evidence import NAME, PAGE, list_pack
from discreet.steward.outputs import refuse_outputs
from discreet.steward.review import NOT_THE_ONE, Review, compare, point_plan
from discreet.studio.places import confine
from discreet.studio.plan_files import read_plan
from discreet.studio.work.folder import list_evidence, list_releases
from discreet.studio.work.open import list_files
from discreet.studio.work.stages import staging
from discreet.studio.workers import Tell
from discreet.table.readers import TableFile

WHOLE = {
    "attacks": "An attack",
    "evidence": "Evidence",
    "control": "A control group",
    "population": "A population",
    "population_file": "A table of a population",
    "explain": "The reason for one person's risk",
    "per_person": "Every person's risk",
}
"""What is asked of tables that memory holds."""


def look(root: Path, plan: Path | None, home: Path) -> dict[str, Any]:
    """List what there is to be audited, and against what."""
    own = None
    if plan is not None:
        table = read_plan(plan, home).table
        own = table.path.name if isinstance(table, TableFile) else None
    return {
        "releases": [one for one in list_releases(root) if not one["several"]],
        "tables": [one["name"] for one in list_files(root)["tables"]],
        "evidence": list_evidence(root),
        "presets": {name: preset.meaning for name, preset in PRESETS.items()},
        "own": own,
    }


def examine(
    root: Path,
    release: Path,
    microdata: Path | None,
    plan: tuple[Path, Path] | None,
    asked: Mapping[str, Any],
    *,
    tell: Tell,
) -> dict[str, Any]:
    """Audit a release as the command does, and write evidence if it is asked for.

    The microdata is that of the plan, where none is given.
    """
    wanted = None if plan is None else read_plan(*plan)
    if microdata is None:
        if wanted is None or not isinstance(wanted.table, TableFile):
            raise SchemaError("There is no table to audit against.", hint="Choose one.")
        microdata = wanted.table.path
    held = wanted if asked["by_plan"] else None
    review = Review(
        release,
        microdata,
        None if held is None else point_plan(held, microdata),
        person=asked["person"],
        cluster=asked["cluster"],
        population=asked["population"],
        population_file=asked["population_file"],
        presets=asked["presets"],
        attacks=asked["attacks"],
        control=asked["control"],
        earlier=asked["earlier"],
    )
    evidence: Path | None = asked["evidence"]
    if asked["control"] is not None and not asked["attacks"] and evidence is None:
        raise SchemaError("A control group is for attacks.", hint="Try them, too.")
    packed = [] if evidence is None else [confine(root, file) for file in list_pack(evidence)]
    refuse_outputs(packed, inputs=review.inputs, release=release, overwrite=asked["overwrite"])
    limit, stage = read_memory(None), staging(tell)
    told: dict[str, Any] = {"evidence": None, "per_person": None, "explained": None}
    if is_beyond(microdata, review.schema, limit):
        more = [said for name, said in WHOLE.items() if asked[name] not in (None, False)]
        if more:
            raise SchemaError(
                f"{more[0]} cannot be had in parts, as tables beyond memory are audited.",
                hint="Leave it out, or audit on a machine whose memory holds the table.",
            )
        found = review.examine_in_parts(limit, tell)
    else:
        found, data = review.examine(stage, evidence=evidence is not None)
        if asked["explain"] is not None:
            told["explained"] = str(found.explain(asked["explain"]))
        if asked["per_person"] is not None:
            told["per_person"] = write_file(asked["per_person"], found.per_person.write_csv)
        if evidence is not None:
            with stage("Measuring what it is good for"):
                seal, salt = review.pack(data, found, evidence)
            folder = str(evidence.relative_to(root))
            told["evidence"] = {"folder": folder, "seal": seal, "salt": salt.name}
    with stage("Writing the page"):
        subject = Subject.of(release, microdata)
        told["findings"] = visible(render_findings(found, subject=subject))
        told["page"] = render_html(found, None, subject=subject)
    return {**told, "kept": found.kept, "release": release.name,
            "place": str(release.relative_to(root)), "source": microdata.name}  # fmt: skip


def verify(evidence: Path, release: Path) -> dict[str, Any]:
    """Check that a release is the one that was examined."""
    problems, told = compare(evidence, release)
    return {"problems": problems, "told": told, "verdict": NOT_THE_ONE, "release": release.name}


def verify_dropped(files: Mapping[str, bytes], release: Path) -> dict[str, Any]:
    """Check that by evidence that was dropped."""
    for name in files:
        if name not in (NAME, PAGE):
            raise StoreError(
                f"{name}: is no file of evidence.", hint=f"Give {NAME} and {PAGE}, both."
            )
    if NAME not in files:
        raise StoreError(f"{NAME} is missing.", hint=f"Give {NAME} and {PAGE}, both.")
    with temporary_folder() as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return verify(folder, release)
