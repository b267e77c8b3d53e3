"""Personal privacy: everybody says what must not be told of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np

from discreet.principles.base import Feasibility, Number, Principle, ratio, require_ratio
from discreet.principles.exact import at_most
from discreet.principles.groups import Groups
from discreet.table.arrays import Bools, Ints
from discreet.table.domain import Domain
from discreet.table.guards import PairDomain


class GuardedShares(NamedTuple):
    """How much of bags lies below what somebody in them guards; once per bag and guard."""

    bags: Ints
    parts: Ints
    entries: Ints
    """Of each an entry of the bags, by which it is named."""


@dataclass(frozen=True)
class PersonalPrivacy(Principle):
    """Of nobody a guarded value is believed with more than ``1/l`` (Xiao and Tao, SIGMOD 2006).

    Everybody guards a node of the attribute's taxonomy, or a value, or nothing; a column of the
    table says what. So a bag is one of pairs (value, guard), and of every guard in it the values
    below are at most one in l of the bag. Of a bag of values alone, of which nobody says who guards
    what, it asks what is enough whatever anybody guards: that of every value, or every node next to
    the root.

    >>> PersonalPrivacy(2).admits(Groups.of([["flu", "flu", "ulcer"], ["flu", "ulcer"]])).tolist()
    [False, True]

    **Not closed under union**: nine in ten of a group in which nobody guards anything may have flu;
    together with a group in which somebody guards flu they break that person's bound.

    **Guarantee**: who knows all quasi-identifiers of everybody believes with at most 1/l that the
    value of a person is one that the person guards. *Proof.* People of a group show the same box,
    which no other group shows, so every assignment of its n values to its n people is as likely,
    and a person has one of the values below a node with the share of these in the group. The
    condition bounds that share for the guard of each person of the group. ∎ It does not hold
    against someone who knows values or guards of others, or how groups are chosen: these depend on
    guards. Of people who guard nothing it promises nothing.
    """

    title: ClassVar[str] = "personal-privacy"
    paper: ClassVar[str] = "Xiao and Tao: Personalized Privacy Preservation, SIGMOD 2006"
    monotone: ClassVar[bool] = False
    personal: ClassVar[bool] = True
    leaves_open: ClassVar[str] = (
        "What people have who guard nothing, and of others what they do not guard: by this promise "
        "all of that may be told. That somebody guards something: groups depend on what their "
        "people guard, so who stands in a wide group may do so because of somebody's guard, and "
        "who guards a value may well have it. Who guards what is not published, so that the "
        "release alone does not show that this is kept; an audit with the microdata does."
    )

    l: Number  # noqa: E741

    def __post_init__(self) -> None:
        require_ratio("l", self.l, 1)

    @property
    def share(self) -> Fraction:
        """One in l."""
        return 1 / ratio(self.l)

    def admits(self, groups: Groups) -> Bools:
        """``l`` × what is guarded by anybody of a bag is no more than its size."""
        found, share = weigh_guarded(groups), self.share
        good = np.ones(groups.count, dtype=bool)
        sizes = groups.sizes[found.bags]
        fine = at_most(found.parts, share.denominator, sizes, share.numerator)
        good[found.bags[~fine]] = False
        return good

    def feasible(self, whole: Groups) -> Feasibility:
        """Whether the whole table keeps it, from which groups are split; more may be possible."""
        found, n = weigh_guarded(whole), int(whole.sizes[0])
        name = whole.domain.attribute.name
        if not found.parts.any():
            return Feasibility(True, f"nothing of {name} that anybody has is guarded: any l")
        worst = int(np.argmax(found.parts))
        most, code = int(found.parts[worst]), int(whole.codes[found.entries[worst]])
        what = f"{whole.domain.texts[code]!r} may be guarded"
        if isinstance(whole.domain, PairDomain):
            what = f"somebody guards {whole.domain.guards[code]!r}"
        best = (
            f"{what}, which {most / n:.1%} of all have, and groups are split from all: "
            f"l ≤ {math.floor(n / most * 100 + 1e-9) / 100:g}"
        )
        return Feasibility(bool(self.admits(whole)[0]), best)

    def over_rows(self, rows: int, together: int) -> Principle:
        """The same where everybody has one row; of several it says nothing."""
        return self if rows == 1 else super().over_rows(rows, together)

    @property
    def promise(self) -> str:
        """In words."""
        return (
            "That a person's value is one that the person guards is believed with probability at "
            f"most {self.share} from quasi-identifiers; who guards nothing is promised nothing "
            "by this."
        )


def weigh_guarded(groups: Groups) -> GuardedShares:
    """Weigh, in every bag, the values below each guard; of values alone, below any there may be."""
    if isinstance(groups.domain, PairDomain):
        return _weigh_pairs(groups, groups.domain)
    top = _number_top(groups.domain)[groups.codes]
    keys, first, number = np.unique(
        groups.owners * (groups.domain.size + 1) + top, return_index=True, return_inverse=True
    )
    parts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(parts, number, groups.weights)
    return GuardedShares(groups.owners[first], parts, first)


def _number_top(domain: Domain) -> Ints:
    """Number the nodes next to the root, per code; without a taxonomy every value is one."""
    tree, top = domain.taxonomy, np.arange(domain.size)
    for child in tree.children[0] if tree is not None else ():
        node = tree.nodes[child]  # type: ignore[union-attr]
        top[node.low : node.high] = node.low
    return top


def _weigh_pairs(groups: Groups, domain: PairDomain) -> GuardedShares:
    """Add up runs of values: in the order of bags and values they are differences of two sums."""
    owners, value = groups.owners, domain.value_of[groups.codes]
    size = max(int(domain.value_of.max()) + 1, int(domain.runs.max()))
    order = np.argsort(owners * size + value, kind="stable")
    keys = (owners * size + value)[order]
    upto = np.concatenate([[0], np.cumsum(groups.weights[order])])
    low, high = domain.runs[groups.codes].T
    asked = np.flatnonzero(high > low)
    first = np.searchsorted(keys, owners[asked] * size + low[asked])
    beyond = np.searchsorted(keys, owners[asked] * size + high[asked])
    return GuardedShares(owners[asked], upto[beyond] - upto[first], asked)
