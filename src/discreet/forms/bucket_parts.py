"""Parts of buckets: where sides share attributes, what agrees on these is shuffled by itself.

Rows of such sides stand side by side so that they agree. A question that asks one of them needs no
more than buckets. One that asks several is answered in the parts of buckets that agree; to a side
that shares nothing they are one side together, of which it is chance how many people it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot import exp, select

from discreet.forms.bucket_bounds import count_cells, name_cells, name_out, write_cells
from discreet.forms.bucket_sides import (
    BUCKET,
    PART,
    WHOLE,
    AskedSide,
    Side,
)
from discreet.sql.trees import column, formula, named_table

PARTS = "#parts"
"""The clause that numbers the parts of buckets, row by row."""


def part_side(asked: AskedSide) -> AskedSide:
    """Ask the same of a side whose buckets are taken apart by what it shares."""
    return asked._replace(side=asked.side._replace(table=PARTS, bucket=PART), is_part=True)


class TiedSides(NamedTuple):
    """Sides that share attributes, put together, as those see them that share nothing."""

    sides: list[AskedSide]
    """With buckets that are taken apart."""

    @property
    def side(self) -> AskedSide:
        """What they take together; of its rows only the tally is there."""
        keys = sorted((key for part in self.sides for key in part.keys), key=lambda key: key[0])
        return self.sides[0]._replace(keys=keys, is_part=False, is_mixed=True)

    def tally(self) -> dict[str, exp.Expr]:
        """Count per bucket whom they take, from what they do in its parts.

        How many they take in one part tells nothing of another: variances are added up.
        """
        own, *others = self.sides
        cells, side = name_cells(self.side), self.side
        made = count_cells(own, [None])
        told = {what: f'SUM({made.added[name_out(what, None)]})'
                for what in ("people", "fewest", "most", "spread")}  # fmt: skip
        counted = {"M": told["most"], "S": told["fewest"], "W": told["people"],
                   "V": f"{told['people']} - {told['spread']}"}  # fmt: skip
        keys = [column(name) for name in side.key_columns]
        found = select(
            column(WHOLE).as_(BUCKET, quoted=True),
            *keys,
            *(formula(f"{text} AS {side.stat(letter, None)}") for letter, text in counted.items()),
        )
        found = found.from_(named_table(cells)).group_by(column(WHOLE), *keys)
        return {cells: write_cells(own, others, [], 0), side.tally: found}


def number_parts(side: Side) -> exp.Select:
    """Number the parts of buckets that agree on what a side shares with others."""
    assert side.bucket is not None
    by = [exp.Ordered(this=column(name), nulls_first=True) for name in (side.bucket, *side.ties)]
    number = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=by))
    rows = select(exp.Star(), column(side.bucket).as_(WHOLE, quoted=True),
                  number.as_(PART, quoted=True))  # fmt: skip
    return rows.from_(named_table(side.table))


def choose_sides(
    own: AskedSide, others: Sequence[AskedSide]
) -> tuple[AskedSide, list[AskedSide], TiedSides | None]:
    """Take buckets apart where a side is asked together with others with which it shares something.

    Sides that share something with each other only are put together.
    """
    bound = [part for part in others if part.side.ties]
    free = [part for part in others if not part.side.ties]
    if own.side.ties and bound:
        return part_side(own), [*map(part_side, bound), *free], None
    if len(bound) < 2:
        return own, list(others), None
    together = TiedSides([part_side(part) for part in bound])
    return own, [together.side, *free], together
