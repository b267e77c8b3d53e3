"""What follows from a whole perturbed table, to somebody who knows all numbers of its people.

That reader takes every way to give the numbers to the records, each by how likely it makes what the
records show.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from discreet.table.arrays import Floats, Ints

ROUNDED = 1e-7
"""Beliefs are rounded up by so much of themselves: floating numbers of a million people are exact
to some 1e-8, the averages they stand for to 1e-13."""


class Options(NamedTuple):
    """The records that may be a person's, by candidate set and then by the number they show."""

    sets: Ints
    shown: Ints
    """As codes of the microdata; -1 if nobody has the number."""
    records: Ints
    """How many records of the set show it."""


class _Moment(NamedTuple):
    """What is believed at one of the places that beliefs are averaged over."""

    share: float
    left: Floats
    """Per number, how likely a record has it to which nothing but chance gave a number."""
    chance: Floats
    """Per set, how likely nothing else gave a record its number."""
    surplus: Floats
    """Per option, how much likelier than by chance the set's person has the number shown."""


class Arrangements:
    """Beliefs about the people of candidate sets, over all arrangements of the numbers.

    An arrangement counts ``1 + λ`` times for every record that shows its own number, where λ is p
    times the size over 1 - p. Choose some of these coincidences, λ times each; what is left over of
    records and numbers is dealt at random. ``kernels.coincidences`` averages this over places z at
    which numbers do not depend on each other, and where, of the ``held`` people who have a number
    and the ``seen`` records that show it, so many are chosen. A record that shows y then

    * has y with ``(1 + 1/λ) chosen(y) / seen(y)``: by choice, or λ times as rarely by chance;
    * has x ≠ y with ``(1 - chosen(y) / seen(y)) (held(x) - chosen(x)) / z``.

    Of a person with several records to choose from, each is as likely the person's.
    """

    def __init__(self, held: Ints, seen: Ints, options: Options, lift: float) -> None:
        from discreet.kernels.coincidences import count_coincidences

        self.held, self.seen, self.options, self.lift = held, np.maximum(seen, 1), options, lift
        self.starts = np.flatnonzero(np.diff(options.sets, prepend=-1))
        self.shares = options.records / np.add.reduceat(options.records, self.starts)[options.sets]
        kinds, kind_of, times = np.unique(
            np.stack([held, seen]), axis=1, return_inverse=True, return_counts=True
        )
        self.kind_of = kind_of.ravel()
        self.places = count_coincidences(int(held.sum()), *kinds, times, lift)

    def _moments(self) -> Iterator[_Moment]:
        there, shown = self.options.shown >= 0, np.maximum(self.options.shown, 0)
        for z, share, per_kind in zip(*self.places, strict=True):
            chosen = per_kind[self.kind_of]
            left, taken = (self.held - chosen) / z, chosen / self.seen
            own = (1 + 1 / self.lift) * taken - (1 - taken) * left
            alone = np.where(there, 1 - taken[shown], 1) * self.shares
            surplus = np.where(there, own[shown], 0) * self.shares
            yield _Moment(share, left, np.add.reduceat(alone, self.starts), surplus)

    def believe(self, sets: Ints, codes: tuple[Ints, Ints], within: tuple[Ints, Ints]) -> Floats:
        """Give how likely people of some sets have a number from a code on and before another.

        ``within`` are the options of the set that show such a number, likewise.
        """
        found = np.zeros(len(sets))
        pairs, some = np.stack(within, axis=1).ravel(), within[0] < within[1]
        for share, left, chance, surplus in self._moments():
            running = np.concatenate([[0.0], np.cumsum(left)])
            shown = np.add.reduceat(np.append(surplus, 0.0), pairs)[::2]
            inside = running[codes[1]] - running[codes[0]]
            found += share * (chance[sets] * inside + np.where(some, shown, 0))
        return _round_up(found)

    def find_likeliest(self) -> Floats:
        """Give, per set, how likely its likeliest number is.

        That is one of those shown, or the one left most often; to take the latter at every place
        apart can only be too much.
        """
        shown, other = np.zeros(len(self.shares)), np.zeros(len(self.starts))
        there, codes = self.options.shown >= 0, np.maximum(self.options.shown, 0)
        for share, left, chance, surplus in self._moments():
            known = surplus + chance[self.options.sets] * left[codes]
            shown += share * np.where(there, known, 0)
            other += share * chance * left.max()
        return _round_up(np.maximum(other, np.maximum.reduceat(shown, self.starts)))


def _round_up(beliefs: Floats) -> Floats:
    return np.asarray(np.minimum(beliefs * (1 + ROUNDED), 1.0))
