"""Scopes: expressions over answers, some of whose columns are known and some estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlglot import exp, select

from discreet.errors import QueryError, name_closest
from discreet.sql import intervals
from discreet.sql.expressions import KNOWN, PORTABLE, spell_out_order
from discreet.sql.intervals import Doubt, Estimate, Known, Value, find_gone, lift, wrap
from discreet.sql.query import ENDINGS
from discreet.sql.reading import refuse, show
from discreet.sql.trees import case, column, double, name_part, nothing, number, own
from discreet.sql.windows import open_window

BINARY: dict[type[exp.Expr], Callable[[Estimate, Estimate], Estimate]] = {
    exp.Add: intervals.add, exp.Sub: intervals.subtract, exp.Mul: intervals.multiply,
    exp.Div: intervals.divide,
}  # fmt: skip
COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
OPPOSITE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ, exp.NEQ: exp.EQ, exp.GT: exp.LTE, exp.LTE: exp.GT, exp.LT: exp.GTE,
    exp.GTE: exp.LT,
}  # fmt: skip
RISING = (exp.Sqrt, exp.Exp, exp.Ln)
STEPS = (exp.Floor, exp.Ceil, exp.Trunc)
NUMBERS = ("INT", "BIGINT", "SMALLINT", "TINYINT", "HUGEINT")
FLOATS = ("DOUBLE", "FLOAT")
MOST_STEPS = 200
"""More steps of arithmetic between estimates are refused: engines would not end planning them."""


@dataclass
class Scope:
    """The columns that can be read of a relation, and what is computed on top of it."""

    source: exp.Expr
    """A table or a subquery."""
    columns: dict[tuple[str, str], Value]
    """Per alias of a source, in small letters, and name of a column."""
    uncertain: bool
    """Whether rows have flags that say if they are in the answer."""
    layers: list[list[exp.Expr]] = field(default_factory=list)
    below: int = 0
    """How many layers the source has, whose columns may be read."""

    def find(self, node: exp.Column) -> Value:
        """Find what a column stands for; the bounds of an estimate have names of their own."""
        table, name = node.table.lower(), node.name
        for fold in (str, str.lower):
            found = [value for (owner, known), value in self.columns.items()
                     if fold(known) == fold(name) and table in ("", owner)]  # fmt: skip
            if len(found) > 1:
                raise refuse(node, f"{name!r} is in several tables", "Write the table before it.")
            if found:
                return found[0]
        for ending, part in zip(ENDINGS[1:], ("low", "high", "stderr", "width"), strict=True):
            if name.endswith(ending):
                base = exp.column(name.removesuffix(ending), table=node.table or None)
                try:
                    value = self.find(base)
                except QueryError:  # the name as it was written is what is missing
                    continue
                if isinstance(value, Estimate):
                    return Known(getattr(value, part).copy())
        known = sorted({known for _, known in self.columns if not known.startswith("#")})
        raise refuse(node, f"there is no column {name!r} here", name_closest(name, known))

    def hold(self, value: Estimate) -> Estimate:
        """Compute an estimate in a layer below, so that what uses it often stays short."""
        if all(isinstance(part, exp.Column | exp.Literal | exp.Null) for part in value.parts):
            return value
        count = self.below + len(self.layers)
        names = [f"#t {count}{ending}" for ending in ENDINGS]
        self.layers.append(
            [name_part(part, name) for part, name in zip(value.parts, names, strict=True)]
        )
        if count >= MOST_STEPS:
            raise refuse(exp.null(), "there are too many steps of arithmetic", "Ask for less.")
        return Estimate(*(column(name) for name in names), there=value.there)

    def draw(self) -> exp.Select:
        """Give the relation with all layers, to select from.

        What does not build on one another is computed side by side: engines plan every level.
        """
        levels: list[list[exp.Expr]] = []
        levels_of: dict[str, int] = {}
        for layer in self.layers:
            used = {c.name for part in layer for c in part.find_all(exp.Column)}
            level = max((levels_of[name] + 1 for name in used & levels_of.keys()), default=0)
            levels += [[]] * (level == len(levels))
            levels[level] = [*levels[level], *layer]
            levels_of |= {part.alias: level for part in layer}
        tree = select().from_(own(self.source), copy=False)
        for i, level_parts in enumerate(levels):
            tree.select(exp.Star(), *map(own, level_parts), copy=False)
            alias = exp.to_identifier(f"#l {i}", quoted=True)
            tree = select().from_(tree.subquery(alias, copy=False), copy=False)
        return tree

    def compile(self, node: exp.Expr) -> Value:
        """Say what an expression stands for."""
        if isinstance(node, exp.Column):
            return self.find(node)
        if isinstance(node, exp.Paren):
            return self.compile(node.this)
        found = {id(c): self.find(c) for c in node.find_all(exp.Column)}
        if all(isinstance(value, Known) for value in found.values()) and not node.find(exp.Window):
            return self._know(node, found)
        if isinstance(node, (*COMPARISONS, exp.And, exp.Or, exp.Not, exp.Between, exp.In, exp.Is)):
            return self.decide(node)
        if isinstance(node, exp.Window):
            return open_window(self, node)
        return self.hold(self._estimate(node))

    def _know(self, node: exp.Expr, found: dict[int, Value]) -> Known:
        for inner in node.walk():
            if not isinstance(inner, (*PORTABLE, *KNOWN)):
                raise refuse(inner, f"{show(inner)!r} is nothing that discreet can read here")
        orders = {
            c.name: value.order for c in node.find_all(exp.Column)
            if isinstance(value := found[id(c)], Known) and value.order
        }  # fmt: skip
        if orders:
            held = exp.Paren(this=node.copy())
            spell_out_order(held, orders)
            node = held.this
            found = {id(c): self.find(c) for c in node.find_all(exp.Column)}

        def place(inner: exp.Expr) -> exp.Expr:
            value = found.get(id(inner))
            return value.tree.copy() if isinstance(value, Known) else inner

        return Known(_replace(node, place))

    def number(self, node: exp.Expr) -> Estimate:
        """Take an expression for an estimate, whatever it is."""
        value = self.compile(node)
        if isinstance(value, Doubt):
            raise refuse(node, f"{show(node)} is a condition on estimates, not a number")
        return lift(value)

    def _estimate(self, node: exp.Expr) -> Estimate:  # noqa: PLR0912  (a branch per function)
        if type(node) in BINARY:
            a, b = (self.hold(self.number(side)) for side in (node.this, node.expression))
            return BINARY[type(node)](a, b)
        if isinstance(node, exp.Neg):
            return intervals.negate(self.number(node.this))
        if isinstance(node, exp.Round):
            decimals = node.args.get("decimals")
            if decimals is not None and not decimals.is_int:
                raise refuse(decimals, f"{show(decimals)} is no number of places", "Write 2.")
            places = 0 if decimals is None else int(decimals.sql())
            return self._round(intervals.loosen(self.hold(self.number(node.this))), places)
        if isinstance(node, STEPS) and not node.args.get("decimals"):
            kind = type(node)
            value = intervals.loosen(self.hold(self.number(node.this)))
            return intervals.shift(value, lambda end: kind(this=end))
        if isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast):
            return self._cast(node)
        if isinstance(node, exp.Abs):
            return intervals.magnitude(self.hold(self.number(node.this)))
        if isinstance(node, RISING):
            return self._rise(node)
        if isinstance(node, exp.Pow) and isinstance(node.expression, exp.Literal) and (
            node.expression.is_int):  # fmt: skip
            return self._raise(node)
        if isinstance(node, exp.Coalesce) and len(node.expressions) == 1:
            return self._replace_nothing(node)
        if isinstance(node, exp.Nullif):
            value, other = self.number(node.this), self.compile(node.expression)
            if isinstance(other, Known):
                none = exp.Nullif(this=own(value.value), expression=own(other.tree))
                return Estimate(none, value.low, value.high, value.stderr, value.width)
        if isinstance(node, exp.Greatest | exp.Least):
            return self._outermost(node)
        if isinstance(node, exp.Case | exp.If):
            return self._choose(node)
        raise refuse(
            node, f"{show(node)!r} of an estimate cannot be bounded",
            "Use + - * /, ROUND, CAST to a number, ABS, SQRT, LN, COALESCE, CASE, GREATEST, LEAST.",
        )  # fmt: skip

    def _round(self, value: Estimate, places: int) -> Estimate:
        unit = number(10**places) if places >= 0 else over_ten(-places)

        def rounded(end: exp.Expr) -> exp.Expr:
            def up(part: exp.Expr) -> exp.Expr:
                half = exp.Literal.number("0.5")
                return exp.Floor(this=intervals.plus(intervals.times(part, unit), half))

            back = exp.Neg(this=up(exp.Neg(this=wrap(double(end)))))
            below = exp.LT(this=wrap(end), expression=number(0))
            return intervals.over(case(below, back, up(double(end.copy()))), unit.copy())

        return intervals.shift(self.hold(value), rounded)

    def _round_either(self, value: Estimate, places: int) -> Estimate:
        """Round as casts do: halves go up or to even, as numbers are stored."""
        value = intervals.loosen(self.hold(value))
        found, unit = self._round(value, places), number(10**places)
        half = exp.Literal.number("0.5")
        least, most = (double(end) * unit.copy() for end in (value.low, value.high))
        down = exp.Ceil(this=exp.Paren(this=least) - half)
        up = exp.Floor(this=exp.Paren(this=most) + half.copy())
        low, high = (intervals.over(end, unit) for end in (down, up))
        return replace(found, low=low, high=high)

    def _rise(self, node: exp.Expr) -> Estimate:
        """Apply a root or a logarithm; below zero there is none, and nothing to bound."""
        value, rising = self.hold(self.number(node.this)), type(node)
        if isinstance(node, exp.Exp):
            return intervals.map_ends(value, lambda end: rising(this=end))
        above: type[exp.Expr] = exp.GTE if isinstance(node, exp.Sqrt) else exp.GT

        def inside(end: exp.Expr, found: exp.Expr) -> exp.Expr:
            return case(above(this=own(end), expression=number(0)), found, nothing())

        made = intervals.map_ends(value, lambda end: inside(end, rising(this=own(end))))
        low, high = (inside(value.low, end) for end in (made.low, made.high))
        return Estimate(made.value, low, high, made.stderr, made.width)

    def _cast(self, node: exp.Cast) -> Estimate:
        value = self.number(node.this)
        if node.is_type(*NUMBERS):
            return self._round_either(value, 0)
        if node.is_type("DECIMAL"):
            scale = node.to.expressions[1:]
            return self._round_either(value, int(scale[0].name) if scale else 3)
        if node.is_type(*FLOATS):
            return intervals.shift(value, double)
        raise refuse(
            node, f"{show(node)}: an estimate cannot be cast to that", "Cast it to a number."
        )

    def _raise(self, node: exp.Pow) -> Estimate:
        power = int(node.expression.name)
        value = self.hold(self.number(node.this))
        if power % 2 == 0:
            value = self.hold(intervals.magnitude(value))
        return intervals.map_ends(
            value, lambda end: exp.Pow(this=double(end), expression=number(power))
        )

    def _replace_nothing(self, node: exp.Coalesce) -> Estimate:
        value, other = self.hold(self.number(node.this)), self.number(node.expressions[0])
        unseen, gone = wrap(value.value).is_(exp.null()), find_gone(value)
        surely = exp.false() if value.there is None else value.there
        parts = [case(unseen, other.value, value.value)]
        for i, outermost in ((1, intervals.least), (2, intervals.most)):
            here, instead = value.parts[i], other.parts[i]
            either = case(unseen, nothing(), outermost(here, instead))
            parts.append(case(surely, here, case(gone, instead, either)))
        for here, instead in zip(value.parts[3:], other.parts[3:], strict=True):
            parts.append(case(gone, instead, case(unseen, nothing(), here)))
        there = other.there
        if there is not None and not isinstance(there, exp.Boolean):
            there = exp.or_(exp.paren(surely), exp.paren(there))
        return Estimate(*parts, there=there)

    def _outermost(self, node: exp.Expr) -> Estimate:
        parts = [self.hold(self.number(part)) for part in (node.this, *node.expressions)]
        pick = intervals.most if isinstance(node, exp.Greatest) else intervals.least
        ends = [pick(*(part.parts[i] for part in parts)) for i in range(3)]
        errors = [intervals.most(*(part.parts[i] for part in parts)) for i in (3, 4)]
        there = intervals.all_there(*parts)
        # engines pass over what is nothing: then it may be any of the others
        i, widest = (1, intervals.least) if pick is intervals.most else (2, intervals.most)
        alone = widest(*(part.parts[i] for part in parts))
        ends[i] = alone if there is None else case(there, ends[i], alone)
        return Estimate(*ends, *errors, there=there)

    def _choose(self, node: exp.Case | exp.If) -> Estimate:
        if isinstance(node, exp.If):
            branches = [(node.this, node.args["true"])]
            last = node.args.get("false")
        else:
            on = node.args.get("this")
            branches = [
                (exp.EQ(this=on.copy(), expression=b.this.copy()) if on else b.this, b.args["true"])
                for b in node.args["ifs"]
            ]
            last = node.args.get("default")
        none = Estimate(*(nothing() for _ in ENDINGS))
        found = none if last is None else self.hold(self.number(last))
        for condition, then in reversed(branches):
            found = self.hold(
                self._branch(self.decide(condition), self.hold(self.number(then)), found)
            )
        return found

    def _branch(self, asked: Doubt, then: Estimate, other: Estimate) -> Estimate:
        value = case(asked.value.copy(), then.value.copy(), other.value.copy())
        there = intervals.all_there(then, other)
        if asked.is_known:
            pairs = zip(then.parts[1:], other.parts[1:], strict=True)
            ends = (case(asked.value.copy(), a, b) for a, b in pairs)
            return Estimate(value, *ends, there=there)
        settled = [
            (asked.sure, then.parts),
            (exp.not_(exp.Paren(this=asked.maybe.copy())), other.parts),
        ]
        parts = []
        for i, outermost in ((1, intervals.least), (2, intervals.most)):
            either = outermost(then.parts[i], other.parts[i])
            parts.append(case(settled[0][0].copy(), settled[0][1][i],
                              case(settled[1][0].copy(), settled[1][1][i], either)))  # fmt: skip
        for i in (3, 4):
            parts.append(case(settled[0][0].copy(), settled[0][1][i],
                              case(settled[1][0].copy(), settled[1][1][i], nothing())))  # fmt: skip
        return Estimate(value, *parts, there=there)

    def decide(self, node: exp.Expr) -> Doubt:
        """Say whether a condition holds, or may hold."""
        inner = node.unnest()
        if isinstance(inner, exp.And):
            return intervals.both(self.decide(inner.this), self.decide(inner.expression))
        if isinstance(inner, exp.Or):
            return intervals.either(self.decide(inner.this), self.decide(inner.expression))
        value = None if self._is_estimated(inner) else self.compile(inner)
        if isinstance(value, Known):
            return intervals.know(value.tree)
        if isinstance(inner, exp.Not) and _asks_nothing(asked := inner.this.unnest()):
            return self._miss(self.hold(self.number(asked.this)), missing=False)
        if isinstance(inner, exp.Not):
            return self.decide(_negate(inner.this.unnest()))
        if isinstance(inner, exp.Between):
            above = exp.GTE(this=inner.this.copy(), expression=inner.args["low"].copy())
            below = exp.LTE(this=inner.this.copy(), expression=inner.args["high"].copy())
            return intervals.both(self.decide(above), self.decide(below))
        if isinstance(inner, exp.In) and inner.expressions:
            return self.decide(exp.or_(*(
                exp.EQ(this=inner.this.copy(), expression=one.copy()) for one in inner.expressions
            )))  # fmt: skip
        if _asks_nothing(inner):
            return self._miss(self.hold(self.number(inner.this)), missing=True)
        if isinstance(inner, COMPARISONS):
            a, b = (self.hold(self.number(side)) for side in (inner.this, inner.expression))
            written = any(side.unnest().is_number for side in (inner.this, inner.expression))
            return intervals.compare(type(inner), a, b, with_number=written)
        raise refuse(inner, f"{show(inner)!r} cannot be decided from estimates",
                     "Compare them with numbers.")  # fmt: skip

    def _miss(self, value: Estimate, *, missing: bool) -> Doubt:
        """Say whether there is a number, or none."""
        gone = find_gone(value)
        there = exp.false() if value.there is None else value.there
        # an estimate may lack a number that surely is there
        absent = exp.and_(wrap(value.value).is_(exp.null()), exp.not_(exp.paren(there)))
        unseen = exp.paren(absent)
        if missing:
            return Doubt(unseen, gone, exp.not_(exp.paren(there)))
        return Doubt(exp.not_(unseen), there.copy(), exp.not_(exp.paren(gone)))

    def _is_estimated(self, node: exp.Expr) -> bool:
        found = [self.find(c) for c in node.find_all(exp.Column)]
        return any(not isinstance(value, Known) for value in found) or bool(node.find(exp.Window))


def _asks_nothing(node: exp.Expr) -> bool:
    return isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)


def over_ten(places: int) -> exp.Expr:
    """One over a power of ten."""
    return exp.Literal.number("0." + "0" * (places - 1) + "1")


def _replace(node: exp.Expr, place: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Copy a tree with its columns replaced; they are told by what they were before the copy."""
    columns = [place(c) for c in node.find_all(exp.Column)]
    copied = node.copy()
    for old, new in zip(list(copied.find_all(exp.Column)), columns, strict=True):
        old.replace(new)
    return copied


def _negate(node: exp.Expr) -> exp.Expr:
    """Move NOT inwards, so that nothing stays nothing."""
    if isinstance(node, exp.And):
        return exp.or_(_not(node.this), _not(node.expression))
    if isinstance(node, exp.Or):
        return exp.and_(_not(node.this), _not(node.expression))
    if isinstance(node, exp.Not):
        inner: exp.Expr = node.this
        return inner.copy()
    if type(node) in OPPOSITE:
        return OPPOSITE[type(node)](this=node.this.copy(), expression=node.expression.copy())
    if isinstance(node, exp.Between):
        below = exp.LT(this=node.this.copy(), expression=node.args["low"].copy())
        return exp.or_(below, exp.GT(this=node.this.copy(), expression=node.args["high"].copy()))
    if isinstance(node, exp.In) and node.expressions:
        return exp.and_(*(exp.NEQ(this=node.this.copy(), expression=one.copy())
                          for one in node.expressions))  # fmt: skip
    raise refuse(node, f"NOT {show(node)} cannot be decided from estimates")


def _not(node: exp.Expr) -> exp.Expr:
    return exp.not_(node.copy())
