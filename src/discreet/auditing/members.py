"""Members: can somebody who is in a table be told from somebody made up, by what matches?

The one measure of membership; audit, evidence and comparison all give this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.forms.exposure import Fakes, tell_apart
from discreet.forms.matches import Matches
from discreet.table.arrays import Bools, Ints
from discreet.table.microdata import Microdata, number_keys

TRIED, SEED = 2000, 0
"""So many people are tried, the same whoever measures."""
AT_ONCE = 100_000
"""So many people are held against those made up at a time, to bound memory."""


@dataclass(frozen=True)
class Membership:
    """How well a release hides who is in it."""

    told: float | None
    """How often more records match a member than somebody made up: 0.5 is chance. ``None`` where
    everybody that can be made up is in the table."""
    tried: int
    """How many of either were tried; 0 where it is a bound that is proven."""
    fakes: Fakes | None
    """What else matches, where the form has such."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        more = {} if self.fakes is None else self.fakes.to_dict()
        return {"told": self.told, "tried": self.tried, **more}

    def __str__(self) -> str:
        told = "everybody that can be made up of its values is in it"
        if self.told is not None and not self.tried:
            told = f"nobody tells a member from somebody else in more than {self.told:.1%} of pairs"
        elif self.told is not None:
            told = (
                f"a member is told from somebody made up in {self.told:.1%} of pairs (chance: 50 %)"
            )
        return f"Membership: {told}{'' if self.fakes is None else f'; {self.fakes}'}."


def measure_membership(found: Sequence[Matches], data: Microdata) -> Membership | None:
    """Say how often a member is told from somebody made up, by how many records may be theirs.

    People are made up of other people's values, attribute by attribute. Where quasi-identifiers
    are exact, nobody made up is found, and membership is not hidden at all. ``found`` is the
    whole microdata, matched with every table of a release; of a part of it nothing is said.
    """
    names, rng = data.quasi_identifiers, np.random.default_rng(SEED)
    if (bound := found[0].view.bound_membership()) is not None:
        return Membership(bound, 0, None)
    if not names or data.whole is not None:
        return None
    chosen = rng.integers(0, data.n, min(TRIED, data.n))
    made = {name: data.codes[name][rng.integers(0, data.n, len(chosen))] for name in names}
    real = _find_real(data, made)
    fakes = found[0].view.count_fakes(data)
    if real.all():
        return Membership(None, 0, fakes)
    others = replace(data, codes={**data.taken(chosen).codes, **made}, rows=None)
    others = others.taken(np.flatnonzero(~real))
    members = _count_records(found, chosen)
    matched = [matches.view.match(others) for matches in found]
    strangers = _count_records(matched, np.arange(others.n))
    inside = np.repeat([1.0, 0.0], [len(members), len(strangers)])
    told = tell_apart(np.concatenate([members, strangers]), inside, 1 - inside)
    return Membership(told, len(strangers), fakes)


def _find_real(data: Microdata, made: dict[str, NDArray[np.int32]]) -> Bools:
    """Say of people who were made up whether somebody in the table is like them.

    Values are followed attribute by attribute, as far as anybody was made up who begins so.
    """
    steps, number = [], np.zeros(len(next(iter(made.values()))), dtype=np.int64)
    for name, codes in made.items():
        size = data.domains[name].size
        follow = np.full((int(number.max()) + 1) * size, -1, dtype=np.int64)
        keys, number = number_keys(number * size + codes)
        follow[keys] = np.arange(len(keys))
        steps.append((data.codes[name], size, follow))
    there = np.zeros(int(number.max()) + 1, dtype=bool)
    for first in range(0, data.n, AT_ONCE):
        rows = np.arange(first, min(first + AT_ONCE, data.n))
        place = np.zeros_like(rows)
        for codes, size, follow in steps:
            place = follow[place * size + codes[rows]]
            rows, place = rows[place >= 0], place[place >= 0]
        there[place] = True
    return there[number]


def _count_records(found: Sequence[Matches], people: Ints) -> Ints:
    """Count the records that may be each of some people's, in the table that has fewest."""
    return np.asarray(np.min([np.append(m.records, 0)[m.set_of[people]] for m in found], axis=0))
