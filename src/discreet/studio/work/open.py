"""Open: what a worker keeps of the table that is looked at, and says of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import tomlkit

from discreet.errors import DiscreetError, SchemaError, StoreError, name_closest
from discreet.evaluate.distributions import bin_values
from discreet.files import write_file, write_text
from discreet.steward.beyond_memory import read_memory
from discreet.steward.inspected_table import InspectedTable, readable
from discreet.steward.inspection import Inspection, inspect_frame
from discreet.steward.inspection_in_parts import is_large
from discreet.steward.plan import Plan
from discreet.studio.places import confine
from discreet.studio.plan_files import change_plan, read_plan, write_plan
from discreet.table.databases import DatabaseTable
from discreet.table.microdata import Microdata, read
from discreet.table.readers import READABLE, TableFile, read_described
from discreet.table.schema import Attribute, Role, Schema
from discreet.table.spss_stata import Described
from discreet.table.uniqueness import Uniqueness

PLAN = ".plan.toml"
FIRST_ROWS = 8
MOST_LISTED, DEEPEST = 500, 3
"""Files that are listed of a folder, and how many folders deep they are looked for."""


@dataclass(eq=False)
class OpenTable:
    """A table in memory, with what was found of it."""

    source: TableFile | DatabaseTable
    table: InspectedTable
    _spreads: dict[str, tuple[Attribute, list[dict[str, Any]] | None]] = field(default_factory=dict)

    @cached_property
    def inspection(self) -> Inspection:
        """What is proposed, and a plan that says so."""
        lies = self.source.path.name if isinstance(self.source, TableFile) else self.source
        return inspect_frame(self.table, lies)

    def read(self, schema: Schema) -> Microdata:
        """Read it as a schema says."""
        return read(self.table.frame, schema)

    def spread(self, attribute: Attribute) -> list[dict[str, Any]] | None:
        """Say how people are spread over a column's values; nothing of one that names people."""
        if attribute.role is Role.IDENTIFIER:
            return None
        plain = readable(attribute)
        kept = self._spreads.get(attribute.name)
        if kept is None or kept[0] != plain:
            kept = self._spreads[attribute.name] = (plain, _spread(self.table, plain))
        return kept[1]


def open_table(source: TableFile | DatabaseTable) -> OpenTable:
    """Read a table, unless it is the one that was read last and has not changed."""
    stamp = (0, 0)
    if isinstance(source, TableFile) and source.path.exists():
        told = source.path.stat()
        stamp = (told.st_mtime_ns, told.st_size)
        if is_large(source.path, read_memory(None)):
            raise SchemaError(
                f"{source.name}: memory does not hold all of it.",
                hint="Use the command line, which works on it from disk: discreet inspect FILE.",
            )
    return _open_stamped(source, stamp)


@lru_cache(maxsize=2)
def _open_stamped(source: TableFile | DatabaseTable, stamp: tuple[int, int]) -> OpenTable:  # noqa: ARG001
    return OpenTable(source, InspectedTable(read_described(source)))


def warm_up() -> None:
    """Load what the first table will need, before there is one."""
    people = pl.DataFrame({"age": ["1", "2", "2"], "illness": ["a", "b", "b"]})
    opened = OpenTable(TableFile(Path("people.csv")), InspectedTable(Described(people)))
    plan = Plan.parse(opened.inspection.plan, Path("people.plan.toml"))
    _count_alone(opened.read(plan.fit(people.columns)))


def list_files(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """List the tables and plans of a folder and those in it, not the hidden ones."""
    tables: list[dict[str, Any]] = []
    plans: list[dict[str, Any]] = []
    for place, folders, files in os.walk(folder):
        here = Path(place)
        deep = len(here.relative_to(folder).parts)
        hidden = [name for name in folders if name.startswith((".", "_"))]
        if deep >= DEEPEST or (here / "datapackage.json").exists():
            hidden = list(folders)
        for name in hidden:
            folders.remove(name)
        if (here / "datapackage.json").exists() or (here / "ledger.sqlite").exists():
            continue  # a release is no microdata
        for name in sorted(files):
            path = here / name
            if name.startswith(".") or len(tables) + len(plans) >= MOST_LISTED:
                continue
            if not path.is_file() or not path.resolve().is_relative_to(folder):
                continue  # a pipe, or a link to nothing or elsewhere
            shown = {"name": str(path.relative_to(folder)), "bytes": path.stat().st_size}
            if name.endswith(PLAN):
                plans.append(shown)
            elif name.lower().endswith(READABLE):
                tables.append(shown)
    return {"tables": tables, "plans": plans}


def begin_plan(path: Path, home: Path) -> Path:
    """Find the plan of a table beside it; draft one if there is none."""
    found = open_table(TableFile(path))
    stem = path.name.split(".")[0]
    for number in range(1, 100):
        target = confine(home, path.with_name(f"{stem}{f'-{number}' if number > 1 else ''}{PLAN}"))
        if not target.exists():
            write_text(target, found.inspection.plan, shared=True)
            return target
        if read_plan(target, home).source.resolve() == path:
            return target
    raise SchemaError(f"{path.name}: there are too many plans of that name.")


def take_up(path: Path, home: Path) -> Path:
    """Check a plan that is to be worked on."""
    read_plan(path, home)
    return path


def keep(path: Path, home: Path, root: Path) -> Path:
    """Copy a plan and all it is made of out of the private folder, where nothing is in the way."""
    inputs = [confine(home, place) for place in read_plan(path, home).inputs]
    targets = [confine(root, place.relative_to(home)) for place in inputs]
    for target in targets:
        if target.exists():
            raise StoreError(
                f"{target.name}: exists already.", hint="Rename the file, then drop it again."
            )
    for place, target in zip(inputs, targets, strict=True):
        write_file(target, partial(shutil.copyfile, place))
    return targets[0]


def save_plan(path: Path, home: Path, seen: str, text: str) -> None:
    """Write a plan as somebody typed it, if it is one."""
    write_plan(path, home, seen, text)


def look_at_plan(path: Path, home: Path) -> dict[str, Any]:
    """Say everything about the table of a plan: its rows, its columns, and who is alone."""
    plan = read_plan(path, home)
    opened = open_table(plan.table)
    frame, schema = opened.table.frame, plan.fit(opened.table.frame.columns)
    found: dict[str, Any] = {
        "plan": path.name,
        "source": plan.table.name,
        "rows": frame.height,
        "first": _show_first(frame),
        "notes": _list_notes(opened.inspection),
        "columns": _describe_columns(opened, schema),
        "person": schema.people.person,
        "repeats": {},
        "alone": None,
        "problem": None,
    }
    try:
        data = opened.read(schema)
        if schema.people.person is None and not schema.people.rows_are_people:
            found["repeats"] = data.intake.repeats
        found["alone"] = _count_alone(data)
    except DiscreetError as error:
        found["problem"] = {"message": error.message, "hint": error.hint}
    _add_telling(found)
    return found


def _show_first(frame: pl.DataFrame) -> dict[str, Any]:
    rows = frame.head(FIRST_ROWS).cast(pl.String).rows()
    return {"names": frame.columns, "rows": [list(row) for row in rows]}


def _list_notes(inspection: Inspection) -> list[str]:
    """Give what has to be said of columns and nobody has decided yet."""
    notes = [f"{name}: {said} The plan says what becomes of them."
              for name, said in inspection.notes.strays.items()]  # fmt: skip
    notes += [f"{name} has dates that may be read in several ways: say which in the plan."
              for name in inspection.notes.asked]  # fmt: skip
    return notes


def _describe_columns(opened: OpenTable, schema: Schema) -> list[dict[str, Any]]:
    known = {a.name: a for a in schema}
    told = []
    for number, proposed in enumerate(opened.table.proposed):
        given = known.get(proposed.name)
        told.append(
            {
                "number": number,
                "name": proposed.name,
                "role": None if given is None else str(given.role),
                "proposed": str(proposed.role),
                "type": str((given or proposed).type),
                "reason": proposed.reason,
                "missing": opened.inspection.missing.get(proposed.name, 0),
                "apart": opened.inspection.telling[proposed.name].separation,
                "spread": opened.spread(given or proposed),
                "adds": None,
            }
        )
    return told


def _spread(table: InspectedTable, attribute: Attribute) -> list[dict[str, Any]] | None:
    try:
        codes, domain = table.code(attribute)
    except DiscreetError:  # reading the table says which
        return None
    bins = bin_values(domain, codes)
    counts = np.bincount(bins.of[codes], minlength=len(bins.labels))
    shares = (counts / max(len(codes), 1)).tolist()
    return [
        {"label": label, "share": share} for label, share in zip(bins.labels, shares, strict=True)
    ]


def _count_alone(data: Microdata) -> dict[str, Any]:
    """Count who is alone on the quasi-identifiers: on all, on the first few, and without each."""
    known = data.quasi_identifiers
    people = data.n if data.persons is None else data.persons.count
    alone = Uniqueness(data, known)
    steps = [data.count_unique(known[: i + 1]) for i in range(len(known))]
    beside = {name: abs(alone.count_beside(name) - alone.count) for name in data.codes}
    return {
        "count": alone.count,
        "people": people,
        "who": "rows" if data.persons is None else "people",
        "steps": [{"name": name, "count": n} for name, n in zip(known, steps, strict=True)],
        "beside": beside,
        "dropped": data.intake.dropped,
    }


def _add_telling(found: dict[str, Any]) -> None:
    beside: Mapping[str, int] = (found["alone"] or {}).get("beside", {})
    for column in found["columns"]:
        column["adds"] = beside.get(column["name"])


def set_roles(path: Path, home: Path, seen: str, names: Sequence[str], role: str) -> dict[str, Any]:
    """Give columns a role in the plan, and look at it again."""
    types = {a.name: str(a.type) for a in _proposed(path, home)}
    chosen = Role(role) if role in list(Role) else None
    if chosen is None or not names or not set(names) <= set(types):
        raise SchemaError("Choose columns of the table, and a role for them.")

    def change(document: Any) -> None:
        columns = document.setdefault("columns", tomlkit.table(is_super_table=True))
        for listed in document.get("roles", {}).values():
            for name in [name for name in listed if name in names]:
                listed.remove(name)
        for name in names:
            if name not in columns:
                columns[name] = {"role": str(chosen), "type": types[name]}
            else:
                columns[name]["role"] = str(chosen)

    change_plan(path, home, seen, change)
    return look_at_plan(path, home)


def set_person(path: Path, home: Path, seen: str, column: str) -> dict[str, Any]:
    """Say in the plan which rows are of one person: those with the same value, or else each."""
    names = [attribute.name for attribute in _proposed(path, home)]
    if column and column not in names:
        raise SchemaError(f"There is no column {column!r}.", hint=name_closest(column, names))

    def change(document: Any) -> None:
        for name in ("person", "rows_are_people"):
            document["source"].pop(name, None)
        if column:
            document["source"]["person"] = column
        else:
            document["source"]["rows_are_people"] = True

    change_plan(path, home, seen, change)
    return look_at_plan(path, home)


def _proposed(path: Path, home: Path) -> list[Attribute]:
    plan: Plan = read_plan(path, home)
    return open_table(plan.table).table.proposed
