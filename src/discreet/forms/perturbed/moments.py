"""What numbers drawn at random add to a question, on average over all there are to draw from.

Per group of the number that is asked for, and per term: how often it is there, its mean and that
of its square, nothing counting as 0; and its least and its largest. Of numbers as they are by
arithmetic on runs; else they are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from sqlglot import exp

from discreet.errors import QueryError, StoreError
from discreet.forms.perturbed.randomized_response import RandomizedResponse
from discreet.release import Release
from discreet.release.cells import MOST_CELLS, write_positions
from discreet.release.labels import Labels
from discreet.release.selection import find_positions
from discreet.sql.blurred import Factor
from discreet.sql.query import Term
from discreet.sql.selection import evaluate, evaluate_term, select_values
from discreet.table.schema import Attribute

GROUP = "#group"
MOMENTS = ("#m0", "#m1", "#m2")
LOW, HIGH = "#low", "#high"


class PerturbedTerm(NamedTuple):
    """A term as the product of something exact and of something of the perturbed number."""

    name: str
    known: exp.Expr | None = None
    factor: Factor | None = None
    functions: frozenset[str] = frozenset(["COUNT"])

    def title(self, of: str) -> str:
        """The column that tells something of it."""
        return f"{of} {self.name}"

    @property
    def is_plain(self) -> bool:
        """Whether the number counts as it is, or not at all."""
        return self.factor is None or isinstance(self.factor.expression, exp.Column)

    @property
    def is_summed(self) -> bool:
        """Whether it is added up."""
        return bool(self.functions & {"SUM", "AVG"})

    @property
    def is_ranked(self) -> bool:
        """Whether a quantile of the number is asked for."""
        return self.factor is not None and "QUANTILE" in self.functions


class DrawnMoments(NamedTuple):
    """What is known of numbers drawn."""

    moments: pl.DataFrame
    """A row, or one per group of the number."""
    partial: set[str]
    """Names of parts that are not there for every number."""
    shown: pl.DataFrame | None
    """Per number shown its group, and what share of all is at or below it by quantiles asked."""


def draw_moments(
    release: Release, about: exp.Expr | None, keys: Sequence[Term], parts: Sequence[PerturbedTerm]
) -> DrawnMoments:
    """Tabulate what numbers drawn add to parts of a question that takes some of them."""
    (name,) = release.schema.sensitive
    response, attribute = RandomizedResponse.read(release), release.schema[name]
    if keys or not all(part.is_plain and not part.is_ranked for part in parts):
        return _look_at_all(release, response, attribute, about, keys, parts)
    low, high = response.everything
    every = Labels(attribute, ["*"], None, low, high, np.zeros(1, dtype=bool))
    drawn = response.draw(select_values(every, [] if about is None else [about]))
    unit = 10 ** (attribute.decimals or 0)
    row: dict[str, float | None] = {}
    for part in parts:
        powers = drawn.moments if part.factor is not None else (drawn.moments[0],) * 3
        scale = unit if part.factor is not None else 1
        ends = (drawn.low, drawn.high) if part.factor is not None else (
            (None, None) if drawn.low is None else (1, 1))  # fmt: skip
        row |= {part.title(m): x / scale**i for i, (m, x) in
                enumerate(zip(MOMENTS, powers, strict=True))}  # fmt: skip
        row |= {part.title(end): None if at is None else at / scale
                for end, at in zip((LOW, HIGH), ends, strict=True)}  # fmt: skip
    frame = pl.DataFrame(row, schema_overrides=dict.fromkeys(row, pl.Float64))
    partial = {part.name for part in parts} if drawn.moments[0] < 1 else set()
    return DrawnMoments(frame, partial, None)


def _look_at_all(
    release: Release,
    response: RandomizedResponse,
    attribute: Attribute,
    about: exp.Expr | None,
    keys: Sequence[Term],
    parts: Sequence[PerturbedTerm],
) -> DrawnMoments:
    if response.size > MOST_CELLS:
        raise QueryError(
            f"{attribute.name!r} has {response.size:,} numbers to look at one by one.",
            hint=f"Aggregate {attribute.name!r} itself, and select by it instead of grouping.",
        )
    values = write_positions(response.low + response.step * np.arange(response.size), attribute)
    meant = pl.Series(evaluate([] if about is None else [about], values))
    groups = pl.DataFrame([evaluate_term(key.expression, values).alias(f"#v {key.name}")
                           for key in keys])  # fmt: skip
    group = np.zeros(response.size, dtype=np.int64)
    if keys:
        group = groups.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy() - 1
    frame = pl.DataFrame({GROUP: group.astype(np.int64), **{c.name: c for c in groups}})
    told: list[pl.Expr] = [pl.first(c.name) for c in groups]
    size = float(response.size)
    for part in parts:
        term = (
            pl.Series(np.ones(response.size))
            if part.factor is None
            else evaluate_term(part.factor.expression, values)
        )
        kept = term.zip_with(meant, pl.Series([None], dtype=term.dtype))
        if not term.dtype.is_numeric():  # it is counted only
            kept = kept.is_not_null().cast(pl.Float64).replace(0.0, None)
        frame = frame.with_columns(kept.cast(pl.Float64).alias(part.name))
        x = pl.col(part.name)
        sums = (x.count(), x.sum(), (x * x).sum())
        told += [(total / size).alias(part.title(m)) for m, total in
                 zip(MOMENTS, sums, strict=True)]  # fmt: skip
        told += [x.min().alias(part.title(LOW)), x.max().alias(part.title(HIGH))]
    moments = frame.group_by(GROUP, maintain_order=True).agg(*told)
    if keys:  # those of which nothing is taken are nobody's
        taken = frame.filter(meant)[GROUP].unique()
        moments = moments.filter(pl.col(GROUP).is_in(taken.implode()))
    partial = {part.name for part in parts if (moments[part.title(MOMENTS[0])] < 1).any()}
    ranked = [part for part in parts if part.is_ranked]
    if not keys:
        moments = moments.drop(GROUP)
    shown = _rank_shown(release, response, attribute, frame, ranked) if keys or ranked else None
    return DrawnMoments(moments, partial, shown)


def _rank_shown(
    release: Release,
    response: RandomizedResponse,
    attribute: Attribute,
    frame: pl.DataFrame,
    ranked: Sequence[PerturbedTerm],
) -> pl.DataFrame:
    """Give the group of every number shown; and the share of all that are at or below it there."""
    values = release.tables["perturbed"][attribute.name].unique()
    place = (find_positions(values, attribute) - response.low) // response.step
    if not ((place >= 0) & (place < response.size)).all():
        raise StoreError(f"A number of {attribute.name!r} is outside of its domain.")
    for part in ranked:
        counts = frame.group_by(GROUP, part.name).len().drop_nulls().sort(part.name)
        upto = (pl.col("len").cum_sum().over(GROUP) / response.size).alias(part.title("#upto"))
        frame = frame.join(counts.with_columns(upto).drop("len"), on=[GROUP, part.name],
                           how="left", maintain_order="left")  # fmt: skip
    titles = [c for part in ranked for c in (part.name, part.title("#upto"))]
    found = frame.select(GROUP, *titles)[place]
    named = {part.name: part.title("#at") for part in ranked}
    return found.rename(named).with_columns(values.alias("value"))
