"""Coarse labels: what labels mean whose numbers were made coarser before they were published.

A table shows codes of top and bottom, multiples, or means of groups. What people's own numbers may
be is wider: 90 may be 97, and 35 may be 33. Joins and questions are about people's own numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from discreet.errors import DAMAGED, SchemaError, StoreError
from discreet.release.release import Release, Transformation
from discreet.release.selection import Selection, find_positions
from discreet.table.arrays import Bools, Ints
from discreet.table.coarsening import Coarsening
from discreet.table.domain import MISSING, Domain
from discreet.table.schema import Attribute

if TYPE_CHECKING:
    from discreet.release.labels import Labels

PARTS = 1000
"""Shares of what has no ends are given in so many parts: never none, and never all."""
Runs = tuple[Ints, Ints, Ints]
"""Whose, and from where to where people's own numbers may be."""


def spell_interval(attribute: Attribute, first: str, last: str) -> str:
    """Write an interval of what is shown; one that has a code of top or bottom has no end there.

    >>> from discreet.table.schema import Role, Type
    >>> age = Attribute("age", Role.QUASI_IDENTIFIER, Type.INTEGER, top=90)
    >>> [spell_interval(age, *ends) for ends in (("30", "90"), ("90", "90"), ("30", "35"))]
    ['≥ 30', '≥ 90', '[30, 35]']
    """
    coarse = Coarsening.of(attribute)
    if coarse is not None:
        ends = find_positions(pl.Series([first, last], dtype=pl.String), attribute)
        below, above = coarse.opens_below(ends[:1])[0], coarse.opens_above(ends[1:])[0]
        if below or above:
            return "any value" if below and above else f"≤ {last}" if below else f"≥ {first}"
    return first if first == last else f"[{first}, {last}]"


def alike(one: Attribute, other: Attribute) -> bool:
    """Whether numbers of two tables were made coarser alike, or not at all.

    Means are of the people of a table; those of others say nothing certain about them.
    """
    mine, theirs = Coarsening.of(one), Coarsening.of(other)
    if mine == theirs:
        return True
    if any(c is not None and c.aggregate is not None for c in (mine, theirs)):
        raise SchemaError(
            f"{one.name!r} is micro-aggregated in one table and not so in another: which of their "
            "values may be one person's cannot be told.",
            hint="Publish it in the same way, or leave it out of one of the releases.",
        )
    return False


def list_runs(labels: Labels) -> Runs:
    """List what people's own numbers may be, label by label."""
    coarse = Coarsening.of(labels.attribute)
    if labels.sets is None:
        owner = np.flatnonzero(labels.low <= labels.high)
        low, high = labels.low[owner], labels.high[owner]
    else:
        owner, low = place_members(labels)
        high = low
    return (owner, low, high) if coarse is None else (owner, coarse.least(low), coarse.most(high))


def place_members(labels: Labels) -> tuple[Ints, Ints]:
    """Give the values of sets as numbers, each with the set it is of."""
    assert labels.sets is not None
    held = [sorted(texts - {MISSING}) for texts in labels.sets]
    owner = np.repeat(np.arange(len(held)), np.fromiter(map(len, held), np.int64, len(held)))
    texts = pl.Series([text for part in held for text in part], dtype=pl.String)
    return owner, find_positions(texts, labels.attribute)


def cover_runs(labels: Labels, domain: Domain) -> Bools:
    """Say which values of a domain, made coarser otherwise, may be a label's own number."""
    owner, low, high = list_runs(labels)
    known = find_positions(domain.series().head(len(domain.values)), domain.attribute)
    coarse = Coarsening.of(domain.attribute)
    least, most = (known, known) if coarse is None else (coarse.least(known), coarse.most(known))
    covers = np.zeros((len(labels.texts), domain.size), dtype=bool)
    first = np.searchsorted(most, low, side="left")
    last = np.searchsorted(least, high, side="right")
    for place, start, end in zip(owner.tolist(), first.tolist(), last.tolist(), strict=True):
        covers[place, start:end] = True
    if domain.missing:
        covers[:, -1] = labels.absent
    return covers


def meet_runs(one: Labels, other: Labels) -> Bools:
    """Say which labels of two tables, made coarser differently, may be one person's number."""
    met = one.absent[:, None] & other.absent
    theirs, low, high = list_runs(other)
    for owner, least, most in zip(*(part.tolist() for part in list_runs(one)), strict=True):
        met[owner, theirs[(low <= most) & (least <= high)]] = True
    return met


def share_coarse(labels: Labels, asked: Sequence[Selection]) -> tuple[Ints, Ints]:
    """Count what each question takes of what labels mean; and all.

    Numbers between the codes are spread evenly. A code of top or bottom counts as one number, and
    as half of one where only some of what it may be is taken: it has no end to spread it to. Means
    count as the numbers they are, but never as certain.
    """
    coarse = Coarsening.of(labels.attribute)
    assert coarse is not None
    if labels.sets is not None:
        return _share_sets(labels, coarse, asked)
    some = labels.low <= labels.high
    if coarse.aggregate is not None:
        sizes = np.where(some, labels.high - labels.low + 1, 0) * PARTS
        hits = np.zeros((len(sizes), len(asked)), dtype=np.int64)
        for i, one in enumerate(asked):
            near = PARTS * (one.count_upto(labels.high) - one.count_upto(labels.low - 1))
            any_taken, all_taken = _take_all(one, coarse.low, coarse.high)
            held = np.clip(near, int(any_taken), sizes - (not all_taken))
            hits[:, i] = np.where(some, held, 0) + PARTS * (labels.absent & one.missing)
        return hits, sizes + PARTS * labels.absent
    below, above = coarse.opens_below(labels.low) & some, coarse.opens_above(labels.high) & some
    first = np.where(below, (coarse.bottom or 0) + 1, coarse.least(labels.low))
    last = np.where(above, (coarse.top or 0) - 1, coarse.most(labels.high))
    inside = some & (first <= last)
    sizes = 2 * (np.where(inside, last - first + 1, 0) + below + above + labels.absent)
    counted = []
    for one in asked:
        spread = np.where(inside, one.count_upto(last) - one.count_upto(first - 1), 0)
        hits = 2 * (spread + (labels.absent & one.missing))
        for flags, low, high in (
            (below, coarse.low, coarse.bottom), (above, coarse.top, coarse.high),
        ):  # fmt: skip
            if low is not None and high is not None:
                hits = hits + flags * sum(_take_all(one, low, high))
        counted.append(hits)
    return np.array(counted, dtype=np.int64).reshape(len(asked), len(some)).T, sizes


def _share_sets(
    labels: Labels, coarse: Coarsening, asked: Sequence[Selection]
) -> tuple[Ints, Ints]:
    owner, at = place_members(labels)
    low, high = coarse.least(at), coarse.most(at)
    hits = np.zeros((len(labels.texts), len(asked)), dtype=np.int64)
    for i, one in enumerate(asked):
        taken = one.count_upto(high) - one.count_upto(low - 1)
        near = np.where(one.takes(at), PARTS - 1, 1) if coarse.aggregate else PARTS // 2
        held = np.where(taken > high - low, PARTS, np.where(taken > 0, near, 0))
        np.add.at(hits[:, i], owner, held)
        hits[:, i] += PARTS * (labels.absent & one.missing)
    return hits, PARTS * labels.sizes


def _take_all(one: Selection, low: int, high: int) -> tuple[bool, bool]:
    """Say whether a question takes any of some numbers in a row, and whether it takes all."""
    upto, before = one.count_upto(np.array([high, low - 1])).tolist()
    return upto > before, upto - before > high - low


def refuse_finer_cells(release: Release) -> None:
    """Refuse tables that show numbers which were not made as coarse as the manifest says."""
    for attribute in release.schema:
        coarse, name = Coarsening.of(attribute), attribute.name
        if coarse is None or coarse.aggregate is not None:
            continue
        recoding = release.recodings[name]
        if recoding.transformation is Transformation.SET:
            texts = {text for held in recoding.labels.values() for text in held} - {MISSING}
            cells = [pl.Series(sorted(texts), dtype=pl.String)]
        else:
            columns = recoding.columns(name)
            shown = columns[1:3] if recoding.is_blurred else columns
            tables = [
                table for table in release.carriers.values() if {*columns} <= {*table.columns}
            ]
            cells = [table[c].unique().drop_nulls() for table in tables for c in shown]
        for part in cells:
            at = find_positions(part, attribute)
            # boxes may end anywhere between the codes; what is in them is shown by them alone
            good = [coarse.bottom is None or at >= coarse.bottom,
                    coarse.top is None or at <= coarse.top,
                    recoding.transformation == Transformation.INTERVAL
                    or coarse.show(at) == at]  # fmt: skip
            bad = ~np.logical_and.reduce([np.broadcast_to(g, at.shape) for g in good])
            if bad.any():
                first = part[int(np.flatnonzero(bad)[0])]
                raise StoreError(
                    f"{name!r} shows {first}, which is not as coarse as the manifest says.",
                    hint=DAMAGED,
                )
