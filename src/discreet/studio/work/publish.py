"""Publish: a release made and audited for a look, or written; with a ledger's verdict."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.auditing import AuditReport
from discreet.auditing.report import sample_rows, summarize
from discreet.errors import DiscreetError, PlanError
from discreet.files import temporary_folder
from discreet.release import Release
from discreet.release.store import refuse_to_replace
from discreet.steward.choosing.trial import name_setting
from discreet.steward.ledger import Ledger, sign
from discreet.steward.outputs import refuse_outputs
from discreet.steward.plan import Plan
from discreet.steward.publication import count_earlier, list_remarks, make_release, put_out
from discreet.studio.places import confine
from discreet.studio.plan_files import (
    change_plan,
    describe_method,
    read_changed,
    read_plan,
    set_method,
)
from discreet.studio.work.folder import list_ledgers
from discreet.studio.work.stages import staging
from discreet.studio.workers import Tell
from discreet.table.microdata import Microdata

SHOWN_PEOPLE = 5


def look(path: Path, home: Path) -> dict[str, Any]:
    """Say what is about to be published, how, and where to."""
    plan = read_plan(path, home)
    return {
        "method": plan.method.title,
        "setting": name_setting(plan.method),
        "promises": [
            {"said": str(part), "promise": part.promise} for part in plan.method.principle.parts
        ],
        "folder": str(plan.folder.resolve().relative_to(home)),
        "format": plan.format,
        "exists": plan.folder.exists(),
        "remarks": list_remarks(plan, plan.schema),
        "ledgers": [_describe_book(book, home) for book in list_ledgers(home)],
    }


def _describe_book(found: Mapping[str, Any], home: Path) -> dict[str, Any]:
    try:
        said = count_earlier(Ledger(home / found["name"]))
    except DiscreetError as error:  # whoever chooses it is told again
        said = error.message
    return {"name": found["name"], "source": found["said"], "earlier": said}


def begin_ledger(home: Path, name: str, source: str) -> None:
    """Begin a ledger in the folder of the studio."""
    place = confine(home, name.strip() or "ledger")
    refuse_outputs([], inputs=[], release=place, overwrite=False)
    Ledger.init(place, source)


def preview(path: Path, home: Path, ledger: str, *, tell: Tell) -> dict[str, Any]:
    """Make the release and audit it, as a dry run does; hold it against a ledger, if there is one.

    Nothing of it is left.
    """
    return _try(_prepare(path, home), Ledger(confine(home, ledger)) if ledger else None, tell)


def preview_method(path: Path, home: Path, method: Mapping[str, Any], *, tell: Tell) -> Any:
    """Do the same for the plan with another method; the plan stays as it is."""
    plan = read_changed(path, home, lambda document: set_method(document, method))
    plan.refuse_seed()
    return _try(plan, None, tell)


def _try(plan: Plan, book: Ledger | None, tell: Tell) -> dict[str, Any]:
    stage = staging(tell)
    release, data, plan = make_release(plan, book, stage)
    verdict = None if book is None else _consult(book, plan, release, data, tell)
    with temporary_folder() as folder:
        tried = replace(plan, folder=folder / "release")
        found, _, notes = put_out(
            release, tried, data, None, overwrite=False, stage=stage,
            trying=lambda: nullcontext(tell), examined=_ignore,
        )  # fmt: skip
        with stage("Comparing before and after"):
            return {**_tell(plan, found, data, notes), "ledger": verdict}


def write(path: Path, home: Path, ledger: str, overwrite: bool, *, tell: Tell) -> dict[str, Any]:
    """Publish as the plan says, as the command line does."""
    plan, stage = _prepare(path, home), staging(tell)
    refuse_outputs([], inputs=plan.inputs, release=plan.folder, overwrite=overwrite)
    book = Ledger(confine(home, ledger)) if ledger else None
    if book is None:  # a ledger first finishes what was interrupted
        refuse_to_replace(plan.folder, overwrite=overwrite)
    release, data, plan = make_release(plan, book, stage)
    found, entry, notes = put_out(
        release, plan, data, book, overwrite=overwrite, stage=stage,
        trying=lambda: nullcontext(tell), examined=_ignore,
    )  # fmt: skip
    with stage("Comparing before and after"):
        told = _tell(plan, found, data, notes)
    told["written"] = str(plan.folder.resolve().relative_to(home)) if found.kept else None
    told["entry"] = None if entry is None or book is None else entry.name
    return told


def _prepare(path: Path, home: Path) -> Plan:
    plan = read_plan(path, home)
    plan.refuse_seed()
    return plan


def _ignore(_: Path, __: AuditReport) -> None:
    """Look at what was found later."""


def _tell(plan: Plan, found: AuditReport, data: Microdata, notes: list[str]) -> dict[str, Any]:
    """Give what a page shows of an audit, and of what is lost."""
    summary = summarize(found)
    before = found.before
    return {
        "kept": found.kept,
        "problems": found.problems,
        "cautions": found.cautions,
        "people": found.people,
        "groups": found.groups,
        "smallest": found.identity.smallest,
        "belief": found.max_belief,
        "named": float(found.identity.marketer),
        "before": None
        if before is None
        else {
            "smallest": int(before.smallest),
            "belief": float(max(before.worst.values())) if before.worst else None,
            "named": float(before.named),
        },
        "ncp": found.loss.ncp,
        "losses": sorted(found.loss.per_attribute.items(), key=lambda item: -item[1]),
        "spreads": {name: d.to_dict() for name, d in found.distributions.items()},
        "sensitive": summary["loss"]["sensitive"],
        "checks": summary["checks"],
        "open": summary["not_protected"],
        "rows": _show_people(found),
        "notes": [*list_remarks(plan, data.schema), *notes, *found.notes],
        "dropped": data.intake.dropped,
        "read": data.intake.read,
        "ledger": None,
        "written": None,
        "entry": None,
    }


def _show_people(found: AuditReport) -> dict[str, Any]:
    """Draw a few people: what the table says of each, and what may be theirs in the release."""
    release: Release | None = None if found.examined is None else found.examined[0]
    if release is None:
        return {"names": [], "people": []}
    people = []
    for values, grounds in sample_rows(found, SHOWN_PEOPLE):
        groups = [group for listed in grounds.groups.values() for group in listed]
        shows: dict[str, str] = {}
        for group in groups:
            shows |= {name: label for name, label in group.shows.items() if name not in shows}
        holds: dict[str, str] = {}
        for group in groups[:1]:
            for name, shares in group.holds.items():
                listed = [f"{value} {float(share):.0%}" for value, share in shares[:3]]
                holds[name] = ", ".join(listed) + (", …" if len(shares) > 3 else "")
        people.append({"before": values, "after": {**shows, **holds},
                       "candidates": grounds.candidates})  # fmt: skip
    names = [*release.schema.quasi_identifiers, *release.schema.sensitive]
    return {"names": names, "people": people}


def _consult(
    book: Ledger, plan: Plan, release: Release, data: Microdata, tell: Tell
) -> dict[str, Any]:
    """Hold a release against all before it; if they do not go together, try what would pass."""
    with staging(tell)(f"Checking against {count_earlier(book)}"):
        known = book.read(plan.table, plan.schema)
        broken, notes = book.check(
            release, known, sign(plan.method, data), accept_estimates=plan.accept_estimates
        )
    told: dict[str, Any] = {
        "earlier": count_earlier(book),
        "passes": not broken,
        "broken": [str(made) for made in broken],
        "notes": notes,
        "said": "",
        "proposals": [],
    }
    if broken:
        proposals, told["said"] = book.list_proposals(
            data, plan.method, broken, known=known, insecure_seed=plan.insecure_seed, progress=tell
        )
        told["proposals"] = [
            {
                "text": one.text,
                "loss": one.loss,
                "without": list(one.without),
                "method": describe_method(one.method) if one.method else None,
            }
            for one in proposals
        ]
    return told


def adopt(path: Path, home: Path, seen: str, proposal: Mapping[str, Any]) -> None:
    """Change the plan as a proposal of the ledger says."""

    def change(document: Any) -> None:
        for name in proposal["without"]:
            if name not in document.get("columns", {}):
                raise PlanError(f"columns.{name}: its role is given under [roles].",
                                hint="Take it out there.")  # fmt: skip
            document["columns"][name]["role"] = "other"
        if proposal["method"] is not None:
            set_method(document, proposal["method"])

    change_plan(path, home, seen, change)
