"""Intervals: arithmetic with numbers that are estimated, as expressions of SQL.

An estimate has hard bounds, which travel by interval arithmetic, and errors, which travel by the
delta method. How errors of two numbers go together is not known in general, so they are added up:
that is never too little. A bound that is nothing is none, and everything that needs it has none.
Bounds are of the number, if there is one: of nobody there is no average.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.sql.query import ENDINGS
from discreet.sql.trees import case, double, name_part, nothing, number, own


@dataclass(frozen=True)
class Known:
    """What is certain: a key, a literal, a column of a table of one's own."""

    tree: exp.Expr
    order: tuple[str, ...] = ()
    """The values of an ordinal from low to high, if it is one."""

    @property
    def parts(self) -> list[exp.Expr]:
        """Itself, to be put into a statement."""
        return [self.tree]


@dataclass(frozen=True)
class Estimate:
    """A number with its bounds and errors."""

    value: exp.Expr
    low: exp.Expr
    high: exp.Expr
    stderr: exp.Expr
    width: exp.Expr
    there: exp.Expr | None = field(default=None, kw_only=True)
    """Under which condition there surely is a number; ``None`` if that is not known."""
    is_told: bool = field(default=False, kw_only=True)
    """Whether a form gave it as it is: where it is nothing, nobody can have a number."""

    @property
    def parts(self) -> list[exp.Expr]:
        """All five, to be put into a statement."""
        return [self.value, self.low, self.high, self.stderr, self.width]


@dataclass(frozen=True)
class Doubt:
    """A condition on what is estimated: what the estimates say, and whether it is sure or may be.

    Each is true or false, and never nothing.
    """

    value: exp.Expr
    sure: exp.Expr
    maybe: exp.Expr

    @property
    def is_known(self) -> bool:
        """Whether it is a condition on what is certain."""
        return self.value is self.sure


Value = Known | Estimate | Doubt


def name_value(value: Known | Estimate, name: str) -> list[exp.Expr]:
    """Give the parts of a value the names under which they are read."""
    return [name_part(part, name + ending)
            for part, ending in zip(value.parts, ENDINGS, strict=False)]  # fmt: skip


def wrap(expression: exp.Expr) -> exp.Expr:
    """Put into parentheses what is more than a name, a number or a call."""
    plain = (exp.Column, exp.Literal, exp.Paren, exp.Func, exp.Null, exp.Boolean, exp.Case)
    held = own(expression)
    return held if isinstance(held, plain) else exp.Paren(this=held)


def times(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """Multiply."""
    return exp.Mul(this=wrap(a), expression=wrap(b))


def plus(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """Add."""
    return exp.Add(this=wrap(a), expression=wrap(b))


def minus(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """Subtract."""
    return exp.Sub(this=wrap(a), expression=wrap(b))


def over(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """Divide; by nothing where that is zero."""
    divisor = exp.Nullif(this=double(b), expression=number(0))
    return exp.Div(this=double(a), expression=divisor)


def size(a: exp.Expr) -> exp.Expr:
    """A number without its sign."""
    return exp.Abs(this=own(a))


def least(*parts: exp.Expr) -> exp.Expr:
    """The least of some numbers; nothing where one is nothing, which engines would pass over."""
    return _outermost(exp.Least, parts)


def most(*parts: exp.Expr) -> exp.Expr:
    """The most of some numbers; nothing where one is nothing."""
    return _outermost(exp.Greatest, parts)


def _outermost(kind: type[exp.Expr], parts: Sequence[exp.Expr]) -> exp.Expr:
    first, *rest = parts
    gone = _find_nothing(parts)
    # what is nothing was asked for here: sqlglot would do so once more
    found = kind(this=own(first), expressions=[own(part) for part in rest], ignore_nulls=True)
    return case(gone, nothing(), found) if gone is not None else found


def _find_nothing(parts: Sequence[exp.Expr]) -> exp.Expr | None:
    """Say when one of some numbers is nothing: what it is computed from, if that is arithmetic."""
    left, asked = list(parts), dict[exp.Expr, None]()
    while left:
        part = left.pop()
        if isinstance(part, exp.Add | exp.Sub | exp.Mul):
            left += [part.this, part.expression]
        elif isinstance(part, exp.Paren | exp.Neg | exp.Abs):
            left.append(part.this)
        elif not part.is_number:
            asked[part] = None
    gone = [wrap(part.copy()).is_(exp.null()) for part in reversed(asked)]
    return exp.or_(*gone, copy=False) if gone else None


def all_there(*values: Estimate) -> exp.Expr | None:
    """Say when there surely are all of some numbers."""
    conditions = [value.there for value in values]
    if any(condition is None for condition in conditions):
        return None
    doubts = [condition for condition in conditions if not isinstance(condition, exp.Boolean)]
    told = list(dict.fromkeys(doubts))
    if not told:
        return exp.true()
    return exp.and_(*(own(condition) for condition in told if condition), copy=False)


def find_gone(value: Estimate) -> exp.Expr:
    """Say when there surely is no number: a form gives neither an estimate nor bounds.

    Of what was computed it is not known: what is divided by may be nothing by the estimates alone.
    """
    if not value.is_told:
        return exp.false()
    return exp.and_(*(wrap(part).is_(exp.null()) for part in value.parts[:3]))


def lift(value: Value) -> Estimate:
    """Take what is certain for an estimate without an error."""
    if isinstance(value, Estimate):
        return value
    assert isinstance(value, Known)
    tree = value.tree
    none = case(wrap(tree).is_(exp.null()), nothing(), double(number(0)))
    there = exp.true() if tree.is_number else exp.not_(wrap(tree).is_(exp.null()), copy=False)
    return Estimate(tree, tree, tree, none, none, there=there)


def map_ends(value: Estimate, function: Callable[[exp.Expr], exp.Expr]) -> Estimate:
    """Apply a function that never falls where its argument rises: to the ends as they are.

    What it makes of errors is not known, unless there are none.
    """
    found, low, high = (function(own(end)) for end in (value.value, value.low, value.high))
    none = case(wrap(value.low).eq(wrap(value.high)), double(number(0)), nothing())
    return Estimate(found, low, high, none, none.copy())


def shift(value: Estimate, function: Callable[[exp.Expr], exp.Expr]) -> Estimate:
    """Apply a function that never falls and leaves differences nearly as they are: rounding."""
    found, low, high = (function(own(end)) for end in (value.value, value.low, value.high))
    return Estimate(found, low, high, value.stderr, value.width, there=value.there)


def loosen(value: Estimate) -> Estimate:
    """Let bounds give way by what sums in another order differ by, before a step is taken."""

    def give(end: exp.Expr, to: type[exp.Expr]) -> exp.Expr:
        slack = times(size(double(end)), exp.Literal.number("0.00000000001"))
        return to(this=wrap(double(end)), expression=wrap(slack))

    low, high = give(value.low, exp.Sub), give(value.high, exp.Add)
    return replace(value, low=low, high=high)


def negate(a: Estimate) -> Estimate:
    """Change the sign."""
    value, low, high = (exp.Neg(this=wrap(end)) for end in (a.value, a.high, a.low))
    return Estimate(value, low, high, a.stderr, a.width, there=a.there)


def add(a: Estimate, b: Estimate) -> Estimate:
    """Add."""
    parts = (plus(x, y) for x, y in zip(a.parts, b.parts, strict=True))
    return Estimate(*parts, there=all_there(a, b))


def subtract(a: Estimate, b: Estimate) -> Estimate:
    """Subtract."""
    return add(a, negate(b))


def multiply(a: Estimate, b: Estimate) -> Estimate:
    """Multiply: the outermost of the products of the ends. A number by itself is never below 0."""
    if a.parts[:3] == b.parts[:3]:
        a = b = magnitude(a)
        ends = [times(a.low, a.low), times(a.high, a.high)]
    else:
        ends = [times(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    errors = [
        plus(times(size(a.value), y), times(size(b.value), x))
        for x, y in ((a.stderr, b.stderr), (a.width, b.width))
    ]
    there = all_there(a, b)
    return Estimate(times(a.value, b.value), least(*ends), most(*ends), *errors, there=there)


def divide(a: Estimate, b: Estimate) -> Estimate:
    """Divide: there are bounds where the divisor surely is not zero."""
    ends = [over(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    positive = exp.GT(this=wrap(b.low), expression=number(0))
    negative = exp.LT(this=wrap(b.high), expression=number(0))
    sure = exp.or_(positive, negative)
    ratio = over(a.value, b.value)
    errors = [
        over(plus(x, times(size(ratio), y)), size(b.value))
        for x, y in ((a.stderr, b.stderr), (a.width, b.width))
    ]
    low, high = (case(sure.copy(), end, nothing()) for end in (least(*ends), most(*ends)))
    there = all_there(a, b)
    there = None if there is None else exp.and_(there, settle(sure), copy=False)
    return Estimate(ratio, low, high, *errors, there=there)


def magnitude(a: Estimate) -> Estimate:
    """Drop the sign."""
    across = exp.and_(
        exp.LT(this=wrap(a.low), expression=number(0)),
        exp.GT(this=wrap(a.high), expression=number(0)),
    )
    low = case(across, number(0), least(size(a.low), size(a.high)))
    high = most(size(a.low), size(a.high))
    return Estimate(size(a.value), low, high, a.stderr, a.width, there=a.there)


def at_least(a: Estimate, least_: int) -> exp.Expr:
    """Say whether a number surely is as large."""
    return settle(exp.GTE(this=wrap(a.low), expression=number(least_)))


def settle(condition: exp.Expr) -> exp.Expr:
    """Take a condition that is nothing for false, as WHERE does."""
    return exp.func("COALESCE", condition.copy(), exp.false())


def know(condition: exp.Expr) -> Doubt:
    """A condition on what is certain."""
    held = settle(condition)
    return Doubt(held, held, held)


def compare(kind: type[exp.Expr], a: Estimate, b: Estimate, *, with_number: bool) -> Doubt:
    """Compare two values, of which one is estimated. Where a bound is none both may be.

    With no number nothing is true. Where one is a number that is written out, bounds of the other
    leave room for rounding; they may be days else.
    """
    if with_number:
        a, b = _blur(a), _blur(b)
    found = _compare(kind, a, b)
    there = all_there(a, b)
    sure = exp.false() if there is None else found.sure
    if there is not None and not isinstance(there, exp.Boolean):
        sure = exp.and_(exp.Paren(this=there.copy()), exp.paren(sure))
    return Doubt(found.value, sure, found.maybe)


def _blur(value: Estimate) -> Estimate:
    """Let bounds that are no whole numbers give way, as an engine may round them otherwise."""
    if value.low == value.high or value.low.is_number:
        return value
    loose = loosen(value)
    low, high = (
        case(exp.EQ(this=wrap(double(end)), expression=exp.Floor(this=double(end))), end, wide)
        for end, wide in ((value.low, loose.low), (value.high, loose.high))
    )
    return replace(value, low=low, high=high)


def _compare(kind: type[exp.Expr], a: Estimate, b: Estimate) -> Doubt:
    value = settle(kind(this=wrap(a.value), expression=wrap(b.value)))

    def sure(test: type[exp.Expr], x: exp.Expr, y: exp.Expr) -> exp.Expr:
        return settle(test(this=wrap(x), expression=wrap(y)))

    if kind in (exp.LT, exp.LTE):
        mirrored = _compare({exp.LT: exp.GT, exp.LTE: exp.GTE}[kind], b, a)
        return Doubt(value, mirrored.sure, mirrored.maybe)
    if kind in (exp.GT, exp.GTE):
        not_so = {exp.GT: exp.LTE, exp.GTE: exp.LT}[kind]
        return Doubt(value, sure(kind, a.low, b.high), exp.not_(sure(not_so, a.high, b.low)))
    apart = exp.paren(exp.or_(sure(exp.GT, a.low, b.high), sure(exp.LT, a.high, b.low)))
    fixed = ((a.low, a.high), (b.low, b.high), (a.low, b.low))
    same = exp.paren(exp.and_(*(sure(exp.EQ, x, y) for x, y in fixed)))
    if kind is exp.EQ:
        return Doubt(value, same, exp.not_(apart))
    return Doubt(value, apart, exp.not_(same))


def both(a: Doubt, b: Doubt) -> Doubt:
    """AND."""
    return _join(exp.and_, a, b)


def either(a: Doubt, b: Doubt) -> Doubt:
    """OR."""
    return _join(exp.or_, a, b)


def _join(connect: Callable[..., exp.Expr], a: Doubt, b: Doubt) -> Doubt:
    if a.is_known and b.is_known:
        held = connect(a.value.copy(), b.value.copy())
        return Doubt(held, held, held)
    pairs = ((a.value, b.value), (a.sure, b.sure), (a.maybe, b.maybe))
    return Doubt(*(connect(x.copy(), y.copy()) for x, y in pairs))
