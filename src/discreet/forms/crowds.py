"""Crowds: among which people of a population are the records of a table, and who must be there?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.forms.matches import Matches
from discreet.table.arrays import Ints


@dataclass(frozen=True, eq=False)
class Crowds:
    """People of a population, in crowds of whom a known number are in the table."""

    crowd_of: Ints
    """Per person the crowd; -1 where the table shows nobody like them."""
    records: Ints
    """Per crowd how many of it are in the table."""
    exact: bool = True
    """Whether each of a crowd is as likely in it as any other, by all that the table shows."""


@dataclass(frozen=True, eq=False)
class NamedValues:
    """Values of one attribute that the table names, and who of a population has them.

    If a table names only what somebody in it has, somebody who has it is in the table.
    """

    person: Ints
    end: Ints
    """Pairs of a person and the number of something named that the person may be named for."""
    named: int
    """How many are named in all."""
    of_groups: bool
    """Whether groups name them, by their boxes; else the whole table does, by its domain."""


def gather_crowds(matches: Matches) -> Crowds:
    """Put people together whose records are the same.

    Exact records are those of everybody who looks so. Of boxes that overlap it is only known how
    many records those have together that share people.
    """
    from discreet.kernels.options import connect

    if not matches.pools_groups:
        return Crowds(matches.set_of, matches.records)
    groups, count = matches.groups, matches.view.count
    crowd = connect(matches.offsets, groups[:, None], count)
    of_group = np.full(count, -1, dtype=np.int64)
    of_group[groups] = np.repeat(crowd, matches.sizes)
    nobody = np.flatnonzero(of_group < 0)  # groups that may be nobody's are crowds of their own
    of_group[nobody] = int(crowd.max(initial=-1)) + 1 + np.arange(len(nobody))
    records = np.bincount(of_group, weights=matches.view.people).astype(np.int64)
    crowd_of = np.append(crowd, -1)[matches.set_of]
    return Crowds(crowd_of, records, exact=bool((matches.sizes <= 1).all()))
