"""The lossy join of a table with an earlier one, row by row, and what X-groups of it show.

Wang and Fung, KDD 2006: rows of two tables are joined wherever they may be one person's by what
both show. Whoever knows X of somebody looks at the rows of the join that have it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import discreet as dc
from oracles.comparing import Figure
from oracles.pieces import Person, fits

Row = dict[str, Any]


def compare_links(
    releases: Sequence[dc.Release], report: dc.AuditReport, people: Sequence[Person]
) -> Iterator[Figure]:
    """Of each promise about joins, the people in a class of which some X-group breaks it."""
    new, old = releases
    for part in report.judged.parts:
        if not isinstance(part, dc.XYAnonymity | dc.XYLinkability):
            continue
        groups: dict[Any, list[tuple[int, Row, Row]]] = defaultdict(list)
        for number, row, other in _join(new, old):
            groups[tuple(row[name] for name in part.x)].append((number, row, other))
        bad = {
            row["class"] for rows in groups.values() if _breaks(part, rows) for _, row, _ in rows
        }
        shown = [row for row in new.tables["generalized"].to_dicts() if row["class"] in bad]
        broken = sum(
            any(all(fits(new, row, n, person[n]) for n in new.schema.quasi_identifiers)
                for row in shown)
            for person in people
        )  # fmt: skip
        said = sum(check.breaches for check in report.checks if check.principle == part)
        yield Figure(f"people in joins that break {part.title}", None, Fraction(said),
                     Fraction(broken))  # fmt: skip


def _join(new: dc.Release, old: dc.Release) -> Iterator[tuple[int, Row, Row]]:
    shared = [name for name in new.schema.names if name in old.schema.names]
    for number, row in enumerate(new.tables["generalized"].to_dicts()):
        for other in old.tables["generalized"].to_dicts():
            if all(list_values(new, row, n) & list_values(old, other, n) for n in shared):
                yield number, row, other


def list_values(release: dc.Release, row: Row, name: str) -> set[str]:
    """List what a cell may stand for; numbers here are small and whole."""
    recoding, order = release.recodings[name], release.schema[name].order
    if recoding.transformation == "set":
        return set(recoding.labels[row[name]])
    if recoding.transformation != "interval":
        return {"(missing)" if row[name] is None else str(row[name])}
    found = {"(missing)"} if row.get(f"{name}_missing") else set()
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None:
        return found
    if order:
        return found | set(order[order.index(low) : order.index(high) + 1])
    return found | set(map(str, range(low, high + 1)))


def _breaks(part: dc.XYAnonymity | dc.XYLinkability, rows: Sequence[tuple[int, Row, Row]]) -> bool:
    if part.y == "people":
        return len({number for number, _, _ in rows}) < part.k
    (name,) = part.y
    values = Counter((row if name in row else other)[name] for _, row, other in rows)
    if isinstance(part, dc.XYAnonymity):
        return len(values) < part.k
    return Fraction(max(values.values()), len(rows)) > Fraction(str(part.k))
