"""What was published, as pieces: read from the tables alone, for whoever counts worlds.

A piece is a row of a table, or of one column of a sliced table: it shows something of somebody's
quasi-identifiers, or a sensitive value, or both. Pieces come in groups (classes, batches, buckets),
and a group has columns: everybody of the group has one piece of each. Nothing of the project is
used but the tables and what the manifest says of their columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import discreet as dc

Person = Mapping[str, Any]


@dataclass(frozen=True)
class Piece:
    shown: tuple[Hashable, ...]
    """What it shows of quasi-identifiers; nothing where it is a value by itself."""
    values: tuple[tuple[str, Any], ...]
    """The sensitive values it carries, by attribute."""
    fits: frozenset[int]
    """The people it may be, as far as it shows."""


@dataclass(frozen=True, eq=False)
class Group:
    label: Hashable
    columns: tuple[Counter[Piece], ...]
    """Each has as many pieces as the group has people."""


@dataclass(frozen=True, eq=False)
class Publication:
    groups: tuple[Group, ...]
    knowable: bool
    """Whether somebody may know which group a person is in: not batches behind boxes."""
    members: frozenset[int] | None = None
    """Who is in it, where not everybody is."""


def read_pieces(release: dc.Release, people: Sequence[Person]) -> Publication:
    """Read a release as somebody does who knows everybody's quasi-identifiers."""
    return READERS[release.form](release, people)


def read_projections(release: dc.Release, people: Sequence[Person]) -> list[Publication]:
    """Read the tables of a batched release whose rows belong to nothing: one of everybody each."""
    found = []
    for title, table in release.tables.items():
        if title.startswith("projection"):
            names = [n for n in release.schema.quasi_identifiers if n in table.columns]
            rows = Counter(_cut(release, row, names, people) for row in table.to_dicts())
            found.append(Publication((Group(title, (rows,)),), knowable=False))
    return found


def _read_generalized(release: dc.Release, people: Sequence[Person]) -> Publication:
    return _read_groups(release, people, "generalized", "class", [_names(release)])


def _read_permuted(release: dc.Release, people: Sequence[Person]) -> Publication:
    """Rows show whose they are, but not whose value stands in them."""
    known, told = release.schema.quasi_identifiers, release.schema.sensitive
    return _read_groups(release, people, "permuted", "group", [known, told])


def _read_sliced(release: dc.Release, people: Sequence[Person]) -> Publication:
    columns = [list(map(str, c)) for c in release.parameters["columns"]]  # type: ignore[attr-defined]
    return _read_groups(release, people, "sliced", "bucket", columns)


def _read_groups(
    release: dc.Release, people: Sequence[Person], title: str, by: str, columns: list[list[str]]
) -> Publication:
    rows = release.tables[title].to_dicts()
    groups = []
    for label in sorted({row[by] for row in rows}):
        here = [row for row in rows if row[by] == label]
        made = tuple(
            Counter(_cut(release, row, names, people) for row in here) for names in columns
        )
        groups.append(Group(label, made))
    return Publication(tuple(groups), knowable=True)


def _read_batched(release: dc.Release, people: Sequence[Person]) -> Publication:
    """Every table refers to the batches; a batch holds the values of its people.

    Each table of batches gives a piece to everybody: a value, or several together.
    """
    held = [title for title in release.tables if title.startswith("batches")]
    titles = [title for title in release.tables if title.startswith("generalized")]
    everyone = frozenset(range(len(people)))
    groups = []
    for label in sorted(set(release.tables["batches"]["batch"].to_list())):
        columns = []
        for title in titles:
            table = release.tables[title]
            names = [n for n in release.schema.quasi_identifiers if n in table.columns]
            here = [row for row in table.to_dicts() if row["batch"] == label]
            columns.append(Counter(_cut(release, row, names, people) for row in here))
        for title in held:
            values: Counter[Piece] = Counter()
            told = [n for n in release.schema.sensitive if n in release.tables[title].columns]
            for row in release.tables[title].to_dicts():
                if row["batch"] == label:
                    values[Piece((), tuple((n, row[n]) for n in told), everyone)] += row["count"]
            columns.append(values)
        groups.append(Group(label, tuple(columns)))
    exact = all(
        release.recodings[n].transformation == "exact" for n in release.schema.quasi_identifiers
    )
    return Publication(tuple(groups), knowable=exact)


READERS: dict[str, Callable[[dc.Release, Sequence[Person]], Publication]] = {
    "generalized": _read_generalized,
    "batched": _read_batched,
    "sliced": _read_sliced,
    "permuted": _read_permuted,
}
"""By form. Values that are drawn anew (perturbed, swapped) are no pieces of anybody."""


def _names(release: dc.Release) -> list[str]:
    return [*release.schema.quasi_identifiers, *release.schema.sensitive]


def _cut(
    release: dc.Release, row: dict[str, Any], names: Sequence[str], people: Sequence[Person]
) -> Piece:
    """Cut the cells of some attributes out of a row, and say whom they fit."""
    known = [n for n in names if n in release.schema.quasi_identifiers]
    told = [n for n in names if n in release.schema.sensitive]
    columns = [c for n in known for c in (n, f"{n}_low", f"{n}_high", f"{n}_missing") if c in row]
    return Piece(
        tuple(row[c] for c in columns),
        tuple((n, row[n]) for n in told),
        frozenset(
            i for i, person in enumerate(people)
            if all(fits(release, row, n, person[n]) for n in known)
        ),
    )  # fmt: skip


def fits(release: dc.Release, row: dict[str, Any], name: str, value: Any) -> bool:
    """Whether a cell may be that of somebody with this value."""
    recoding, attribute = release.recodings[name], release.schema[name]
    if recoding.transformation == "set":
        text = "(missing)" if value is None else str(value)
        return text in recoding.labels[row[name]]
    if recoding.transformation != "interval":
        return _same(row[name], value)
    if value is None:
        return bool(row.get(f"{name}_missing"))
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None:
        return False
    if attribute.order:
        low, value, high = (attribute.order.index(x) for x in (low, value, high))
    else:
        low, value, high = (_plain(x) for x in (low, value, high))
    return bool(low <= value <= high)


def _same(shown: Any, value: Any) -> bool:
    return bool(_plain(shown) == _plain(value))


def _plain(value: Any) -> Any:
    """Floats as the decimals they stand for."""
    return Decimal(str(value)) if isinstance(value, float) else value
