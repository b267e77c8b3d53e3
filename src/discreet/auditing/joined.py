"""Joined: what several tables of one release tell together, beside what each tells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.forms.exposure import JoinedCells
from discreet.forms.matches import Matches
from discreet.forms.posterior import Posterior
from discreet.principles.base import Principle
from discreet.table.arrays import Bools
from discreet.table.microdata import Microdata, row_ids


@dataclass(frozen=True)
class Check:
    """One principle on one attribute, and how many people it fails for."""

    principle: Principle
    attribute: str | None
    breaches: int
    said: str
    """What was examined, as people read it."""


def join_tables(
    views: list[Matches], told: dict[str, list[Posterior]], data: Microdata
) -> JoinedCells | None:
    """Put the tables together, and add what follows from that to what each of them tells."""
    together = views[0].view.join(views)
    if together is None:
        return None
    seen = together.set_of >= 0  # in a cell are those who look the same in all tables
    cell = np.full(data.n, -1, dtype=np.int64)
    cell[seen] = row_ids([found.set_of[seen] for found in views], int(seen.sum()))
    sizes = np.append(data.count_people(cell, int(cell.max(initial=-1)) + 1), 1)
    worst, how = Fraction(0), "exactly"
    for name, alone in told.items():
        found = alone[0]
        if together is not found.found:  # one table tells all that all of them do
            found = together.view.posterior(together, data, name)
            told[name] = [*alone, found]
        worst, how = max(worst, found.worst()), found.how
    return JoinedCells(sizes[cell], worst, how)


def find_alone(checks: list[Check], joined: JoinedCells, promised: Principle) -> Bools:
    """Count those too few of whom look the same in all tables, where more was asked than promised.

    What a release promises of people it says table by table.
    """
    alone = np.zeros(len(joined.people), dtype=bool)
    for i, check in enumerate(checks):
        if check.principle.look_alikes > 1 and check.principle not in promised.parts:
            few = joined.people < check.principle.look_alikes
            checks[i] = replace(check, breaches=max(check.breaches, int(few.sum())),
                                said=str(check.principle))  # fmt: skip
            alone |= few
    return alone
