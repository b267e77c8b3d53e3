"""Finishing: rows of answers filtered, grouped once more, selected, ordered and cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.sql.aggregates import find_aggregates
from discreet.sql.intervals import Doubt, Estimate, Known, Value, lift, name_value
from discreet.sql.query import ENDINGS
from discreet.sql.reading import read_place, refuse, show
from discreet.sql.relations import (
    Answers,
    Items,
    list_names,
    name_there,
    read_again,
    refuse_twice,
)
from discreet.sql.scopes import Scope
from discreet.sql.trees import column, name_part
from discreet.sql.windows import KEPT, SURE, aggregate_rows

Placing = Callable[[exp.Expr], exp.Expr]
Ordering = list[tuple[Value, bool, bool]]
"""By what rows are ordered, whether that descends, and whether nothing comes first."""


@dataclass(frozen=True)
class Ranking:
    """How many rows are wanted of an order that goes by estimates.

    What rows are ordered by stands as ``#o 0``, ``#o 1``, … in the statement, with its bounds and
    with whether there surely is a number.
    """

    descends: tuple[bool, ...]
    nothing_first: tuple[bool, ...]
    limit: int | None
    offset: int


def filter_rows(scope: Scope, condition: exp.Expr, decides: bool) -> tuple[Scope, bool]:
    """Leave out rows that surely are not meant, and flag those that may be."""
    return _keep(scope, scope.decide(condition), decides)


def _keep(scope: Scope, asked: Doubt, decides: bool) -> tuple[Scope, bool]:
    names = [column(name) for name in list_names(scope.columns)]
    flags: list[exp.Expr] = [column(KEPT), column(SURE)] if scope.uncertain else []
    title = exp.to_identifier("#filtered", quoted=True)
    below = scope.below + len(scope.layers)
    if asked.is_known:
        tree = scope.draw().select(*names, *flags, copy=False).where(asked.value.copy(), copy=False)
        source = tree.subquery(title, copy=False)
        return Scope(source, scope.columns, scope.uncertain, below=below), decides
    now = [exp.and_(*(flag.copy() for flag in flags[i : i + 1]), exp.Paren(this=part.copy()))
           for i, part in enumerate((asked.value, asked.sure))]  # fmt: skip
    marked = [part.as_(flag, quoted=True) for part, flag in zip(now, (KEPT, SURE), strict=True)]
    tree = scope.draw().select(*names, *marked, copy=False).where(asked.maybe.copy(), copy=False)
    source = tree.subquery(title, copy=False)
    return Scope(source, scope.columns, uncertain=True, below=below), True


def group_again(scope: Scope, group: exp.Group | None, items: Items) -> tuple[Scope, Items]:
    """Group answers once more: by what is known, aggregating what is known or estimated."""
    others = group.args.items() if group else ()
    if any(part for name, part in others if name not in ("expressions", "all")):
        raise refuse(exp.null(), "answers can be grouped by columns only")
    written = list(group.expressions) if group else []
    if group and group.args.get("all"):
        written = [item for _, item in items if not find_aggregates(item)]
    named = {name.lower(): item for name, item in items}
    known = {name.lower() for _, name in scope.columns}
    keys: list[exp.Expr] = []
    for key in written:
        meant = items[read_place(key, len(items), "group") - 1][1] if key.is_int else key
        if isinstance(meant, exp.Column) and meant.name.lower() not in known:
            meant = named.get(meant.name.lower(), meant)
        keys.append(meant)
    columns: dict[tuple[str, str], Value] = {}
    made: list[exp.Expr] = []
    for i, key in enumerate(keys):
        value = scope.compile(key)
        if not isinstance(value, Known):
            raise refuse(key, f"{show(key)} is estimated: rows cannot be grouped by it")
        made.append(value.tree.copy().as_(f"#g {i}", quoted=True))
        columns["", f"#g {i}"] = Known(column(f"#g {i}"), value.order)
    by = [part.unalias().copy() for part in made]
    placed: Items = []
    for name, item in items:
        held = exp.Paren(this=item.copy())
        for node in find_aggregates(held):
            title = f"#f {len(columns)}"
            value = aggregate_rows(node, scope, lambda tree: tree)
            assert not isinstance(value, Doubt)
            made += name_value(value, title)
            columns["", title] = read_again(title, value)
            node.replace(exp.column(title, quoted=True))
        for i, key in enumerate(keys):
            for node in [n for n in held.walk() if n == key or _is_same(n, key, scope)]:
                node.replace(exp.column(f"#g {i}", quoted=True))
        inner: exp.Expr = held.this
        placed.append((name, inner.pop()))
    if keys and scope.uncertain:
        for flag in (KEPT, SURE):
            some = exp.Max(this=exp.cast(column(flag), "INT")).eq(1)
            made.append(some.as_(flag, quoted=True))
    tree = scope.draw().select(*made, copy=False)
    tree = tree.group_by(*by, copy=False) if by else tree
    grouped = tree.subquery(exp.to_identifier("#grouped", quoted=True), copy=False)
    return Scope(grouped, columns, bool(keys) and scope.uncertain), placed


def _is_same(node: exp.Expr, key: exp.Expr, scope: Scope) -> bool:
    """Whether two columns are one, whatever stands before them."""
    if not isinstance(node, exp.Column) or not isinstance(key, exp.Column):
        return False
    if node.name.startswith("#") or node.name.lower() != key.name.lower():
        return False
    return scope.find(node) == scope.find(key)


def finish(
    query: exp.Select, scope: Scope, items: Items, decides: bool, qualify: exp.Expr | None,
    place: Placing, *, top: bool,
) -> tuple[Answers, Ranking | None]:  # fmt: skip
    """Select, order and cut rows."""
    values: list[tuple[str, Value]] = []
    for name, item in items:
        value = scope.compile(item)
        if isinstance(value, Doubt):
            raise refuse(item, f"{show(item)} is a condition on estimates",
                         "Ask for the number, and read its bounds.")  # fmt: skip
        values.append((name, value))
    ordering = _read_order(query, scope, values, place)
    if qualify is not None:
        held = [value for _, value in values] + [value for value, *_ in ordering]
        scope, decides, held = _qualify(scope, qualify, held, decides)
        values = [(n, v) for (n, _), v in zip(values, held, strict=False)]
        ordering = [(v, d, f) for v, (_, d, f) in zip(held[len(values) :], ordering, strict=True)]
    columns = {name: isinstance(value, Estimate) for name, value in values}
    refuse_twice(columns, [name for name, _ in values])
    if query.args.get("distinct") and any(columns.values()):
        raise refuse(query, "DISTINCT cannot tell estimates apart", "Leave it out.")
    shown: list[exp.Expr] = []
    there: dict[str, exp.Expr] = {}
    told = []
    for name, value in values:
        assert not isinstance(value, Doubt)
        shown += name_value(value, name)
        if isinstance(value, Estimate) and not top:
            told += [name] * value.is_told
            if isinstance(value.there, exp.Boolean):
                there[name] = value.there
            elif value.there is not None:
                there[name] = column(name_there(name))
                shown.append(name_part(value.there, name_there(name)))
    tree = scope.draw().select(*shown, copy=False)
    # where nothing is estimated but whether there is anybody, that is the answer
    decides = decides or (scope.uncertain and not any(columns.values()))
    if scope.uncertain:
        tree = tree.select(column(KEPT), column(SURE), copy=False)
        if query.args.get("distinct"):
            raise refuse(query, "DISTINCT of rows that may not be there cannot be told",
                         "Use GROUP BY instead.")  # fmt: skip
    elif query.args.get("distinct"):
        tree = tree.distinct()
    orders = {name: value.order for name, value in values if isinstance(value, Known)}
    found = Answers(tree, columns, scope.uncertain, decides, there, frozenset(told), orders)
    return _cut(query, found, ordering, top)


def _qualify(
    scope: Scope, condition: exp.Expr, values: list[Value], decides: bool
) -> tuple[Scope, bool, list[Value]]:
    """Filter by windows, which are computed in a layer below, as is everything selected."""
    asked = scope.decide(condition)
    for i, value in enumerate(values):
        known = isinstance(value, Known) and not isinstance(value.tree, exp.Column)
        if known:
            layer = lift(value).value.copy()
            scope.layers.append([layer.as_(f"#q {i}", quoted=True)])
        scope.columns["", f"#q {i}"] = Known(column(f"#q {i}")) if known else value
    tests = {"#meant": asked.value, "#surely": asked.sure, "#maybe": asked.maybe}
    scope.layers.append([part.copy().as_(name, quoted=True) for name, part in tests.items()])
    meant, surely, maybe = (column(name) for name in tests)
    found = [scope.columns["", f"#q {i}"] for i in range(len(values))]
    if asked.is_known:
        return *_keep(scope, Doubt(meant, meant, meant), decides), found
    return *_keep(scope, Doubt(meant, surely, maybe), decides), found


def _read_order(
    query: exp.Select, scope: Scope, values: list[tuple[str, Value]], place: Placing
) -> Ordering:
    found: Ordering = []
    folded = {name.lower(): value for name, value in values}
    for part in query.args["order"].expressions if query.args.get("order") else []:
        descends, first = bool(part.args.get("desc")), bool(part.args.get("nulls_first"))
        inner = part.this
        if isinstance(inner, exp.Var | exp.Column) and inner.name.upper() == "ALL":
            found += [(value, descends, first) for _, value in values]
            continue
        if inner.is_int:
            value = values[read_place(inner, len(values), "order") - 1][1]
        elif isinstance(inner, exp.Column) and not inner.table and inner.name.lower() in folded:
            value = folded[inner.name.lower()]
        else:
            value = scope.compile(place(inner))
        if isinstance(value, Doubt):
            raise refuse(inner, f"{show(inner)} is a condition on estimates")
        found.append((value, descends, first))
    return found


def _cut(
    query: exp.Select, answers: Answers, ordering: Ordering, top: bool
) -> tuple[Answers, Ranking | None]:
    """Order rows, and cut them where that is certain; else leave it to whoever reads the answer."""
    limit, offset = (_read_count(query.args.get(name)) for name in ("limit", "offset"))
    tree = answers.tree
    assert isinstance(tree, exp.Select)
    settled = not answers.uncertain and all(isinstance(value, Known) for value, *_ in ordering)
    if top and not ordering:
        ordering = [(Known(column(name)), False, False)
                    for name, estimated in answers.columns.items() if not estimated]  # fmt: skip
    if top or settled:
        tree = tree.order_by(*(
            exp.Ordered(this=lift(value).value.copy(), desc=descends, nulls_first=first)
            for value, descends, first in ordering
        ), copy=False) if ordering else tree  # fmt: skip
    ranking = None
    if limit is not None or offset is not None:
        if settled:
            tree = tree.limit(limit) if limit is not None else tree
            tree = tree.offset(offset) if offset else tree
        elif top:
            for i, (value, *_) in enumerate(ordering):
                meant = lift(value)
                parts = zip(meant.parts[:3], ENDINGS, strict=False)
                tree.select(*(name_part(p, f"#o {i}{end}") for p, end in parts), copy=False)
                there = exp.false() if meant.there is None else meant.there
                tree.select(name_part(there, f"#o {i} there"), copy=False)
            falls, nothing_first = [d for _, d, _ in ordering], [f for *_, f in ordering]
            ranking = Ranking(tuple(falls), tuple(nothing_first), limit, offset or 0)
        else:
            raise refuse(query, "LIMIT within the question goes by estimates",
                         "Put ORDER BY and LIMIT at the end.")  # fmt: skip
    decides = answers.decides or ranking is not None
    return replace(answers, tree=tree, decides=decides), ranking


def _read_count(clause: exp.Expr | None) -> int | None:
    if clause is None:
        return None
    count = clause.args.get("count") or clause.expression
    options = clause.args.get("limit_options")
    shares = options is not None and any(options.args.get(n) for n in ("percent", "with_ties"))
    if not isinstance(count, exp.Literal) or not count.is_int or shares:
        raise refuse(clause, f"{show(clause)} is no number of rows", "Write LIMIT 10.")
    return int(count.name)
