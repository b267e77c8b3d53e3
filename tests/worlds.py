"""What tests ask of all worlds that agree with what was published, and of all shuffles."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import discreet as dc
from discreet.release import Transformation
from oracles.all_worlds import count_worlds
from oracles.pieces import read_pieces


def posteriors(
    release: dc.Release, people: list[dict[str, Any]], sensitive: str
) -> list[dict[Any, Fraction]]:
    """Per person the probability of each sensitive value, all worlds equally likely."""
    return count_worlds(len(people), [read_pieces(release, people)]).believe(sensitive)


def sliced_posteriors(
    release: dc.Release, people: list[dict[str, Any]], name: str
) -> list[Fraction]:
    """Per person the probability of the surest value."""
    return [max(belief.values()) for belief in posteriors(release, people, name)]


def shuffles(release: dc.Release) -> list[list[dict[str, Any]]]:
    """Every table that shuffling columns within buckets can make of a release.

    What stands in several columns has to be the same in each of them.
    """
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
            cells = [{(n, here[o[k]][n]) for c, o in links for n in c} for k in lines]
            if any(len({n for n, _ in cell}) < len(cell) for cell in cells):
                continue
            worlds.append([{n: here[o[k]][n] for c, o in links for n in c} for k in lines])
        ways.append(worlds)
    return [[row for part in world for row in part] for world in product(*ways)]
