"""Estimating: what is believed where worlds are too many to count, and what can be at the most.

Beliefs are fitted to what groups hold, as those of releases about the same people are. Bounds are
true: no world has more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from discreet.auditing.cells import fit_groups
from discreet.auditing.worlds.bounding import Sums, bound_entries
from discreet.auditing.worlds.counting import NoWorldError
from discreet.forms.disclosure import SET, WEIGHT, mix_options
from discreet.table.arrays import Bools, Ints
from discreet.table.microdata import row_ids

if TYPE_CHECKING:
    from discreet.auditing.worlds.puzzle import Puzzle

KIND, VALUE, GROUP, MOST, SHARE = "kind", "value", "group", "most", "share"
FINE = 2.0**30


def estimate_kinds(puzzle: Puzzle, kinds: Ints) -> tuple[tuple[Ints, Ints, Ints, Ints], Ints]:
    """Fit beliefs of some kinds, and say how many of each can have a value.

    Gives entries: kind, code, weight and how many; and per kind how many can have the same of the
    values that are fitted to nothing.
    """
    people = puzzle.people[kinds]
    entries = _join([_list_told(puzzle, kinds, j) for j in range(len(puzzle.sights))])
    kind, code = entries[KIND].to_numpy(), entries[VALUE].to_numpy()
    if len(np.unique(kind)) < len(kinds):
        raise NoWorldError
    fitting: list[tuple[Ints, pl.DataFrame]] = []
    sums = [Sums(kind, people)]
    for j in range(len(puzzle.sights)):
        group_of = _find_whole(puzzle, kinds, j)
        if (group_of >= 0).any():
            held = _list_held(puzzle, j)
            fitting.append((group_of, held.rename({GROUP: SET, MOST: WEIGHT})))
            sums.append(_sum_groups(group_of[kind], code, held))
    fitted = fit_groups(kind, code, entries[WEIGHT].to_numpy(), people, fitting).to_numpy()
    _, high = bound_entries(np.minimum(entries[MOST].to_numpy(), people[kind]), sums)
    kept = fitted > 0
    unlisted = np.zeros(len(kinds), dtype=np.int64)
    np.maximum.at(unlisted, kind[~kept], high[~kept])
    return (kinds[kind[kept]], code[kept], fitted[kept], high[kept]), unlisted


def _list_held(puzzle: Puzzle, j: int) -> pl.DataFrame:
    """List what the groups of a release hold."""
    bags = puzzle.bags[j]
    return pl.DataFrame(
        {GROUP: bags.owners, VALUE: puzzle.codes[j].astype(np.int64), MOST: bags.weights}
    )


def _list_told(puzzle: Puzzle, kinds: Ints, j: int) -> tuple[Bools, pl.DataFrame]:
    """Say which kinds a release has; and of each what it leaves, how likely, and how often."""
    matches, sets = puzzle.sights[j].options, puzzle.kinds[kinds, j]
    place, group = matches.list_options(sets)
    options = pl.DataFrame({KIND: place, GROUP: group})
    most = options.join(_list_held(puzzle, j), on=GROUP).group_by(KIND, VALUE)
    here = np.flatnonzero(sets >= 0)
    different, back = np.unique(sets[here], return_inverse=True)
    mixed = mix_options(matches, puzzle.name, different)
    which, entry = mixed.entries_of(back)
    code = puzzle.domain.find(mixed.domain.texts)[mixed.codes[entry]].astype(np.int64)
    told = pl.DataFrame({KIND: here[which], VALUE: code, SHARE: mixed.weights[entry]})
    share = pl.col(SHARE) / pl.col(SHARE).sum().over(KIND)
    return sets >= 0, told.with_columns(share).join(most.agg(pl.col(MOST).sum()), on=[KIND, VALUE])


def _join(told: list[tuple[Bools, pl.DataFrame]]) -> pl.DataFrame:
    """List the values that all releases leave a kind, each of those that have it."""
    seen, joined = told[0]
    for here, new in told[1:]:
        both = joined.join(new, on=[KIND, VALUE], suffix=" new").select(
            KIND, VALUE, pl.col(SHARE) * pl.col(f"{SHARE} new"),
            pl.min_horizontal(MOST, f"{MOST} new").alias(MOST),
        )  # fmt: skip
        old = joined.filter(pl.Series(~here[joined[KIND].to_numpy()]))
        late = new.filter(pl.Series(~seen[new[KIND].to_numpy()]))
        joined = pl.concat([part.select(both.columns) for part in (both, old, late)])
        seen = seen | here
    fine = pl.col(SHARE) / pl.col(SHARE).max().over(KIND) * FINE
    return joined.sort(KIND, VALUE).with_columns(fine.round().cast(pl.Int64).clip(1).alias(WEIGHT))


def _find_whole(puzzle: Puzzle, kinds: Ints, j: int) -> Ints:
    """Per kind its group, if that is known, and of all people of the group; else -1."""
    sets, bags = puzzle.kinds[kinds, j], puzzle.bags[j]
    only = np.where(sets >= 0, np.append(puzzle.sights[j].options.only, -1)[sets], -1)
    here = only >= 0
    found = np.bincount(only[here], weights=puzzle.people[kinds][here], minlength=bags.count)
    return np.where(here & (found == bags.sizes)[only], only, -1)


def _sum_groups(group: Ints, code: Ints, held: pl.DataFrame) -> Sums:
    """Say what the people of every group have of every value in all."""
    asked = pl.DataFrame({GROUP: group, VALUE: code})
    found = asked.join(held, on=[GROUP, VALUE], how="left", maintain_order="left")
    number = row_ids([group + 1, code], len(code))
    total = np.zeros(int(number.max()) + 1, dtype=np.int64)
    total[number] = found[MOST].fill_null(0).to_numpy()
    return Sums(np.where(group >= 0, number, -1), total)
