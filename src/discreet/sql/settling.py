"""Settling: a question about several releases, as what it asks of each of them.

In one release the column that tells the release is a constant. What goes by it alone is evaluated,
and what then is surely true or false is left out: so a question may turn out not to be about a
release at all, or not about attributes that it does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl
from sqlglot import exp

from discreet.sql.query import Aggregate, Query, Term, find_columns, list_conjuncts
from discreet.sql.reading import is_looked_up
from discreet.sql.selection import evaluate_term

CONSTANTS = (exp.Literal, exp.Boolean, exp.Null, exp.Neg, exp.Cast)


@dataclass(frozen=True)
class Settled:
    """What a question asks of one release."""

    conditions: tuple[exp.Expr, ...]
    keys: tuple[exp.Expr, ...]
    """Of each key of the question what it is there; it may be a constant."""
    aggregates: tuple[Aggregate, ...]
    """Those of the question; what is aggregated may be a constant."""

    @property
    def columns(self) -> list[str]:
        """The attributes that it is about."""
        terms = [a.term.expression for a in self.aggregates if a.term is not None]
        parts = [*self.conditions, *self.keys, *terms]
        return list(dict.fromkeys(name for part in parts for name in find_columns(part)))


def settle_query(query: Query, by: str, values: pl.Series) -> list[Settled | None]:
    """Say what a question asks of each release; ``None`` where it is not about any people of it."""
    conditions = [_settle(part, by, values) for part in query.conditions]
    keys = [_settle(key.expression, by, values) for key in query.keys]
    terms = {term.name: _settle(term.expression, by, values) for term in query.terms}
    found: list[Settled | None] = []
    for i in range(len(values)):
        meant = [inner for part in conditions for inner in list_conjuncts(part[i])]
        if any(part in (exp.false(), exp.null()) for part in meant):
            found.append(None)
            continue
        aggregates = tuple(
            a if a.term is None else replace(a, term=Term(a.term.name, terms[a.term.name][i]))
            for a in query.aggregates
        )
        asked = tuple(part for part in meant if part != exp.true())
        found.append(Settled(asked, tuple(key[i] for key in keys), aggregates))
    return found


def is_constant(node: exp.Expr) -> bool:
    """Whether an expression was evaluated, or written out."""
    return isinstance(node, CONSTANTS) and not find_columns(node)


def _settle(expression: exp.Expr, by: str, values: pl.Series) -> list[exp.Expr]:
    """Give an expression as it is for each value of the constant."""
    if by not in find_columns(expression):
        return [expression] * len(values)
    held = exp.Paren(this=expression.copy())
    for node in list(held.find_all(exp.Case)):
        if (on := node.args.get("this")) is not None and by in find_columns(on):
            for branch in node.args["ifs"]:
                branch.set("this", exp.EQ(this=exp.paren(on.copy()), expression=branch.this))
            node.set("this", None)
    parts = _list_parts(held, by)
    results = [evaluate_term(part, values).to_list() for part in parts]
    found = []
    for i in range(len(values)):
        for place, result in enumerate(results):
            parts[place] = parts[place].replace(exp.convert(result[i]))
        found.append(_fold(held.this.copy()))
    return found


def _list_parts(held: exp.Expr, by: str) -> list[exp.Expr]:
    """List the largest parts that go by the constant alone."""
    found: list[exp.Expr] = []
    left = [held.this]
    while left:
        node = left.pop()
        names = find_columns(node)
        branch = isinstance(node, exp.If) and isinstance(node.parent, exp.Case)
        if names == [by] and not branch:
            found.append(node)
        elif by in names:
            left += list(node.iter_expressions())
    return found


def _fold(node: exp.Expr) -> exp.Expr:
    """Leave out what constants decide."""
    for name, inner in list(node.args.items()):
        if isinstance(inner, exp.Expr):
            node.set(name, _fold(inner))
        elif isinstance(inner, list):
            node.set(name, [_fold(i) if isinstance(i, exp.Expr) else i for i in inner])
    if isinstance(node, exp.Paren):
        return _take(node.this) if is_constant(node.this) else node
    if isinstance(node, exp.And | exp.Or):
        return _fold_connective(node)
    if isinstance(node, exp.Not) and isinstance(node.this, exp.Boolean):
        return exp.Boolean(this=not node.this.this)
    if isinstance(node, exp.Case) and node.args.get("this") is None:
        return _fold_case(node, node.args["ifs"], node.args.get("default"))
    if isinstance(node, exp.If) and not isinstance(node.parent, exp.Case):
        return _fold_case(node, [node], node.args.get("false"))
    if isinstance(node, exp.Coalesce) and not is_looked_up(node):
        return _fold_choice(node)
    return node


def _fold_connective(node: exp.Expr) -> exp.Expr:
    neutral = exp.Boolean(this=isinstance(node, exp.And))
    sides = [node.this, node.expression]
    if any(isinstance(side, exp.Boolean) and side != neutral for side in sides):
        return exp.Boolean(this=isinstance(node, exp.Or))
    left = [side for side in sides if side != neutral]
    if len(left) == 2:
        return node
    return _take(left[0]) if left else neutral


def _fold_case(node: exp.Expr, branches: Sequence[exp.Expr], last: exp.Expr | None) -> exp.Expr:
    kept = []
    for branch in branches:
        if branch.this == exp.true():
            last = branch.args["true"]
            break
        if not is_constant(branch.this):
            kept.append(branch)
    if not kept:
        return exp.null() if last is None else _take(last)
    if isinstance(node, exp.Case):
        return exp.Case(ifs=[_take(branch) for branch in kept],
                        default=None if last is None else _take(last))  # fmt: skip
    return node


def _fold_choice(node: exp.Expr) -> exp.Expr:
    kept: list[exp.Expr] = []
    for part in [node.this, *node.expressions]:
        if isinstance(part, exp.Null):
            continue
        kept.append(part)
        if is_constant(part):
            break
    if len(kept) < 2:
        return _take(kept[0]) if kept else exp.null()
    return exp.Coalesce(this=_take(kept[0]), expressions=[_take(part) for part in kept[1:]])


def _take(node: exp.Expr) -> exp.Expr:
    return node.copy()
