"""Conditions on one attribute, evaluated once over what its labels stand for."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import floor
from threading import Lock

import numpy as np
import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.principles.base import ratio
from discreet.release.cells import MOST_CELLS, write_positions, write_texts
from discreet.release.coarse_labels import list_runs
from discreet.release.labels import Labels
from discreet.release.selection import Selection, find_positions
from discreet.sql.engines.duckdb import Embedded
from discreet.sql.reading import is_looked_up
from discreet.sql.trees import case, column, named_table
from discreet.table.arrays import Bools, Ints
from discreet.table.coarsening import is_coarse
from discreet.table.domain import MISSING
from discreet.table.schema import Type

_LOCK = Lock()
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In,
               exp.NullSafeEQ, exp.NullSafeNEQ)  # fmt: skip
NEAR = (-1, Fraction(-1, 2), 0, Fraction(1, 2), 1)
"""Around a whole number: whatever is rounded to it passes from one to the next there."""
LARGEST = 2**52
"""Beyond it floating-point numbers are not what arithmetic says."""
CONNECTIVES = (exp.And, exp.Or, exp.Not, exp.Paren)


def select_values(labels: Labels, parts: Sequence[exp.Expr]) -> Selection:
    """Say which of the values that labels stand for satisfy conditions on their attribute."""
    attribute = labels.attribute
    nothing = np.zeros(0, dtype=np.int64)
    if labels.sets is None or is_coarse(attribute):
        starts, until = _list_runs(labels, parts)
        values = write_positions(starts, attribute)
        meant = evaluate(parts, values.append(pl.Series([None], dtype=values.dtype)))
        kept = meant[:-1]
        return Selection(attribute, starts[kept], until[kept] - 1, frozenset(), bool(meant[-1]))
    texts = sorted({text for held in labels.sets for text in held} | {MISSING})
    meant = evaluate(parts, write_texts(texts, attribute))
    missing = bool(meant[texts.index(MISSING)])
    taken = [text for text, here in zip(texts, meant, strict=True) if here and text != MISSING]
    if not attribute.type.ordered:
        return Selection(attribute, nothing, nothing, frozenset(taken), missing)
    at = np.sort(find_positions(pl.Series(taken, dtype=pl.String), attribute))
    return Selection(attribute, at, at, frozenset(), missing)


def _list_runs(labels: Labels, parts: Sequence[exp.Expr]) -> tuple[Ints, Ints]:
    """List values from the lowest to the highest end: of each run the first, and where it ends.

    Values that are compared with numbers alone are one run where no number lies between them.
    """
    _, low, high = list_runs(labels)
    if not len(low):
        return low, low
    first, beyond = int(low.min()), int(high.max()) + 1
    attribute = labels.attribute
    numbers = find_numbers(parts) if attribute.type in (Type.INTEGER, Type.DECIMAL) else None
    if numbers is not None:
        scale = 10 ** (attribute.decimals or 0)
        near = [floor(n * scale) + step for n in numbers for step in (-1, 0, 1, 2)]
        starts = np.unique([first, *(n for n in near if first < n < beyond)]).astype(np.int64)
    elif beyond - first > MOST_CELLS:
        raise QueryError(
            f"{attribute.name!r} has {beyond - first:,} values to look at one by one.",
            hint="Compare it with numbers alone, or ask about another attribute.",
        )
    else:
        starts = np.arange(first, beyond)
    return starts, np.append(starts[1:], beyond)


def evaluate(parts: Sequence[exp.Expr], values: pl.Series) -> Bools:
    """Ask DuckDB which values satisfy conditions, as WHERE reads them."""
    meant = exp.and_(*(exp.Paren(this=part.copy()) for part in parts)) if parts else exp.true()
    return evaluate_term(case(meant, exp.true(), exp.false()), values).to_numpy()


def evaluate_term(expression: exp.Expr, values: pl.Series) -> pl.Series:
    """Ask DuckDB what an expression of one attribute is for each of some values."""
    named = expression.find(exp.Column)
    name = named.name if named is not None else "value"  # as it is called, in case of a refusal
    place = f"{name} place"

    def move(node: exp.Expr) -> exp.Expr:
        return column(name) if isinstance(node, exp.Column) else node

    frame = pl.DataFrame({name: values}).with_row_index(place)
    tree = select(expression.transform(move).as_("found", quoted=True))
    tree = tree.from_(named_table("values")).order_by(column(place))
    with _LOCK:
        session = _open_evaluator()
        return session.run(session.write(tree, {"values": frame}))["found"]


def find_dtype(expression: exp.Expr, columns: pl.DataFrame) -> pl.DataType:
    """Ask DuckDB which type an expression of some columns has."""
    tree = select(expression.as_("found", quoted=True)).from_(named_table("values"))
    with _LOCK:
        session = _open_evaluator()
        return session.run(session.write(tree, {"values": columns}))["found"].dtype


@cache
def _open_evaluator() -> Embedded:
    """A connection without tables, kept: to open one takes longer than to ask it."""
    return Embedded({})


def find_numbers(parts: Sequence[exp.Expr]) -> list[Fraction] | None:
    """Give the numbers at which conditions on one column may change; ``None`` if that is not known.

    They are compared with numbers: the column, or arithmetic that rises or falls with it.

    >>> import sqlglot
    >>> find_numbers([sqlglot.parse_one("x < 10.5 OR NOT x IN (-1, 2) OR x IS NULL")])
    [Fraction(21, 2), Fraction(-1, 1), Fraction(2, 1)]
    >>> find_numbers([sqlglot.parse_one("(x + 5) * 2 > 90 AND 3 - x / 2 = 1")])
    [Fraction(40, 1), Fraction(4, 1)]
    >>> find_numbers([sqlglot.parse_one("x % 7 = 0")]) is None
    True
    """
    found: list[Fraction] = []
    for part in parts:
        if isinstance(part, CONNECTIVES) or is_looked_up(part):
            inside = find_numbers(list(part.iter_expressions()))
        elif isinstance(part, exp.Is) and isinstance(part.expression, exp.Null):
            inside = [] if isinstance(part.this, exp.Column) else None
        elif isinstance(part, COMPARISONS):
            inside = _read_numbers(list(part.iter_expressions()))
        else:
            inside = None
        if inside is None:
            return None
        found += inside
    return found


def _read_numbers(sides: list[exp.Expr]) -> list[Fraction] | None:
    """Read the sides of a comparison: one is about a column, and the others are numbers."""
    about = [side for side in sides if side.find(exp.Column)]
    numbers = [_read_number(side) for side in sides if not side.find(exp.Column)]
    known = [number for number in numbers if number is not None]
    if len(about) != 1 or len(known) < len(numbers):
        return None
    return _solve(about[0], known)


def _read_number(side: exp.Expr) -> Fraction | None:
    if isinstance(side, exp.Paren | exp.Nullif):  # what is divided by is nothing where it is 0
        return _read_number(side.this)
    written = side.this if isinstance(side, exp.Neg) else side
    if not isinstance(written, exp.Literal) or written.is_string:
        return None
    try:
        value = ratio(written.name)
    except ValueError:
        return None
    return -value if written is not side else value


def _solve(side: exp.Expr, numbers: list[Fraction]) -> list[Fraction] | None:
    """Say for which numbers of a column an expression of it passes some numbers."""
    if any(abs(n) > LARGEST for n in numbers):
        return None
    if isinstance(side, exp.Column):
        return numbers
    if isinstance(side, exp.Paren) or is_looked_up(side):
        return _solve(side.this, numbers)
    if isinstance(side, exp.Neg):
        return _solve(side.this, [-n for n in numbers])
    if isinstance(side, exp.Abs):
        return _solve(side.this, [*numbers, *(-n for n in numbers)])
    if isinstance(side, exp.Floor | exp.Ceil | exp.Round | exp.Trunc) and not side.args.get(
        "decimals"
    ):
        return _solve(side.this, [n + step for n in numbers for step in NEAR])
    if isinstance(side, exp.Cast) and side.is_type("INT", "BIGINT"):
        return _solve(side.this, [n + step for n in numbers for step in NEAR])
    if not isinstance(side, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.IntDiv):
        return None
    left, right = _read_number(side.this), _read_number(side.expression)
    if right is not None:
        return _undo(side, side.this, right, numbers)
    if left is None or isinstance(side, exp.Div | exp.IntDiv):
        return None
    if isinstance(side, exp.Sub):
        return _solve(side.expression, [left - n for n in numbers])
    return _undo(side, side.expression, left, numbers)


def _undo(
    side: exp.Expr, inner: exp.Expr, by: Fraction, numbers: list[Fraction]
) -> list[Fraction] | None:
    if isinstance(side, exp.Add | exp.Sub):
        step = by if isinstance(side, exp.Add) else -by
        return _solve(inner, [n - step for n in numbers])
    if by == 0:
        return None
    if isinstance(side, exp.IntDiv):
        return _solve(inner, [(n + step) * by for n in numbers for step in NEAR])
    return _solve(inner, [n / by if isinstance(side, exp.Mul) else n * by for n in numbers])
