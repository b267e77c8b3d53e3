"""Plan files: the plan is the truth; the studio reads, changes and shows it, comments and all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import PlanError
from discreet.files import write_text
from discreet.steward.plan_text import parse_plan, read_plan_text
from discreet.studio.places import confine

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

    from discreet.publishing.method import Method
    from discreet.steward.plan import Plan

KEPT_APART = ("principle", "principles", "history", "earlier")
"""What a plan writes otherwise, or keeps whatever the method is."""
CHANGED = "The plan was changed on disk since this page was shown."
SHOW_AGAIN = "Load the page again to see it as it is now; then change it."


def name_plan(text: str) -> str:
    """Give a short name to what a plan says, so that a page knows which one it shows."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def name_plan_at(path: Path | None) -> str:
    """Do so for the plan in a file; nothing if there is none."""
    try:
        return "" if path is None else name_plan(read_plan_text(path))
    except PlanError:
        return "unreadable"


def read_plan(path: Path, home: Path) -> Plan:
    """Read a plan of which nothing lies outside of a folder."""
    from discreet.steward.plan import Plan

    return _keep_inside(Plan.read(path), home)


def read_changed(path: Path, home: Path, change: Callable[[TOMLDocument], object]) -> Plan:
    """Read what a plan would be if it were changed; the file stays as it is."""
    import tomlkit

    from discreet.steward.plan import Plan

    document = _open(read_plan_text(path), path)
    change(document)
    return _keep_inside(Plan.parse(tomlkit.dumps(document), path), home)


def change_plan(
    path: Path, home: Path, seen: str, change: Callable[[TOMLDocument], object]
) -> Plan:
    """Change a plan that is still the one that was seen, if it is a plan afterwards."""
    import tomlkit

    document = _open(read_seen(path, seen), path)
    change(document)
    return write_plan(path, home, seen, tomlkit.dumps(document))


def write_plan(path: Path, home: Path, seen: str, text: str) -> Plan:
    """Write a plan over the one that was seen, if it is one."""
    from discreet.steward.plan import Plan

    read_seen(path, seen)
    plan = _keep_inside(Plan.parse(text, path), home)
    write_text(path, text, shared=True)
    return plan


def describe_method(method: Method) -> dict[str, Any]:
    """Say of a method what a plan says of it: its name, what it promises, and what is not usual."""
    told: dict[str, Any] = {"name": method.title}
    for part in fields(method):
        value, usual = getattr(method, part.name), part.default
        if part.name not in KEPT_APART and value != usual and value is not None:
            told[part.name] = list(value) if isinstance(value, tuple) else value
    told["principles"] = [
        {"name": part.title, **part.parameters()} for part in method.principle.parts
    ]
    return told


def set_method(document: TOMLDocument, told: Mapping[str, Any]) -> None:
    """Have a plan publish by a method; what only the one before knew is taken out."""
    import tomlkit

    section: Any = document["method"]
    for name in [name for name in section if name not in KEPT_APART]:
        del section[name]
    for name, value in told.items():
        if name != "principles":
            section[name] = value
    entries = tomlkit.aot()
    for one in told["principles"]:
        entry = tomlkit.table()
        entry.update(one)
        entries.append(entry)
    section["principles"] = entries


def _open(text: str, path: Path) -> TOMLDocument:
    """Open the text of a plan to be changed, with its comments."""
    import tomlkit

    parse_plan(text, path)  # what would take for ever is refused
    try:
        return tomlkit.parse(text)
    except ValueError as error:  # it is stricter here and there
        raise PlanError(
            f"{path.name}: cannot be changed here ({error}).", hint="Change the file itself."
        ) from error


def read_seen(path: Path, seen: str) -> str:
    """Read a plan that must still be the one that was seen."""
    text = read_plan_text(path)
    if name_plan(text) != seen:
        raise PlanError(CHANGED, hint=SHOW_AGAIN)
    return text


def _keep_inside(plan: Plan, home: Path) -> Plan:
    for place in (*plan.inputs, plan.folder):
        confine(home, place)
    return plan
