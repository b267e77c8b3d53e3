"""What a question takes of the windows of a rank-swapped release.

Per number shown (and group): whether it is taken itself, how many of its window are of how many,
and the least and the largest of every term there. Windows are runs of the numbers there are. Of
numbers as they are, running counts and extremes at their ends tell it, in the engine; terms, and
groups by them, are evaluated here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.release.cells import MOST_CELLS
from discreet.sql.blurred import LEAST, MOST, THERE, Factor
from discreet.sql.query import Term
from discreet.sql.selection import evaluate, evaluate_term
from discreet.sql.trees import add_up, case, column, named_table, number
from discreet.table.arrays import Ints

WINDOWS, MARKED, TAKEN = "windows", "#marked", "#taken windows"
SHOWN, HITS, TOTAL = "#taken", "#hits", "#total"


def count_taken(about: exp.Expr, factors: Sequence[Factor]) -> tuple[exp.Select, exp.Select]:
    """Count in the engine, where terms are the number itself: mark numbers, and look windows up."""
    value = column("value")
    here = about.transform(lambda n: value.copy() if isinstance(n, exp.Column) else n)
    taken = case(here, number(1), number(0))
    kept = case(here.copy(), value.copy(), exp.null())

    def over(function: exp.Expr, start: str, end: str) -> exp.Expr:
        order = exp.Order(expressions=[exp.Ordered(this=value.copy())])
        side = {"UNBOUNDED": "PRECEDING"}.get(start)
        spec = exp.WindowSpec(kind="ROWS", start=start, start_side=side, end=end,
                              end_side={"UNBOUNDED": "FOLLOWING"}.get(end))  # fmt: skip
        return exp.Window(this=function, order=order, spec=spec)

    marked = select(
        value.copy(), column("low"), column("high"), taken.as_(SHOWN, quoted=True),
        over(add_up(taken.copy()), "UNBOUNDED", "CURRENT ROW").as_("#upto", quoted=True),
        over(exp.Count(this=exp.Star()), "UNBOUNDED", "CURRENT ROW").as_("#rank", quoted=True),
        over(exp.Min(this=kept), "CURRENT ROW", "UNBOUNDED").as_("#next", quoted=True),
        over(exp.Max(this=kept.copy()), "UNBOUNDED", "CURRENT ROW").as_("#last", quoted=True),
    ).from_(exp.to_table(WINDOWS))  # fmt: skip

    def within(name: str, own: exp.Expr) -> exp.Expr:
        return column(name, "h") - column(name, "l") + own

    hits = within("#upto", column(SHOWN, "l"))
    found = select(
        column("value", "m"),
        column(SHOWN, "m"),
        hits.as_(HITS, quoted=True),
        within("#rank", number(1)).as_(TOTAL, quoted=True),
    )
    for factor in factors:
        told = {THERE: hits.copy(), LEAST: column("#next", "l"), MOST: column("#last", "h")}
        found = found.select(
            *(part.as_(factor.title(title), quoted=True) for title, part in told.items())
        )
    found = found.from_(named_table(MARKED, "m"))
    for alias, end in (("l", "low"), ("h", "high")):
        on = column(end, "m").eq(column("value", alias))
        found = found.join(named_table(MARKED, alias), on=on)
    return marked, found.where(exp.GT(this=exp.Paren(this=hits.copy()), expression=number(0)))


def tabulate_taken(
    windows: pl.DataFrame, about: exp.Expr | None, keys: Sequence[Term], factors: Sequence[Factor]
) -> pl.DataFrame:
    """Tabulate what is taken of every window that has some of it, per group of the number."""
    values = windows["value"]
    low, high = (values.search_sorted(windows[end]).to_numpy().astype(np.int64)
                 for end in ("low", "high"))  # fmt: skip
    meant = evaluate([] if about is None else [about], values)
    terms = [evaluate_term(factor.expression, values) for factor in factors]
    groups = pl.DataFrame([evaluate_term(key.expression, values).alias(f"#v {key.name}")
                           for key in keys])  # fmt: skip
    group = np.zeros(len(values), dtype=np.int64)
    if keys:
        group = groups.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy() - 1
    count = int(group.max(initial=0)) + 1
    if count * len(values) > 10 * MOST_CELLS:
        raise QueryError(
            f"There are {count:,} groups of {len(values):,} swapped numbers to look at.",
            hint="Group by ranges of the number.",
        )
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(count + 1))
    frames = []
    for one in range(count):
        members = order[ends[one] : ends[one + 1]]
        at = members[meant[members]]
        first, beyond = np.searchsorted(at, low), np.searchsorted(at, high, side="right")
        met = np.flatnonzero(beyond > first)
        first, beyond = first[met], beyond[met]
        made = {
            "value": values.gather(met),
            SHOWN: np.isin(met, at).astype(np.int64),
            HITS: beyond - first,
            TOTAL: high[met] - low[met] + 1,
        }
        for factor, term in zip(factors, terms, strict=True):
            made |= _tell(factor, term.gather(at), first, beyond)
        if keys:
            made |= {c.name: c.gather(np.repeat(members[0], len(met))) for c in groups}
        frames.append(pl.DataFrame(made))
    return pl.concat(frames)


def _tell(factor: Factor, term: pl.Series, first: Ints, beyond: Ints) -> dict[str, pl.Series]:
    """Tell of what a term is at some numbers: how often it is, its extremes, between places."""
    listed = term.drop_nulls().unique().sort()
    codes = listed.search_sorted(term.fill_null(strategy="forward")) if len(listed) else None
    absent = term.is_null().to_numpy()
    there = np.concatenate([[0], np.cumsum(~absent)])
    some = there[beyond] - there[first]
    told = {THERE: pl.Series(some)}
    if codes is None:
        nothing = pl.Series([None], dtype=term.dtype).new_from_index(0, len(first))
        return {factor.title(part): told.get(part, nothing) for part in (THERE, LEAST, MOST)}
    code = codes.fill_null(0).to_numpy().astype(np.int64)
    none = pl.Series([None], dtype=term.dtype)
    for part, kind, outside in ((LEAST, np.minimum, len(listed) - 1), (MOST, np.maximum, 0)):
        outermost = find_extremes(np.where(absent, outside, code), first, beyond, kind)
        told[part] = listed.gather(outermost).zip_with(pl.Series(some > 0), none)
    return {factor.title(part): series for part, series in told.items()}


def find_extremes(numbers: Ints, first: Ints, beyond: Ints, kind: np.ufunc) -> Ints:
    """Find the extreme number of each of many runs, which have one at least.

    >>> find_extremes(np.array([3, 1, 4, 1, 5]), np.array([0, 2]), np.array([1, 5]), np.maximum)
    array([3, 5])
    """
    level = np.frexp((beyond - first).astype(float))[1] - 1  # of powers of 2 that fit into it
    found = np.zeros(len(first), dtype=np.int64)
    reach = numbers
    for power in range(int(level.max(initial=-1)) + 1):
        here = level == power
        found[here] = kind(reach[first[here]], reach[beyond[here] - 2**power])
        reach = kind(reach[: -(2**power)], reach[2**power :]) if len(reach) > 2**power else reach
    return found
