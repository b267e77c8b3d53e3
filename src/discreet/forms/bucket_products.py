"""Products of what two sides show: within a bucket it is chance which numbers meet.

The sum of products is largest where both sides are in the same order, and least where one of them
is in the other: the rearrangement inequality. Whoever is not taken counts as nothing, and stands
between those below and those above nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp, select

from discreet.forms.bucket_bounds import (
    SIZE,
    AddedPart,
    find_size,
    join_ranked,
    join_tallies,
    name_ranked,
)
from discreet.forms.bucket_sides import BUCKET, AskedSide, Measure, name_key
from discreet.sql.trees import column, formula, named_table


class CrossProduct(NamedTuple):
    """A product of a measure of one side and one of another, under a number of its own."""

    whole: Measure
    sides: tuple[AskedSide, AskedSide]
    factors: tuple[Measure, Measure]

    @property
    def cells(self) -> str:
        """The clause with the buckets, by group."""
        return f"#product {self.whole.number}"

    @property
    def bounded(self) -> bool:
        """Whether it is known of every row whether it is taken, and what number it has."""
        return not any(side.shares for side in self.sides)

    def stat(self, letter: str, place: int) -> str:
        """Name what the cells have of one of the two."""
        return self.sides[place].stat(letter, self.factors[place])


def write_products(product: CrossProduct) -> exp.Select:
    """Per bucket and group: what both sides take."""
    columns = [column(BUCKET, product.sides[0].tally),
               formula(f'CAST({find_size(product.sides)} AS DOUBLE) AS "{SIZE}"')]  # fmt: skip
    for i, owner in sorted((i, side.tally) for side in product.sides for i, _ in side.keys):
        columns.append(column(name_key(i), owner))
    for place, side in enumerate(product.sides):
        for name in dict.fromkeys(product.stat(letter, place) for letter in "MSWVTQRDAZ"):
            columns.append(column(name.strip('"'), side.tally))
    return join_tallies(select(*columns), product.sides)


def count_products(product: CrossProduct) -> AddedPart:
    """Give what buckets add to the number of people who have both, and to the sum."""
    size = f'"{SIZE}"'
    (m, s, w, v, t, q, r, d), (m2, s2, w2, v2, t2, q2, r2, d2) = (
        [product.stat(letter, place) for letter in "MSWVTQRD"] for place in (0, 1)
    )
    people, total = f"({w} * {w2} / {size})", f"({t} * {t2} / {size})"

    def covary(one: str, other: str, same: str, pairs: str, pairs2: str) -> str:
        apart = f"{pairs} * {pairs2} / NULLIF({size} * ({size} - 1), 0)"
        return f"{same} / {size} + COALESCE({apart}, 0) - {one} * {other}"

    added = {
        "people": people, "fewest": f"GREATEST({s} + {s2} - {size}, 0)",
        "most": f"LEAST({m}, {m2})",
        "spread": covary(people, people, f"{w} * {w2}",
                         f"({w} * {w} - {v})", f"({w2} * {w2} - {v2})"),
        "sum": total,
        "sum spread": covary(total, total, f"{q} * {q2}",
                             f"({t} * {t} - {r})", f"({t2} * {t2} - {r2})"),
        "both": covary(total, people, f"{t} * {t2}",
                       f"({t} * {w} - {d})", f"({t2} * {w2} - {d2})"),
    }  # fmt: skip
    ends = ", ".join(f"{one} * {other}" for one in (product.stat("A", 0), product.stat("Z", 0))
                     for other in (product.stat("A", 1), product.stat("Z", 1)))  # fmt: skip
    added |= {"least": f"LEAST({ends})", "largest": f"GREATEST({ends})"}
    named = {f"#{what} {product.whole.number}": text for what, text in added.items()}
    return AddedPart(named, select().from_(named_table(product.cells)), product.cells)


def bound_products(product: CrossProduct) -> AddedPart:
    """Give what pairs of rows add to the least and the largest sum: those that meet in order."""
    size, spans = f'"{SIZE}"', []
    for place, (side, factor) in enumerate(zip(product.sides, product.factors, strict=True)):
        n, before = side.row("n", factor), f'"low {side.row("n", factor)[1:-1]}"'
        nobody = f"CASE WHEN {factor.value} > 0 THEN {size} - {product.stat('M', place)} ELSE 0 END"
        start = f"({before} + {nobody})"
        spans.append((start, f"({start} + {n})"))
    first, second = spans
    turned = (f"({size} - {second[1]})", f"({size} - {second[0]})")
    met = " * ".join(factor.value for factor in product.factors)

    def meet(other: tuple[str, str]) -> str:
        least, most = (
            f"{kind}({first[i]}, {other[i]})" for i, kind in ((1, "LEAST"), (0, "GREATEST"))
        )
        return f"{met} * GREATEST({least} - {most}, 0)"

    added = {f"#sum low {product.whole.number}": meet(turned),
             f"#sum high {product.whole.number}": meet(second)}  # fmt: skip
    one, two = product.sides
    rows, other = join_ranked(one, product.cells), name_ranked(two)
    same = [exp.NullSafeEQ(this=column(name, other), expression=column(name, product.cells))
            for name in two.key_columns]  # fmt: skip
    on = exp.and_(column(BUCKET, other).eq(column(BUCKET, product.cells)), *same)
    return AddedPart(added, rows.join(named_table(other), on=on), product.cells)
