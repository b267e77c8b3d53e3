"""Enumeration oracle: all worlds that agree with what was published.

Everything an adversary has is used, nothing of the project but the loaded tables: the published
records with their boxes, and everybody's quasi-identifiers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import discreet as dc
from discreet.release import Transformation


def covers(
    release: dc.Release,
    record: dict[str, Any],
    person: dict[str, Any],
    names: Sequence[str] | None = None,
) -> bool:
    for name in release.schema.quasi_identifiers if names is None else names:
        recoding, value = release.recodings[name], person[name]
        if recoding.transformation == "sliced":
            if record[name] != value:
                return False
        elif recoding.transformation is Transformation.SET:
            text = "(missing)" if value is None else str(value)
            if text not in recoding.labels[record[name]]:
                return False
        elif value is None:
            if not record[f"{name}_missing"]:
                return False
        elif record[f"{name}_low"] is None or not (
            record[f"{name}_low"] <= value <= record[f"{name}_high"]
        ):
            return False
    return True


def posteriors(
    release: dc.Release, people: list[dict[str, Any]], sensitive: str
) -> list[dict[Any, Fraction]]:
    """Per person the probability of each sensitive value, all matchings equally likely."""
    records = release.tables["generalized"].to_dicts()
    assert len(records) == len(people) <= 8
    fits = [[covers(release, record, person) for record in records] for person in people]
    tallies: list[Counter[Any]] = [Counter() for _ in people]
    worlds = 0
    for matching in permutations(range(len(records))):
        if all(fits[person][record] for person, record in enumerate(matching)):
            worlds += 1
            for person, record in enumerate(matching):
                tallies[person][records[record][sensitive]] += 1
    assert worlds > 0, "no world fits what was published"
    return [{v: Fraction(c, worlds) for v, c in tally.items()} for tally in tallies]


def sliced_posteriors(
    release: dc.Release, people: list[dict[str, Any]], name: str
) -> list[Fraction]:
    """Enumerate every way in which the people can be the published rows; the surest belief of each.

    A world gives everybody a row of the sensitive column. Everyone's other values are known, so
    each bucket must come out with what its other columns show.
    """
    rows = release.tables["sliced"].to_dicts()
    columns = [list(map(str, c)) for c in release.parameters["columns"]]  # type: ignore[attr-defined]
    rest = [n for n in columns[-1] if n != name]

    def show(person: dict[str, Any], column: list[str]) -> tuple[Any, ...]:
        found = {tuple(r[n] for n in column) for r in rows if covers(release, r, person, column)}
        assert len(found) == 1
        return found.pop()

    shown = [[show(person, c) for c in columns[:-1]] for person in people]
    wanted = {
        (b, i): Counter(tuple(r[n] for n in c) for r in rows if r["bucket"] == b)
        for b in {r["bucket"] for r in rows}
        for i, c in enumerate(columns[:-1])
    }
    tallies: list[Counter[Any]] = [Counter() for _ in people]
    worlds = 0
    for order in permutations(range(len(rows))):
        if not all(covers(release, rows[r], people[p], rest) for p, r in enumerate(order)):
            continue
        got: dict[tuple[Any, int], Counter[tuple[Any, ...]]] = {k: Counter() for k in wanted}
        for p, r in enumerate(order):
            for i in range(len(columns) - 1):
                got[rows[r]["bucket"], i][shown[p][i]] += 1
        if got == wanted:
            worlds += 1
            for p, r in enumerate(order):
                tallies[p][rows[r][name]] += 1
    assert worlds, "no world fits what was published"
    return [Fraction(max(tally.values()), worlds) for tally in tallies]


def shuffles(release: dc.Release) -> list[list[dict[str, Any]]]:
    """Every table that shuffling columns within buckets can make of a release."""
    columns = [list(map(str, c)) for c in release.parameters["columns"]]  # type: ignore[attr-defined]
    return [world for rows in _fill(release) for world in _shuffle(rows, columns)]


def _fill(release: dc.Release) -> Iterator[list[dict[str, Any]]]:
    """Every way to put values of their regions into the rows."""
    rows = release.tables["sliced"].to_dicts()
    cells = []
    for row in rows:
        choices = {}
        for name, recoding in release.recodings.items():
            choices[name] = [row[name]]
            if recoding.transformation is Transformation.INTERVAL:
                choices[name] = list(range(row[f"{name}_low"], row[f"{name}_high"] + 1))
            elif recoding.transformation is Transformation.SET:
                choices[name] = list(recoding.labels[row[name]])
        cells.append([dict(zip(choices, c, strict=True)) for c in product(*choices.values())])
    for chosen in product(*cells):
        yield [{**row, **cell} for row, cell in zip(rows, chosen, strict=True)]


def _shuffle(rows: list[dict[str, Any]], columns: list[list[str]]) -> list[list[dict[str, Any]]]:
    ways = []
    for bucket in sorted({row["bucket"] for row in rows}):
        here = [row for row in rows if row["bucket"] == bucket]
        lines = range(len(here))
        worlds = []
        for order in product(permutations(lines), repeat=len(columns) - 1):
            links = list(zip(columns, (lines, *order), strict=True))
            worlds.append([{n: here[o[k]][n] for c, o in links for n in c} for k in lines])
        ways.append(worlds)
    return [[row for part in world for row in part] for world in product(*ways)]
