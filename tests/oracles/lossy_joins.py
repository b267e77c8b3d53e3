"""The lossy join of a table with earlier ones, row by row, and what X-groups of it show.

Wang and Fung, KDD 2006: rows of two tables are joined wherever they may be one person's by what
both show. Whoever knows X of somebody looks at the rows of the join that have it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
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


def join_all(
    tables: Sequence[tuple[dc.Release, Sequence[Row]]],
    rules: Sequence[tuple[str, Sequence[str], str, Sequence[str]]] = (),
) -> Iterator[tuple[Row, ...]]:
    """Join several tables: every two of their rows have a value in common of all that both show.

    A rule names values of the first table that go with none of some of another.
    """

    def meet(i: int, row: Row, j: int, other: Row) -> bool:
        shared = {*tables[i][0].schema.names} & {*tables[j][0].schema.names}
        return all(read(i, row, n) & read(j, other, n) for n in shared) and not any(
            i == 0 and there in tables[j][0].schema.names
            and read(i, row, here) <= {*values} and read(j, other, there) <= {*others}
            for here, values, there, others in rules
        )  # fmt: skip

    def read(i: int, row: Row, name: str) -> set[str]:
        key = i, id(row), name
        if key not in known:
            known[key] = list_values(tables[i][0], row, name)
        return known[key]

    def extend(rows: tuple[Row, ...]) -> Iterator[tuple[Row, ...]]:
        j = len(rows)
        if j == len(tables):
            yield rows
            return
        for other in tables[j][1]:
            if all(meet(i, row, j, other) for i, row in enumerate(rows)):
                yield from extend((*rows, other))

    known: dict[tuple[int, int, str], set[str]] = {}
    yield from extend(())


def list_possible(release: dc.Release) -> Iterator[tuple[Row, Fraction]]:
    """List everything that somebody may be and have, each as likely as it is for one record."""
    tables = {title: table.to_dicts() for title, table in release.tables.items()}
    told = release.schema.sensitive
    if "sliced" in tables:
        parts = [[{"bucket": row["bucket"], **{n: row[n] for n in column}} for row in
                  tables["sliced"]] for column in release.parameters["columns"]]  # type: ignore[attr-defined]  # fmt: skip
    elif "permuted" in tables:
        table = tables["permuted"]
        parts = [[{k: v for k, v in row.items() if k not in told} for row in table],
                 [{k: row[k] for k in ("group", *told)} for row in table]]  # fmt: skip
    elif "batches" in tables:
        held = [{k: row[k] for k in ("batch", *told)} for row in tables.pop("batches")
                for _ in range(row["count"])]  # fmt: skip
        parts = [*tables.values(), held]
    else:
        parts = [tables["generalized"]]
    for rows in product(*parts):
        owners = {row[owner] for row in rows for owner in ("bucket", "group", "batch")
                  if owner in row}  # fmt: skip
        if len(owners) <= 1:
            size = len([row for row in parts[0] if owners & {*(
                (row.get("bucket"), row.get("group"), row.get("batch")))}])  # fmt: skip
            weight = Fraction(1, size ** (len(parts) - 1)) if owners else Fraction(1)
            yield {key: value for row in rows for key, value in row.items()}, weight


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
