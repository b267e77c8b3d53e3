"""Aggregates: what analysts aggregate, put together from what forms are asked.

COUNT, SUM, AVG, MIN, MAX and quantiles are questions to forms. What is filtered, or chosen by CASE
from several attributes, is a question with more conditions; spread and correlation follow from sums
of products; and values are told apart by grouping people by them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from discreet.errors import QueryError
from discreet.sql import intervals
from discreet.sql.intervals import Estimate, Known, at_least, least, lift, most, over, times, wrap
from discreet.sql.query import find_columns
from discreet.sql.reading import refuse, show
from discreet.sql.trees import case, double, nothing, number

FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "COUNT", exp.Sum: "SUM", exp.Avg: "AVG", exp.Min: "MIN", exp.Max: "MAX"
}  # fmt: skip
SPREADS: dict[type[exp.Expr], tuple[bool, bool]] = {
    exp.Variance: (True, False), exp.VariancePop: (False, False),
    exp.Stddev: (True, True), exp.StddevSamp: (True, True), exp.StddevPop: (False, True),
}  # fmt: skip
"""Whether each is of a sample, and whether it is a root."""
PAIRED = (exp.Corr, exp.CovarPop, exp.CovarSamp, exp.RegrSlope, exp.RegrIntercept, exp.RegrR2)
QUANTILES = (exp.Median, exp.Quantile, exp.ApproxQuantile, exp.PercentileCont, exp.PercentileDisc)
WHOLE = (exp.CountIf, exp.ApproxDistinct, exp.LogicalOr, exp.LogicalAnd)
CONSTANTS = (exp.Literal, exp.Boolean, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Cast,
             exp.DataType, exp.DataTypeParam)  # fmt: skip
"""What numbers that are written out are made of; they are never nothing."""
AGGREGATES = (*FUNCTIONS, *SPREADS, *PAIRED, *QUANTILES, *WHOLE, exp.AggFunc)


class Asks(Protocol):
    """Puts questions to a form, and gives where their answers will be."""

    def ask(
        self, function: str, argument: exp.Expr | None, where: list[exp.Expr],
        share: Fraction | None = None,
    ) -> Estimate:  # fmt: skip
        """Ask for an aggregate of the people that further conditions select."""

    def count_distinct(self, argument: exp.Expr, where: list[exp.Expr]) -> Estimate:
        """Ask how many values there are."""

    def see(self, argument: exp.Expr | None, where: list[exp.Expr]) -> exp.Expr | None:
        """Say when somebody surely has a number; ``None`` if that is not asked."""

    def hold(self, value: Estimate) -> Estimate:
        """Compute an estimate where what uses it can read it."""


def read_aggregate(node: exp.Expr, asks: Asks, where: list[exp.Expr]) -> Estimate:
    """Say what an aggregate of people is, in terms of questions to a form."""
    if isinstance(node, exp.Filter):
        return read_aggregate(node.this, asks, [*where, node.expression.this])
    if isinstance(node, exp.WithinGroup):
        return _read_within(node, asks, where)
    if isinstance(node, exp.CountIf):  # of nobody it is nothing
        _refuse_different(node, node.this)
        return replace(asks.ask("COUNT", None, [*where, node.this]), there=asks.see(None, where))
    if isinstance(node, exp.ApproxDistinct):
        return asks.count_distinct(node.this, where)
    if isinstance(node, exp.LogicalOr | exp.LogicalAnd):
        raise refuse(node, f"{show(node)} cannot be told", "Count instead: COUNT_IF(…).")
    if isinstance(node, QUANTILES):
        return _read_quantile(node, asks, where)
    if type(node) in SPREADS:
        _refuse_different(node, node.this)
        return _spread(node.this, asks, where, *SPREADS[type(node)])
    if isinstance(node, PAIRED):
        _refuse_different(node, node.this, node.expression)
        return _read_pair(node, asks, where)
    function = FUNCTIONS.get(type(node))
    if function is None:
        raise refuse(
            node, f"{show(node)} is not an aggregate discreet knows",
            "Use COUNT, SUM, AVG, MIN, MAX, MEDIAN, QUANTILE_CONT, STDDEV, VARIANCE, CORR.",
        )  # fmt: skip
    if any(part for name, part in node.args.items() if name not in ("this", "big_int")):
        raise refuse(node, f"{function} takes one column")
    return _read_plain(node, function, asks, where)


def _refuse_different(node: exp.Expr, *arguments: exp.Expr) -> None:
    if any(isinstance(argument, exp.Distinct) for argument in arguments):
        raise refuse(node, f"{show(node)} cannot be told: how often values occur is left out",
                     "Leave DISTINCT out.")  # fmt: skip


def _read_plain(node: exp.Expr, function: str, asks: Asks, where: list[exp.Expr]) -> Estimate:
    argument = node.this
    if function == "COUNT" and (argument is None or isinstance(argument, exp.Star)):
        return asks.ask("COUNT", None, where)
    if isinstance(argument, exp.Distinct):
        return _read_distinct(node, function, asks, where)
    while isinstance(argument, exp.Paren):
        argument = argument.this
    if not find_columns(argument):
        return _repeat(argument, function, asks, where)
    if isinstance(argument, exp.If):
        argument = exp.case().when(argument.this.copy(), argument.args["true"].copy()).else_(
            (argument.args.get("false") or exp.null()).copy())  # fmt: skip
    several = isinstance(argument, exp.Case) and len(find_columns(argument)) > 1
    if several and argument.args.get("this") is None:
        return _part_case(argument, function, asks, where)
    return asks.ask(function, argument, where)


def _read_distinct(node: exp.Expr, function: str, asks: Asks, where: list[exp.Expr]) -> Estimate:
    told = node.this.expressions
    if function in ("MIN", "MAX"):  # it is the same
        return asks.ask(function, told[0], where)
    if function != "COUNT" or len(told) != 1 or isinstance(told[0], exp.Tuple):
        raise refuse(
            node, f"{show(node)} cannot be told", "Count the values of one attribute, or of one "
            "expression: COUNT(DISTINCT age).",
        )  # fmt: skip
    return asks.count_distinct(told[0], where)


def _repeat(argument: exp.Expr, function: str, asks: Asks, where: list[exp.Expr]) -> Estimate:
    """Aggregate a constant: it is that as often as there are people."""
    odd = next((n for n in argument.walk() if not isinstance(n, CONSTANTS)), None)
    if odd is not None and not isinstance(argument, exp.Null):
        raise refuse(odd, f"{show(argument)} is no number that is written out", "Write it out.")
    count = asks.ask("COUNT", None, where)
    if function == "COUNT":
        return count if not isinstance(argument, exp.Null) else lift(Known(number(0)))
    value = lift(Known(argument))
    if function == "SUM":
        found = asks.hold(intervals.multiply(count, value))
        some = exp.GT(this=wrap(count.high), expression=number(0))
        parts = (case(some.copy(), part, exp.null()) for part in found.parts)
        return Estimate(*parts, there=at_least(count, 1), is_told=True)
    return replace(value, there=at_least(count, 1))


def _part_case(argument: exp.Case, function: str, asks: Asks, where: list[exp.Expr]) -> Estimate:
    """Ask for every branch of a CASE by itself: who is in it is a condition."""
    parts: list[tuple[exp.Expr, list[exp.Expr]]] = []
    before: list[exp.Expr] = []
    for branch in argument.args["ifs"]:
        parts.append((branch.args["true"], [*before, branch.this]))
        before = [*before, _otherwise(branch.this)]
    last = argument.args.get("default")
    if last is not None and not isinstance(last, exp.Null):
        parts.append((last, before))
    if function in ("MIN", "MAX") and len(parts) > 1:
        raise refuse(
            argument, f"{function} of a CASE that ties several attributes cannot be told",
            "Ask once for each branch, with FILTER (WHERE …).",
        )  # fmt: skip
    kind = {name: kind for kind, name in FUNCTIONS.items()}[function]

    def each(wanted: type[exp.Expr]) -> list[Estimate]:
        return [read_aggregate(wanted(this=then.copy()), asks, [*where, *meant])
                for then, meant in parts]  # fmt: skip

    if function == "AVG":
        sums = [_or_zero(part, asks) for part in each(exp.Sum)]
        counts = each(exp.Count)
        total, people = _add_all(sums), _add_all(counts)
        return asks.hold(intervals.divide(asks.hold(total), asks.hold(people)))
    found = each(kind)
    if function in ("MIN", "MAX"):
        return found[0]
    zero = function == "COUNT" or any(then.is_number for then, _ in parts)
    total = _add_all([_or_zero(part, asks) if zero or len(found) > 1 else part for part in found])
    there: exp.Expr | None = exp.true()
    if function != "COUNT":
        whole = argument.args.get("default")
        some = [part.there for part in found if part.there is not None]
        there = exp.or_(*(exp.Paren(this=one.copy()) for one in some)) if some else None
        if whole is not None and whole.is_number:
            there = asks.see(None, where)
    return asks.hold(replace(total, there=there))


def _otherwise(condition: exp.Expr) -> exp.Expr:
    """Who is not in a branch: also those of whom it is not known."""
    return exp.not_(exp.func("COALESCE", exp.Paren(this=condition.copy()), exp.false()))


def _or_zero(value: Estimate, asks: Asks) -> Estimate:
    """Take nothing for zero: surely where nobody can have a number, perhaps where somebody may."""
    unseen, gone = wrap(value.value).is_(exp.null()), intervals.find_gone(value)
    surely = exp.not_(unseen) if value.there is None else value.there
    low, high = (
        case(gone, number(0), case(surely, end, outermost(end, number(0))))
        for end, outermost in ((value.low, least), (value.high, most))
    )
    errors = (case(gone, number(0), error) for error in (value.stderr, value.width))
    found = case(unseen, number(0), value.value)
    return asks.hold(Estimate(found, low, high, *errors, there=exp.true()))


def _add_all(parts: list[Estimate]) -> Estimate:
    total = parts[0]
    for part in parts[1:]:
        total = intervals.add(total, part)
    return total


def _read_quantile(node: exp.Expr, asks: Asks, where: list[exp.Expr]) -> Estimate:
    if not isinstance(node, exp.Median | exp.PercentileCont):
        raise _refuse_discrete(node)
    _refuse_different(node, node.this)
    written = node.args.get("expression")
    share = Fraction(1, 2) if isinstance(node, exp.Median) else _read_share(node, written)
    return asks.ask("QUANTILE", node.this, where, share)


def _read_within(node: exp.WithinGroup, asks: Asks, where: list[exp.Expr]) -> Estimate:
    ordered = node.expression.expressions
    if isinstance(node.this, exp.PercentileDisc):
        raise _refuse_discrete(node)
    if not isinstance(node.this, exp.PercentileCont) or len(ordered) != 1:
        raise refuse(node, f"{show(node)} is not an aggregate discreet knows",
                     "Write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age).")  # fmt: skip
    share = _read_share(node, node.this.this)
    share = 1 - share if ordered[0].args.get("desc") else share
    return asks.ask("QUANTILE", ordered[0].this, where, share)


def _refuse_discrete(node: exp.Expr) -> QueryError:
    return refuse(
        node, f"{show(node)}, a quantile that is one of the values, cannot be told",
        "Use MEDIAN or QUANTILE_CONT, which lie between two of them.",
    )  # fmt: skip


def _read_share(node: exp.Expr, written: exp.Expr | None) -> Fraction:
    try:
        share = Fraction(written.name) if written is not None and written.is_number else None
    except ValueError:
        share = None
    if share is None or not 0 <= share <= 1:
        raise refuse(node, f"{show(node)}: the share is no number from 0 to 1", "Write 0.9.")
    return share


def _spread(
    argument: exp.Expr, asks: Asks, where: list[exp.Expr], sample: bool, root: bool
) -> Estimate:
    """Variance: the mean of squares less the square of the mean, and never beyond (range/2)²."""
    squared = exp.Mul(
        this=exp.Paren(this=argument.copy()), expression=exp.Paren(this=argument.copy())
    )
    squares, mean = asks.ask("AVG", squared, where), asks.ask("AVG", argument, where)
    first, last = asks.ask("MIN", argument, where), asks.ask("MAX", argument, where)
    people = asks.ask("COUNT", argument, where)
    square = asks.hold(intervals.magnitude(mean))
    square = asks.hold(intervals.multiply(square, square))
    found = asks.hold(intervals.subtract(squares, square))
    span = over(intervals.minus(last.high, first.low), number(2))
    widest = times(span, span)
    high = _cap(found.high.copy(), widest)
    zero = double(number(0))
    none = wrap(found.value).is_(exp.null())
    found = asks.hold(Estimate(
        case(none.copy(), nothing(), _cap(most(found.value, zero), high.copy())),
        case(none.copy(), nothing(), most(exp.func("COALESCE", found.low.copy(), zero), zero)),
        case(none.copy(), nothing(), high), found.stderr, found.width, there=mean.there,
    ))  # fmt: skip
    if sample:
        found = asks.hold(_of_sample(found, people))
    if not root:
        return found
    rooted = intervals.map_ends(found, lambda end: exp.Sqrt(this=end))
    return asks.hold(replace(rooted, there=found.there))


def _cap(value: exp.Expr, cap: exp.Expr) -> exp.Expr:
    """The lesser of two numbers; one of them may be nothing."""
    return exp.Least(this=value, expressions=[cap], ignore_nulls=True)


def _of_sample(found: Estimate, people: Estimate) -> Estimate:
    """Divide by n - 1: of one person there is none."""

    def factor(n: exp.Expr) -> exp.Expr:
        held = exp.Greatest(this=double(n.copy()), expressions=[double(number(2))])
        return over(held, intervals.minus(held, number(1)))

    alone = exp.LTE(this=wrap(people.high), expression=number(1))
    one = exp.LTE(this=wrap(people.value), expression=number(1))
    value = times(found.value, factor(people.value))
    low, high = times(found.low, factor(people.high)), times(found.high, factor(people.low))
    errors = [times(e, factor(people.value)) for e in (found.stderr, found.width)]
    parts = [case(one, nothing(), value), low, high, *errors]
    held = (case(alone.copy(), nothing(), part) for part in parts)
    return Estimate(*held, there=at_least(people, 2))


def _read_pair(node: exp.Expr, asks: Asks, where: list[exp.Expr]) -> Estimate:
    """Covariance, and what follows from it, of people who have both values."""
    y, x = node.this, node.expression
    there = [exp.not_(exp.Paren(this=side.copy()).is_(exp.null())) for side in (x, y)]
    meant = [*where, *(part for side, part in zip((x, y), there, strict=True)
                       if find_columns(side))]  # fmt: skip

    def mean(*factors: exp.Expr) -> Estimate:
        first, *rest = (exp.Paren(this=factor.copy()) for factor in factors)
        product: exp.Expr = first
        for factor in rest:
            product = exp.Mul(this=product, expression=factor)
        return asks.ask("AVG", product, meant)

    mx, my = mean(x), mean(y)
    together = asks.hold(intervals.subtract(mean(x, y), asks.hold(intervals.multiply(mx, my))))
    if isinstance(node, exp.CovarPop):
        return together
    people = asks.ask("COUNT", None, meant)
    if isinstance(node, exp.CovarSamp):
        n = asks.hold(intervals.subtract(people, lift(Known(number(1)))))
        return asks.hold(intervals.multiply(together, asks.hold(intervals.divide(people, n))))
    vx = _spread(x, asks, meant, sample=False, root=False)
    if isinstance(node, exp.RegrSlope | exp.RegrIntercept):
        slope = asks.hold(intervals.divide(together, vx))
        if isinstance(node, exp.RegrSlope):
            return slope
        return asks.hold(intervals.subtract(my, asks.hold(intervals.multiply(slope, mx))))
    vy = _spread(y, asks, meant, sample=False, root=False)
    return asks.hold(_correlate(together, vx, vy, squared=isinstance(node, exp.RegrR2)))


def _correlate(together: Estimate, vx: Estimate, vy: Estimate, *, squared: bool) -> Estimate:
    """Correlation: it is known where all sums are, and else anything from -1 to 1."""
    roots = [exp.Sqrt(this=v.value.copy()) for v in (vx, vy)]
    found = over(together.value, times(*roots))
    if squared:
        found = times(found, found)
    ends = [number(0) if squared else exp.Neg(this=number(1)), number(1)]
    # from numbers that were drawn at random, what is expected may be beyond
    found = most(least(found, double(ends[1])), double(ends[0]))
    # sums of the same numbers in another order differ in the last digits
    near = exp.LTE(
        this=intervals.minus(together.high, together.low),
        expression=times(exp.Literal.number("0.000000001"), times(*roots)),
    )
    exact = exp.func("COALESCE", near, exp.false())
    low, high = (case(exact.copy(), found.copy(), double(end)) for end in ends)
    none = case(exact.copy(), double(number(0)), nothing())
    parts = [found, low, high, none, none.copy()]
    gone = wrap(found).is_(exp.null())
    return Estimate(*(case(gone.copy(), nothing(), part) for part in parts))


def find_aggregates(node: exp.Expr) -> list[exp.Expr]:
    """Give the outermost aggregates of an expression, each with its FILTER."""
    found: list[exp.Expr] = []

    def walk(inner: exp.Expr, window: bool) -> None:
        if isinstance(inner, exp.Query):
            return
        own = isinstance(inner, (exp.Filter, exp.WithinGroup, *AGGREGATES)) and not (
            window and not isinstance(inner, exp.Filter | exp.WithinGroup)
        )
        if own:
            found.append(inner)
            return
        for child in inner.iter_expressions():
            # of SUM(COUNT(*)) OVER () only COUNT(*) is of people
            walk(child, window=isinstance(inner, exp.Window) and child is inner.this)

    walk(node, window=False)
    return found


def refuse_alone(names: list[str]) -> QueryError:
    """Say that people's own rows are not told."""
    listed = ", ".join(names[:3]) or "rows"
    return QueryError(
        f"The question has no aggregate: {listed} of single people cannot be answered.",
        hint="Ask for COUNT(*), SUM, AVG, …, or GROUP BY what you want to see.",
    )
