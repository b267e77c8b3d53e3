"""Pooling: what each of several releases answers, as the answer to one question about all.

Where people of two releases cannot be in one group, as they are grouped by the release, rows of
the answers stand one behind the other. Else groups that are the same are put together: counts and
sums are added up, the least of minima is taken, and an average is weighed by how many people each
release has. Releases are drawn one by one, so the squares of their standard errors are added up;
widths may all err to the same side, and are added up themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from sqlglot import exp, select

from discreet.sql.expressions import find_type
from discreet.sql.intervals import (
    Estimate,
    Known,
    at_least,
    lift,
    minus,
    multiply,
    over,
    plus,
    size,
    times,
    wrap,
)
from discreet.sql.query import ENDINGS, Aggregate, Query, Term
from discreet.sql.reading import refuse, show
from discreet.sql.settling import Settled, is_constant
from discreet.sql.trees import add_up, ascending, case, column, double, name_part, nothing, number
from discreet.sql.windows import bound_rows
from discreet.table.coarsening import is_coarse
from discreet.table.schema import Schema

PEOPLE = "#people"
"""How many people of a release a question is about."""
ROWS = "#parts"


@dataclass(frozen=True)
class Pool:
    """One question, and what it asks of each release that it is about."""

    query: Query
    schema: Schema
    by: str
    parts: Sequence[Settled]

    @property
    def is_apart(self) -> bool:
        """Whether no group can have people of two releases."""
        return all(
            any(is_constant(a) and is_constant(b) and a != b
                for a, b in zip(one.keys, other.keys, strict=True))
            for one, other in combinations(self.parts, 2)
        )  # fmt: skip

    def ask(self, part: Settled) -> Query:
        """Give the question that a release is asked."""
        keys = {term.name: term for term in map(_name_key, self.query.keys, part.keys)
                if not is_constant(term.expression)}  # fmt: skip
        aggregates: list[Aggregate] = []
        counts_people = bool(part.keys) and not keys
        for i, made in enumerate(part.aggregates):
            if made.term is not None and is_constant(made.term.expression):
                counts_people = True
                continue
            term = None if made.term is None else _name_term(made.term)
            aggregates.append(replace(made, term=term, alias=f"#a {i}"))
            if self._is_counted(made):
                aggregates.append(Aggregate("COUNT", term, f"#n {i}"))
        if counts_people:
            aggregates.append(Aggregate("COUNT", None, PEOPLE))
        condition = exp.and_(*(c.copy() for c in part.conditions)) if part.conditions else None
        return Query(tuple(aggregates), condition, tuple(keys.values()))

    def _is_counted(self, aggregate: Aggregate) -> bool:
        """Whether it matters how many people have what is aggregated."""
        return aggregate.function != "COUNT" and not self.is_apart

    def put_together(self, trees: Sequence[exp.Select]) -> exp.Select:
        """Make one answer of what releases answer."""
        if not trees:
            return self._answer_nobody()
        rows: exp.Query = self._open(self.parts[0], trees[0])
        for part, tree in zip(self.parts[1:], trees[1:], strict=True):
            rows = exp.union(rows, self._open(part, tree), distinct=False, copy=False)
        keys = [column(name) for name in self.query.group_by]
        source: exp.Expr = rows.subquery(exp.to_identifier(ROWS, quoted=True), copy=False)
        if self.is_apart:
            shown = [column(name) for a in self.query.aggregates for name in a.names]
            made = select(*keys, *shown).from_(source, copy=False)
        else:
            made = self._pool(keys, source)
        return made.order_by(*ascending(*keys), copy=False) if keys else made

    def _answer_nobody(self) -> exp.Select:
        """Say what is known of people of no release."""
        keys = [exp.cast(exp.null(), find_type(key.expression, self.schema)).as_(
                    key.name, quoted=True) for key in self.query.keys]  # fmt: skip
        none = [name_part(double(number(0)) if a.function == "COUNT" else nothing(), name)
                for a in self.query.aggregates for name in a.names]  # fmt: skip
        made = select(*keys, *none)
        return made.where(exp.false()) if keys else made

    def _open(self, part: Settled, tree: exp.Select) -> exp.Select:
        """Give the rows that a release answers their places among those of others."""
        made: list[exp.Expr] = []
        asked = False
        for key, settled in zip(self.query.keys, part.keys, strict=True):
            value: exp.Expr = column(_name_key(key, settled).name)
            if is_constant(settled):
                value = exp.cast(settled.copy(), find_type(key.expression, self.schema))
            else:
                asked = True
            made.append(name_part(value, key.name))
        for i, (own, aggregate) in enumerate(
            zip(part.aggregates, self.query.aggregates, strict=True)
        ):
            values, counts = _read(f"#a {i}"), _read(f"#n {i}")
            if own.term is not None and is_constant(own.term.expression):
                assert aggregate.term is not None
                kind = find_type(aggregate.term.expression, self.schema)
                values, counts = _repeat(own, own.term.expression, kind)
            names = zip(values.parts, aggregate.names, strict=True)
            made += [name_part(value, name) for value, name in names]
            if self._is_counted(aggregate):
                made += [name_part(value, f"#n {i}{ending}")
                         for value, ending in zip(counts.parts, ENDINGS, strict=True)]  # fmt: skip
        rows = select(*made).from_(tree.subquery(exp.to_identifier("#own", quoted=True)))
        some = exp.GTE(this=column(f"{PEOPLE}_high"), expression=number(1))
        return rows.where(some, copy=False) if part.keys and not asked else rows

    def _pool(self, keys: list[exp.Column], source: exp.Expr) -> exp.Select:
        """Put groups together that several releases have."""
        weighed: list[exp.Expr] = []
        shown: list[exp.Expr] = []
        for i, aggregate in enumerate(self.query.aggregates):
            own = _Pooled(_read(aggregate.alias), _read(f"#n {i}"), f"#w {i}")
            if aggregate.function == "QUANTILE":
                assert aggregate.term is not None
                of = aggregate.term
                raise refuse(
                    of.expression,
                    f"a quantile of {of.name if of.is_plain else show(of.expression)} cannot be "
                    "told of several releases together",
                    f"Add GROUP BY {self.by}, or ask one of them: WHERE {self.by} = ….",
                )  # fmt: skip
            if aggregate.function == "AVG":
                weighed += own.weigh(keys)
                value = own.average()
            else:
                coarse = aggregate.term is not None and any(
                    is_coarse(self.schema[name]) for name in aggregate.columns)  # fmt: skip
                value = own.bound(aggregate.function, is_told=not coarse)
            shown += [name_part(part, name)
                      for part, name in zip(value.parts, aggregate.names, strict=True)]  # fmt: skip
        if weighed:
            layer = select(exp.Star(), *weighed).from_(source, copy=False)
            source = layer.subquery(exp.to_identifier("#weighed", quoted=True), copy=False)
        made = select(*keys, *shown).from_(source, copy=False)
        return made.group_by(*(key.copy() for key in keys), copy=False) if keys else made


@dataclass(frozen=True)
class _Pooled:
    """An aggregate of several releases, a row each, with how many people have a number."""

    value: Estimate
    people: Estimate
    title: str

    @property
    def possible(self) -> exp.Expr:
        return exp.GTE(this=self.people.high.copy(), expression=number(1))

    @property
    def widths(self) -> tuple[exp.Expr, exp.Expr]:
        """What is exact cannot be wrong, also where no width is told."""
        found = (
            case(exp.and_(v.width.copy().is_(exp.null()), v.low.copy().eq(v.high.copy())),
                 double(number(0)), v.width.copy())
            for v in (self.value, self.people)
        )  # fmt: skip
        return next(found), next(found)

    def bound(self, function: str, *, is_told: bool) -> Estimate:
        """Add up counts or sums, or find the outermost number."""
        counts = function == "COUNT"  # of which there always is a number, in every row
        there = exp.true() if counts else at_least(self.people, 1)
        squares = times(self.value.stderr, self.value.stderr)
        rows = replace(self.value, stderr=squares, width=self.widths[0], there=there,
                       is_told=is_told)  # fmt: skip
        name = "SUM" if counts else function
        found = bound_rows(name, rows, uncertain=False, over=lambda tree: tree)
        return self._finish(replace(found, stderr=exp.Sqrt(this=found.stderr)))

    def weigh(self, keys: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Compute, per row, what is needed for an average over rows.

        It is largest where those releases have as many people as they may whose average can be
        above it, and the others as few: which these are is tried, from the largest on.
        """

        def add_up_to(part: exp.Expr, order: exp.Expr | None, *, falls: bool = False) -> exp.Expr:
            made = exp.Window(this=add_up(part), partition_by=[key.copy() for key in keys])
            if order is not None:  # with all that are equal
                ordered = exp.Ordered(this=order.copy(), desc=falls)
                made.set("order", exp.Order(expressions=[ordered]))
            return made

        def outermost(end: exp.Expr, *, falls: bool) -> exp.Expr:
            more, least = minus(self.people.high, self.people.low), self.people.low
            total, count = (
                plus(add_up_to(times(double(more), weight), end, falls=falls),
                     add_up_to(times(double(least), weight), None))
                for weight in (end, number(1))
            )  # fmt: skip
            return over(total, count)

        counted = case(self.value.value.copy().is_(exp.null()), nothing(),
                       double(self.people.value))  # fmt: skip
        total = add_up_to(times(counted, self.value.value), None)
        parts = {
            "mean": over(total, add_up_to(counted.copy(), None)),
            "low": outermost(self.value.low, falls=False),
            "high": outermost(self.value.high, falls=True),
        }
        return [name_part(part, f"{self.title} {name}") for name, part in parts.items()]

    def average(self) -> Estimate:
        """Average over all people of all rows."""
        mean, low, high = (column(f"{self.title} {name}") for name in ("mean", "low", "high"))
        people = add_up(double(self.people.value))
        apart = size(minus(self.value.value, mean))
        errors = [
            plus(times(double(self.people.value), own), times(apart, count))
            for own, count in ((self.value.stderr, self.people.stderr), self.widths)
        ]
        stderr, width = (self._close(e, add_up(part)) for e, part in zip(
            errors, (times(errors[0], errors[0]), errors[1]), strict=True))  # fmt: skip
        return self._finish(Estimate(
            exp.Max(this=mean),
            self._close(self.value.low, exp.Min(this=low)),
            self._close(self.value.high, exp.Max(this=high)),
            over(exp.Sqrt(this=stderr), people), over(width, people),
        ))  # fmt: skip

    def _close(self, part: exp.Expr, found: exp.Expr) -> exp.Expr:
        """Nothing where somebody may have a number of which this is not known."""
        gap = exp.and_(self.possible, wrap(part.copy()).is_(exp.null()))
        some = exp.Max(this=case(gap, number(1), number(0)))
        return case(exp.EQ(this=some, expression=number(1)), nothing(), found)

    def _finish(self, found: Estimate) -> Estimate:
        """Keep the estimate between its bounds; where no release tells a width, none is told."""
        below = exp.LT(this=wrap(found.value), expression=wrap(found.low))
        above = exp.GT(this=wrap(found.value), expression=wrap(found.high))
        held = case(below, found.low, case(above, found.high, found.value))
        told = exp.GT(this=exp.Count(this=self.value.width.copy()), expression=number(0))
        return replace(found, value=held, width=case(told, found.width, nothing()))


def _read(name: str) -> Estimate:
    return Estimate(*(column(name + ending) for ending in ENDINGS))


def _name_key(key: Term, settled: exp.Expr) -> Term:
    return _name_term(Term(key.name, settled))


def _name_term(term: Term) -> Term:
    """Call an attribute by its own name, whatever it was part of."""
    expression = term.expression
    return Term(expression.name, expression) if isinstance(expression, exp.Column) else term


def _repeat(aggregate: Aggregate, constant: exp.Expr, kind: str) -> tuple[Estimate, Estimate]:
    """Aggregate a constant of the people of a release; give how many have it, too."""
    people, zero = _read(PEOPLE), double(number(0))
    if isinstance(constant, exp.Null):
        none = _fill(number(0), zero)
        return (none if aggregate.function == "COUNT" else _fill(nothing(), nothing())), none
    if aggregate.function == "COUNT":
        return people, people
    value = exp.cast(constant.copy(), kind)
    found = _fill(value, zero)
    if aggregate.function == "SUM":
        found = multiply(people, lift(Known(value)))
    some = exp.GTE(this=people.high, expression=number(1))
    return Estimate(*(case(some.copy(), part, exp.null()) for part in found.parts)), people


def _fill(value: exp.Expr, error: exp.Expr) -> Estimate:
    return Estimate(value, value, value, error, error)
