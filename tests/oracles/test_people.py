"""People with one to three rows each: the audit against all worlds, and promises kept in them.

The worlds are those of rows; a person is whoever has some of them, and has a value if any row does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

import polars as pl
import pytest

import discreet as dc
from discreet.errors import PromiseError, SchemaError
from oracles.all_worlds import Worlds, count_worlds
from oracles.pieces import read_pieces
from oracles.tables import SETUPS

TRIED = 10
MOST_ROWS = 6
CLOSE = 1e-9
APART = [name for name in SETUPS if name != "sequential"]
"""Promises about joins are looked at elsewhere."""
WEAK = dc.FrequencyDiversity("6/5")


@dataclass(frozen=True)
class Shared:
    """A release of a table in which people have several rows."""

    release: dc.Release
    report: dc.AuditReport
    worlds: Worlds
    rows: list[list[int]]
    """Per person the rows."""


def _draw(setup: str, number: int, *, promised: bool) -> Shared | None:
    rng = Random(f"people, {setup} {number}")
    drawn = SETUPS[setup](rng)
    n = drawn.frame.height
    if n > MOST_ROWS:
        return None
    owners: list[int] = []
    while len(owners) < n:
        owners += [len(set(owners))] * rng.randint(1, 3)
    owners = owners[:n]
    rng.shuffle(owners)
    frame = drawn.frame.with_columns(pid=pl.Series(owners))
    schema = replace(drawn.schema, people=dc.PeopleKey("pid"))
    try:
        data = dc.read(frame, schema)
        if data.persons is None:
            return None
        made = data if promised else dc.read(drawn.frame, drawn.schema)
        method = replace(drawn.method, principle=WEAK) if promised else drawn.method
        release = dc.publish(made, method, insecure_seed=number)
    except (PromiseError, SchemaError):
        return None
    if release.left_out:
        return None  # who is nowhere is looked at elsewhere
    report = dc.audit(release, data, principle=None if promised else dc.KAnonymity(2) & WEAK)
    worlds = count_worlds(n, [read_pieces(release, drawn.people)])
    first = {owner: owners.index(owner) for owner in set(owners)}
    people = sorted(first, key=lambda owner: data.persons.of[first[owner]])  # type: ignore[union-attr]
    rows = [[i for i, owner in enumerate(owners) if owner == person] for person in people]
    return Shared(release, report, worlds, rows)


def _draw_all(setup: str, *, promised: bool) -> Iterator[Shared]:
    for number in range(TRIED):
        found = _draw(setup, number, promised=promised)
        if found is not None:
            yield found


@pytest.mark.parametrize("setup", APART)
def test_of_people_the_audit_says_no_less_than_all_worlds(setup: str) -> None:
    compared = equal = 0
    for shared in _draw_all(setup, promised=False):
        for name in shared.release.schema.sensitive:
            exact = (
                "sum over" not in shared.report.how[name]
                and "bound" not in (shared.report.how[name])
            )
            for person, rows in enumerate(shared.rows):
                most = max(shared.worlds.believe_any(rows, name).values())
                said = shared.report.beliefs[name][person]
                assert said >= most - CLOSE
                if exact:
                    assert said == pytest.approx(float(most))
                    equal += 1
                compared += 1
    assert compared
    assert equal or not setup.startswith(("generalization", "full", "anatomy", "permutation"))


@pytest.mark.parametrize("setup", APART)
def test_what_is_promised_of_people_holds_in_all_worlds(setup: str) -> None:
    for shared in _draw_all(setup, promised=True):
        assert shared.report.kept, shared.report.problems
        for name in shared.release.schema.sensitive:
            for rows in shared.rows:
                believed = shared.worlds.believe_any(rows, name)
                assert max(believed.values()) <= Fraction(5, 6)


@pytest.mark.parametrize("setup", ["generalization", "full-domain"])
def test_groups_hold_as_many_people_as_is_promised(setup: str) -> None:
    found = 0
    for shared in _draw_all(setup, promised=False):
        behind = _count_people_behind(shared)
        few = {person for person, count in enumerate(behind) if count < 2}
        assert few <= set(shared.report.breached.nonzero()[0].tolist())
        found += len(few)
    assert found


def _count_people_behind(shared: Shared) -> list[int]:
    """Per person the fewest people who may be behind a record that may be theirs."""
    owner = {row: person for person, rows in enumerate(shared.rows) for row in rows}
    possible: dict[object, set[int]] = {}
    for row, chances in enumerate(shared.worlds.rows):
        for record in chances:
            possible.setdefault(record, set()).add(owner[row])
    return [
        min(len(possible[record]) for row in rows for record in shared.worlds.rows[row])
        for rows in shared.rows
    ]
