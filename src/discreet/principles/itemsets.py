"""Principles about sets of items: what who knows some items of a person finds and infers.

Their bags are transactions: of each person of a group a set of items. An attribute that is no set
is read as one item of everybody. Both principles are counted by their definition, over the items
that go together in some transaction; people are bits of whole numbers, so that counting is exact.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from discreet.errors import PromiseError, SchemaError
from discreet.principles.base import (
    Feasibility,
    Number,
    Principle,
    ratio,
    require_ratio,
    require_whole,
)
from discreet.principles.groups import Groups
from discreet.table.arrays import Bools

MOST_LOOKED = 20_000_000
"""So many combinations of items are looked at."""
MOST_CHOICES = 1000
"""So many choices of the items of one person are looked at."""
MOST_HELD = 2**32
"""So many bits of those that were seen are held in memory."""


@dataclass(frozen=True, eq=False)
class Transactions:
    """The sets of the people of a group: per item who has it, a bit for each person."""

    people: int
    holders: dict[str, int]

    @staticmethod
    def take(groups: Groups, bag: int) -> Transactions:
        """Read a bag, whose values are sets of items."""
        entries = slice(groups.offsets[bag], groups.offsets[bag + 1])
        weights, sets = groups.weights[entries], groups.domain.item_sets
        places: dict[str, list[int]] = {}
        for place, code in enumerate(groups.codes[entries].tolist()):
            for item in sets[code]:
                places.setdefault(item, []).append(place)
        holders = {}
        for item in sorted(places):
            has_it = np.zeros(len(weights), dtype=bool)
            has_it[places[item]] = True
            holders[item] = int.from_bytes(np.packbits(np.repeat(has_it, weights)).tobytes(), "big")
        # what is filled up to whole bytes stands behind everybody, and is nobody
        spare = -int(weights.sum()) % 8
        shifted = {item: bits >> spare for item, bits in holders.items()}
        return Transactions(int(weights.sum()), shifted)

    @property
    def everybody(self) -> int:
        """All people."""
        return (1 << self.people) - 1

    def count_fewest(self, m: int, enough: int) -> int:
        """Count the people who have some items, up to m, that somebody has: of all choices fewest.

        Once fewer than ``enough`` are found, no more is looked for.
        """
        fewest, looked = self.people, 0
        holders = list(self.holders.values())
        left = [(self.everybody, 0, 0)]
        while left and fewest >= enough:
            people, first, size = left.pop()
            looked = _count_looks(looked, len(holders) - first)
            for place in range(first, len(holders)):
                both = people & holders[place]
                if both:
                    fewest = min(fewest, both.bit_count())
                    if size + 1 < m:
                        left.append((both, place + 1, size + 1))
        return fewest

    def count_fitting(self, items: Sequence[str], known: int | None) -> int:
        """Count the people who have some of a set's items, of all choices of so many the fewest.

        ``None`` is all of them; and so it is where there are too many choices to look at.
        """
        size = len(items) if known is None else min(known, len(items))
        if comb(len(items), size) > MOST_CHOICES:
            size = len(items)
        fewest = self.people
        for choice in combinations(items, size):
            fit = self.everybody
            for item in choice:
                fit &= self.holders.get(item, 0)
            fewest = min(fewest, fit.bit_count())
        return fewest

    def infer_most(self, item: str, enough: Fraction) -> Fraction:
        """Give the largest share of those who have an item among all who have some other items.

        Which other items these are, only matters so far as who of those who have the item has them
        all: of these choices the largest is told by fewest others, so only it is looked at. Once a
        share of ``enough`` is found, no larger one is looked for.
        """
        having = self.holders[item]
        others = [bits for other, bits in self.holders.items() if other != item and bits & having]
        most, looked, seen, left = Fraction(0), 0, {having}, [having]
        while left:
            mine = left.pop()
            known = self.everybody
            looked = _count_looks(looked, len(others))
            for bits in others:
                if bits & mine == mine:
                    known &= bits
                elif (both := bits & mine) and both not in seen:
                    seen.add(both)
                    left.append(both)
            if len(seen) * self.people > MOST_HELD:
                raise _refuse_many()
            most = max(most, Fraction(mine.bit_count(), known.bit_count()))
            if most >= enough:
                break
        return most


def _count_looks(looked: int, more: int) -> int:
    if looked + more > MOST_LOOKED:
        raise _refuse_many()
    return looked + more


def _refuse_many() -> PromiseError:
    return PromiseError(
        "The items go together in more ways than can be counted: whether the promise is kept is "
        "not known.",
        hint="Publish fewer items, group them by a taxonomy, or promise a smaller m.",
    )


@dataclass(frozen=True)
class KMAnonymity(Principle):
    """Whoever knows up to ``m`` items of a person finds at least ``k`` transactions that fit.

    Terrovitis, Mamoulis, Kalnis, VLDB 2008, Definition 1: no attacker who has background knowledge
    of up to m items of a transaction can use these items to identify fewer than k transactions. So
    any items, up to m, that are together in some transaction are in k or more: k itself is enough.
    Items that are together in none identify nothing.

    >>> from discreet.table.schema import Attribute, Role, Type
    >>> baskets = Attribute("items", Role.SENSITIVE, Type.SET)
    >>> two = Groups.of([["beer|milk", "beer|milk"], ["beer|milk", "beer", "milk"]], baskets)
    >>> KMAnonymity(k=2, m=1).admits(two).tolist(), KMAnonymity(k=2, m=2).admits(two).tolist()
    ([True, True], [True, False])

    **Guarantee**: who knows that a person is in the table, and up to m of the person's items, finds
    at least k transactions that have them all. All items are taken for known to somebody, and for
    what there is to learn.
    """

    title: ClassVar[str] = "km-anonymity"
    paper: ClassVar[str] = (
        "Terrovitis, Mamoulis, Kalnis: Privacy-preserving Anonymization of Set-valued Data, "
        "VLDB 2008"
    )
    monotone: ClassVar[bool] = True
    leaves_open: ClassVar[str] = (
        "Who knows more than m items of a person, or items that the person does not have, may find "
        "fewer transactions. All transactions that fit may have another item in common, which is "
        "learned then: k^m-anonymity bounds no inference. It does not hide who is in the table."
    )

    k: int
    m: int

    def __post_init__(self) -> None:
        require_whole("k", self.k)
        require_whole("m", self.m)

    def admits(self, groups: Groups) -> Bools:
        """Whatever up to m items of somebody are known, none of them included, k people fit."""
        bags = (Transactions.take(groups, bag) for bag in range(groups.count))
        return np.array([bag.count_fewest(self.m, self.k) >= self.k for bag in bags], dtype=bool)

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable by groups if the whole table keeps it; methods that change items do more."""
        fewest = Transactions.take(whole, 0).count_fewest(self.m, 0)
        said = f"some items, up to {self.m}, are together in {fewest:,} transactions: k ≤ {fewest}"
        return Feasibility(fewest >= self.k, said)

    @property
    def most_known(self) -> int:  # type: ignore[override]
        """Exactly m."""
        return self.m

    @property
    def min_size(self) -> int:
        """Who knows no item finds all people."""
        return self.k

    def over_rows(self, rows: int, together: int) -> Principle:
        """Where everybody has one row, as many that they are of k clusters."""
        if rows > 1:
            return super().over_rows(rows, together)
        return replace(self, k=self.k * together)

    @property
    def promise(self) -> str:
        """In words."""
        return (
            f"Whoever knows up to {self.m} items of a person finds at least {self.k} people who "
            "have them."
        )


@dataclass(frozen=True)
class RhoUncertainty(Principle):
    """No sensitive item is inferred from any other items with a probability of ``rho`` or more.

    Cao, Karras, Raïssi, Tan, VLDB 2010: for any transaction, any subset χ of its items and any
    sensitive item α that is not in χ, the probability that a transaction with χ has α is less than
    ρ. The subset may be empty, and may hold sensitive items. Without ``sensitive`` all items are.
    The threshold is strict: a belief of ρ itself breaks the promise. So ρ = 1 promises something,
    that no sensitive item is certain; and who would allow ρ itself gets no less.

    >>> from discreet.table.schema import Attribute, Role, Type
    >>> baskets = Attribute("items", Role.SENSITIVE, Type.SET)
    >>> table = Groups.of([["beer|hiv", "beer", "milk"]], baskets)
    >>> [RhoUncertainty(rho, ["hiv"]).admits(table).tolist() for rho in ("1/2", "0.51")]
    [[False], [True]]

    **Guarantee**: who knows that a person is in the table, and any items of the person, believes no
    further sensitive item with ρ or more, if all transactions that fit are as likely.
    """

    title: ClassVar[str] = "rho-uncertainty"
    paper: ClassVar[str] = (
        "Cao, Karras, Raïssi, Tan: ρ-uncertainty: Inference-Proof Transaction Anonymization, "
        "VLDB 2010"
    )
    monotone: ClassVar[bool] = True
    leaves_open: ClassVar[str] = (
        "Who knows items that a person does not have may infer a sensitive one with more than ρ. "
        "Items that are not sensitive may be inferred with certainty, and a person may be found. "
        "It does not hide who is in the table."
    )

    rho: Number
    sensitive: Sequence[str] | None = None

    def __post_init__(self) -> None:
        require_ratio("rho", self.rho, 0, 1)
        if ratio(self.rho) == 0:
            raise SchemaError("rho = 0: nothing is believed with less.", hint="Give more than 0.")
        if self.sensitive is None:
            return
        given = self.sensitive
        if isinstance(given, str) or not given or not all(isinstance(one, str) for one in given):
            raise SchemaError(
                f"sensitive = {given!r}: give a list of items.",
                hint="Leave it out where all items are sensitive.",
            )
        object.__setattr__(self, "sensitive", tuple(dict.fromkeys(given)))

    def admits_labels(self, groups: Groups, stands_for: Mapping[str, frozenset[str]]) -> Bools:
        """Refuse labels for a sensitive item and others.

        Who knows that a person has one of the others sees the label in any case, and how likely
        the sensitive one is besides no count tells.
        """
        mixed = {label for label, items in stands_for.items() if self._find_secret(items)}
        shows = np.array([not mixed.isdisjoint(items) for items in groups.domain.item_sets])
        bad = np.logical_or.reduceat(shows[groups.codes], groups.offsets[:-1])
        return self.admits(groups) & ~bad

    def _find_secret(self, items: Collection[str]) -> list[str]:
        return [item for item in items if self.sensitive is None or item in self.sensitive]

    def _infer_most(self, groups: Groups, bag: int, enough: Fraction) -> Fraction:
        table, most = Transactions.take(groups, bag), Fraction(0)
        for item in self._find_secret(table.holders):
            most = max(most, table.infer_most(item, enough))
            if most >= enough:
                break
        return most

    def admits(self, groups: Groups) -> Bools:
        """The surest inference of a sensitive item stays below ρ."""
        rho = ratio(self.rho)
        bags = range(groups.count)
        return np.array([self._infer_most(groups, bag, rho) < rho for bag in bags], dtype=bool)

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable by groups if the whole table keeps it; methods that change items do more."""
        most = self._infer_most(whole, 0, Fraction(2))
        said = f"a sensitive item is inferred with {float(most):.6g}: ρ > {most}"
        return Feasibility(most < ratio(self.rho), said)

    @property
    def promise(self) -> str:
        """In words."""
        named = "" if self.sensitive is None else f"sensitive item ({', '.join(self.sensitive)})"
        return (
            f"No {named or 'item'} is believed of a person with {self.rho} or more by who knows "
            "any others of the person's items."
        )
