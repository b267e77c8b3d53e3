"""Counts of (signature, value): how many newcomers and counterfeits each bucket takes.

Codes that are too near each other stand in no signature together. People of codes any two of which
are, as many as there may be, are a *crowd*: each of them needs a group of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from discreet.errors import PromiseError
from discreet.table.arrays import Bools, Ints

MOST_JOINED = 2000
"""So many buckets are offered to newcomers, the largest first."""
ROUNDS = 3
"""So often newcomers are shared out among buckets by their size; then as buckets take them."""


@dataclass(eq=False)
class Counts:
    """Signatures, each a set of codes of one attribute, and what their buckets lack."""

    nearest: Ints
    """Per code of the attribute the lowest that may not stand beside it: itself, or one below."""
    m: int
    listed: list[Ints]
    """Per signature its codes, ascending; none where it is nobody's."""
    lacking: dict[int, Ints] = field(default_factory=dict)
    """Per signature how many counterfeits have each of its codes, where any have."""

    @property
    def size(self) -> int:
        """Codes of the attribute."""
        return len(self.nearest)

    def list_values(self, signature: int) -> Ints:
        """Give the codes of a signature."""
        return self.listed[signature]

    def allows(self, signature: int) -> bool:
        """Whether a signature has m values or more, none of them too near another."""
        codes = self.listed[signature]
        return len(codes) >= self.m and bool((self.nearest[codes[1:]] > codes[:-1]).all())

    def holds(self, signature: Ints, own: Ints) -> Bools:
        """Say of people whether their signature, if they have one, has their own code."""
        keys = self._pair(np.arange(len(self.listed)))
        wanted = signature * self.size + own
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        if not len(keys):
            return np.zeros(len(own), dtype=bool)
        return np.asarray((signature >= 0) & (keys[at] == wanted))

    def _pair(self, signatures: Ints) -> Ints:
        """List the codes of some signatures, as one number with that of the signature."""
        parts = [self.listed[s] + s * self.size for s in signatures.tolist()]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def assign(self, standing: Ints, own: Ints, newcomers: Ints) -> tuple[Ints, Ints, Ints]:
        """Decide how many newcomers, by their code, join which signature.

        Gives signature, code and how many, of as many newcomers as there are.
        """
        here = standing >= 0
        keys, people = np.unique(standing[here] * self.size + own[here], return_counts=True)
        used = np.unique(keys // self.size)
        cells = self._pair(used)  # in the order of signatures and codes
        held = np.zeros(len(cells), dtype=np.int64)
        held[np.searchsorted(cells, keys)] = people
        of = np.searchsorted(used, cells // self.size)
        starts = np.searchsorted(of, np.arange(len(used)))
        codes = cells % self.size
        level = np.maximum.reduceat(held, starts) if len(used) else held
        taken, left = _fill(level[of] - held, codes, newcomers)
        fakes = level[of] - held - taken  # where no newcomer has what a bucket lacks
        common = newcomers + np.bincount(own, minlength=self.size)
        extra = make_eligible(left, self.m, self.nearest, common)
        added = _join(self, used, level, left + extra)
        rest = left + extra - np.bincount(codes, added[of], self.size).astype(np.int64)
        found = [(used[of], codes, taken + fakes + added[of])]
        found.append(self._deal(rest))
        signature, code, many = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return self._tell_fakes(signature, code, many, newcomers, (used[of], codes, fakes))

    def _deal(self, rest: Ints) -> tuple[Ints, Ints, Ints]:
        """Deal people, sorted by their codes, in turn to groups: each gets m values, or one more.

        No group gets two values that are too near each other: people of such values are next to
        each other, and no more than there are groups. Groups next to each other mostly get the
        same, so that there are few signatures.
        """
        total = int(rest.sum())
        if not total:
            return (np.zeros(0, dtype=np.int64),) * 3
        groups = max(total // self.m, int(count_crowds(rest, self.nearest).max()))
        order = np.arange(self.size)
        if (self.nearest == order).all():  # the order is free, and frequent ones are dealt first
            order = np.argsort(-rest, kind="stable")
        order = order[rest[order] > 0]
        ends = np.cumsum(rest[order])
        # what groups get changes only where some value ends
        cuts = np.unique(np.concatenate([[0, groups], np.append(ends, total) % groups]))
        first, many = cuts[:-1], np.diff(cuts)
        numbers, found = self._number_signatures(), []
        for start, times in zip(first.tolist(), many.tolist(), strict=True):
            places = np.arange(start, total, groups)
            codes = np.sort(order[np.searchsorted(ends, places, side="right")])
            number = numbers.setdefault(codes.tobytes(), len(self.listed))
            if number == len(self.listed):
                self.listed.append(codes)
            found.append((np.full(len(codes), number), codes, np.full(len(codes), times)))
        signature, codes, many = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return signature, codes, many

    def _number_signatures(self) -> dict[bytes, int]:
        return {codes.tobytes(): s for s, codes in enumerate(self.listed) if len(codes)}

    def _tell_fakes(
        self,
        signature: Ints,
        code: Ints,
        many: Ints,
        newcomers: Ints,
        sure: tuple[Ints, Ints, Ints],
    ) -> tuple[Ints, Ints, Ints]:
        """Part what buckets take into people and counterfeits: the last of a code are these."""
        keys, at = np.unique(signature * self.size + code, return_inverse=True)
        total = np.bincount(at, many).astype(np.int64)
        signature, code = keys // self.size, keys % self.size
        fakes = np.zeros(len(keys), dtype=np.int64)
        np.add.at(fakes, np.searchsorted(keys, sure[0] * self.size + sure[1]), sure[2])
        # counterfeits of newcomers' codes go where most people are, one after the other
        over = np.bincount(code, total - fakes, self.size).astype(np.int64) - newcomers
        order = np.lexsort((-total, code))
        room = (total - fakes)[order]
        starts = np.searchsorted(code[order], code[order])
        before = np.cumsum(room) - room
        more = np.clip(over[code[order]] - (before - before[starts]), 0, room)
        fakes[order] += more
        for s in np.unique(signature[fakes > 0]).tolist():
            mine = signature == s
            lacking = np.zeros(len(self.listed[s]), dtype=np.int64)
            lacking[np.searchsorted(self.listed[s], code[mine])] = fakes[mine]
            self.lacking[s] = lacking
        people = total - fakes
        return signature[people > 0], code[people > 0], people[people > 0]

    def list_lacking(self) -> tuple[Ints, Ints]:
        """List the counterfeits: the signature and the code of each."""
        signature, code = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for s in sorted(self.lacking):
            code.append(np.repeat(self.listed[s], self.lacking[s]))
            signature.append(np.full(len(code[-1]), s))
        return np.concatenate(signature), np.concatenate(code)


def _fill(lack: Ints, codes: Ints, newcomers: Ints) -> tuple[Ints, Ints]:
    """Let newcomers fill what buckets lack, one bucket after the other; give who is left."""
    order = np.argsort(codes, kind="stable")
    wanted, starts = lack[order], np.searchsorted(codes[order], codes[order])
    before = np.cumsum(wanted) - wanted
    taken = np.empty_like(lack)
    taken[order] = np.clip(newcomers[codes[order]] - (before - before[starts]), 0, wanted)
    return taken, newcomers - np.bincount(codes, taken, len(newcomers)).astype(np.int64)


def count_crowds(people: Ints, nearest: Ints) -> Ints:
    """Per code, count people of it and of codes below that are too near to stand beside it.

    >>> count_crowds(np.array([3, 1, 0, 2]), np.array([0, 0, 1, 2])).tolist()
    [3, 4, 1, 2]
    """
    before = np.append(0, np.cumsum(people))
    return np.asarray(before[1:] - before[nearest])


def make_eligible(left: Ints, m: int, nearest: Ints, common: Ints) -> Ints:
    """Add counterfeits, by their code, until no crowd is more than one in ``m``.

    They have the codes that most people have; or, if no such codes can stand beside what is left,
    those from the least on, which are as many as can be.

    >>> make_eligible(np.array([3, 1, 0, 0]), 2, np.arange(4), np.array([9, 2, 7, 1])).tolist()
    [0, 0, 2, 0]
    >>> near = np.array([0, 0, 1, 2])
    >>> make_eligible(np.array([0, 2, 0, 0]), 2, near, np.array([1, 9, 7, 1])).tolist()
    [0, 0, 0, 2]
    """
    most = int(count_crowds(left, nearest).max(initial=0))
    if m * most <= int(left.sum()):
        return np.zeros_like(left)
    orders = [np.argsort(-common, kind="stable"), np.arange(len(left))]
    # where codes of several who are left are near a third, crowds have to be larger
    for room in (times * most for times in range(1, m + 1)):
        for order in orders:
            extra = _add_records(left, m, nearest, order, room)
            if m * int(count_crowds(left + extra, nearest).max()) <= int((left + extra).sum()):
                return extra
    raise PromiseError(
        f"m = {m} cannot be kept: some people's values have fewer than {m - 1} others that are far "
        "enough from them and from each other.",
        hint="Ask for a smaller m or epsilon, or round the numbers less.",
    )


def _add_records(left: Ints, m: int, nearest: Ints, order: Ints, room: int) -> Ints:
    """Add records of codes in some order, while no crowd gets larger than there is room."""
    extra, needed = np.zeros_like(left), m * room - int(left.sum())
    # crowds that a code is in: its own, and those of codes above that it is too near
    ends = np.searchsorted(nearest, np.arange(len(nearest)), side="right")
    crowds = count_crowds(left, nearest)
    for code in order.tolist():
        if needed <= 0:
            break
        its = slice(code, int(ends[code]))
        extra[code] = min(needed, max(room - int(crowds[its].max()), 0))
        crowds[its] += extra[code]
        needed -= int(extra[code])
    return extra


def _join(counts: Counts, used: Ints, level: Ints, left: Ints) -> Ints:
    """Say how often one newcomer of each value joins each bucket.

    At first newcomers of a value are shared out by the size of buckets. Those who are left can
    always be dealt: no crowd is more than one in m of them.
    """
    added = np.zeros(len(used), dtype=np.int64)
    chosen = np.argsort(-level, kind="stable")[:MOST_JOINED]
    left = left.copy()
    weight = np.zeros(counts.size)
    for bucket in chosen.tolist():
        weight[counts.listed[used[bucket]]] += level[bucket]
    for last in range(ROUNDS + 1):
        shares = left / np.maximum(weight, 1)
        for bucket in chosen.tolist():
            codes = counts.listed[used[bucket]]
            most = int(left[codes].min())
            if last < ROUNDS:
                most = min(most, int((shares[codes] * level[bucket]).min()))
            if most:
                most = _keep_eligible(left, codes, most, counts)
                left[codes] -= most
                added[bucket] += most
    return added


def _keep_eligible(left: Ints, codes: Ints, most: int, counts: Counts) -> int:
    """Give how often one of each code can be taken, so that no crowd is more than one in m after.

    A crowd has at most one code of a signature.
    """
    total, wide, m = int(left.sum()), len(codes), counts.m
    crowds = count_crowds(left, counts.nearest)
    members = np.zeros(counts.size, dtype=np.int64)
    members[codes] = 1
    inside = count_crowds(members, counts.nearest) > 0
    most = min(most, (total - m * int(crowds[~inside].max(initial=0))) // wide)
    if wide > m:
        most = min(most, (total - m * int(crowds[inside].max())) // (wide - m))
    return max(most, 0)
