"""How a generalized release answers: how much of each box does the question cover?

A record's true values are somewhere in its box. Spread evenly, the share of the box's cells that
satisfy the predicate is the probability that the record is meant: Σ share estimates COUNT. A
record is certain if all its cells satisfy it and possible if any does, which gives hard bounds.

Attributes are independent given the box, so a predicate falls into components that share no
attribute; each is tabulated once per combination of labels, and records look their shares up.
"""

from __future__ import annotations

import datetime as dt
from functools import reduce

import polars as pl
from sqlglot import exp, select

from discreet.domain import reduce_column
from discreet.errors import QueryError
from discreet.release import Release, Transformation
from discreet.schema import Type
from discreet.sql.parse import Aggregate, Query
from discreet.sql.trees import column, double, number

TABLE, BASE, RANKED = "generalized", "base", "ranked"
MOST_CELLS = 5_000_000
"""A question whose components have more combinations of labels and values is refused."""


def rewrite_generalized(
    query: Query, release: Release
) -> tuple[exp.Select, dict[str, pl.DataFrame]]:
    """Rewrite a question into one over the generalized table, and give the cells it needs."""
    blurred = set(release.schema.quasi_identifiers)
    for aggregate in query.aggregates:
        if aggregate.column in blurred:
            raise QueryError(
                f"{aggregate.column!r} is blurred in this release: {aggregate.function} of it "
                "cannot be answered.",
                hint="Aggregate exact columns; select and group by blurred ones.",
            )
    exact, components = _split(query, blurred)
    used = sorted({name for names, _ in components for name in names})
    cells = {f"cells {name}": _list_cells(release, name) for name in used}
    for names, _ in components:
        size = reduce(lambda n, name: n * cells[f"cells {name}"].height, names, 1)
        if size > MOST_CELLS:
            raise QueryError(
                f"The predicate on {', '.join(names)} has {size:,} combinations to look at.",
                hint="Ask about fewer attributes at once, or join them by AND instead of OR.",
            )
    tree = _tabulate(query, exact, components, blurred)
    return tree, cells


def _split(
    query: Query, blurred: set[str]
) -> tuple[list[exp.Expr], list[tuple[list[str], list[exp.Expr]]]]:
    """Part the predicate into what is exact and components that share no blurred attribute."""
    exact: list[exp.Expr] = []
    components: list[tuple[set[str], list[exp.Expr]]] = [
        ({name}, []) for name in query.group_by if name in blurred
    ]
    for part in _conjuncts(query.where) if query.where is not None else []:
        names = {column.name for column in part.find_all(exp.Column)}
        if not names & blurred:
            exact.append(part)
            continue
        if names - blurred:
            raise QueryError(
                f"{part.sql()!r} ties a blurred column to an exact one.",
                hint="Join conditions on the two by AND.",
            )
        joined = [c for c in components if c[0] & names]
        components = [c for c in components if not c[0] & names]
        merged = names.union(*(c[0] for c in joined))
        components.append((merged, [*(p for c in joined for p in c[1]), part]))
    return exact, [(sorted(names), parts) for names, parts in components]


def _conjuncts(expression: exp.Expr) -> list[exp.Expr]:
    inner = expression.unnest()
    if isinstance(inner, exp.And):
        return [*_conjuncts(inner.this), *_conjuncts(inner.expression)]
    return [expression]


def _list_cells(release: Release, name: str) -> pl.DataFrame:
    """List, per label of an attribute, the values it stands for; missing is null."""
    recoding, attribute = release.recodings[name], release.schema[name]
    table = release.tables[TABLE]
    if recoding.transformation is Transformation.SET:
        pairs = [(label, text) for label, texts in recoding.labels.items() for text in texts]
        cells = pl.Series([None if t == "(missing)" else t for _, t in pairs], dtype=pl.String)
        codes, domain = reduce_column(cells, attribute).encode(None)
        labels = pl.Series([label for label, _ in pairs])
        return pl.DataFrame({"label": labels, "value": domain.series().gather(codes)})
    boxes = table.select(recoding.columns(name)).unique(maintain_order=True)
    owners: list[str] = []
    values: list[object] = []
    for row in boxes.iter_rows():
        inside = _between(row[1], row[2], attribute.type, attribute.order, attribute.decimals)
        inside += [None] if len(row) > 3 and row[3] else []
        if len(values) + len(inside) > MOST_CELLS:
            raise QueryError(
                f"{name!r} has too many values to look at one by one.",
                hint="Ask about another attribute.",
            )
        owners += [str(row[0])] * len(inside)
        values += inside
    kind = {Type.DATE: pl.Date, Type.INTEGER: pl.Int64, Type.DECIMAL: pl.Float64}
    dtype = kind.get(attribute.type, pl.String)
    return pl.DataFrame({"label": pl.Series(owners, dtype=pl.String),
                         "value": pl.Series(values, dtype=dtype)})  # fmt: skip


def _between(
    low: object, high: object, kind: Type, order: tuple[str, ...], decimals: int | None
) -> list[object]:
    """All values an attribute can take from one end of an interval to the other."""
    if low is None:
        return []
    if kind is Type.ORDINAL:
        return list(order[order.index(str(low)) : order.index(str(high)) + 1])
    if kind is Type.DATE:
        assert isinstance(low, dt.date) and isinstance(high, dt.date)
        return [low + dt.timedelta(days=day) for day in range((high - low).days + 1)]
    scale = 10 ** (decimals or 0)
    first, last = (round(float(end) * scale) for end in (low, high))  # type: ignore[arg-type]
    if kind is Type.INTEGER:
        first, last = int(low), int(high)  # type: ignore[call-overload]
    if last - first >= MOST_CELLS:
        raise QueryError(
            "An interval of the release has too many values to look at one by one.",
            hint="Ask about another attribute.",
        )
    units = range(first, last + 1)
    return list(units) if kind is Type.INTEGER else [unit / scale for unit in units]


def _table(name: str, alias: str | None = None) -> exp.Table:
    table = exp.Table(this=exp.to_identifier(name, quoted=True))
    if alias is not None:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return table


def _case(condition: exp.Expr, yes: exp.Expr, no: exp.Expr) -> exp.Expr:
    return exp.case().when(condition, yes).else_(no)


def _sum(expression: exp.Expr) -> exp.Expr:
    return exp.Sum(this=expression)


def _tabulate(
    query: Query,
    exact: list[exp.Expr],
    components: list[tuple[list[str], list[exp.Expr]]],
    blurred: set[str],
) -> exp.Select:
    grouping = [name for name in query.group_by if name in blurred]
    shares = [
        (f"share {i}", names, _share(names, parts, grouping))
        for i, (names, parts) in enumerate(components)
    ]
    base = _base(query, exact, shares, grouping)
    averages = sorted({str(a.column) for a in query.aggregates if a.function == "AVG"})
    outer = select(*(column(name) for name in query.group_by))
    for aggregate in query.aggregates:
        outer = outer.select(*_answer(aggregate))
    outer = outer.from_(exp.to_table(RANKED))
    if query.group_by:
        keys = [column(name) for name in query.group_by]
        outer = outer.group_by(*keys).order_by(*(key.copy() for key in keys))
    for name, _, share in shares:
        outer = outer.with_(exp.to_identifier(name, quoted=True), as_=share)
    outer = outer.with_(BASE, as_=base)
    return outer.with_(RANKED, as_=_rank(query, averages))


def _share(names: list[str], parts: list[exp.Expr], grouping: list[str]) -> exp.Select:
    """Count, per combination of labels (and group), the cells that satisfy the predicate."""

    def at_cell(part: exp.Expr) -> exp.Expr:
        return part.transform(
            lambda node: column("value", f"c {node.name}") if isinstance(node, exp.Column) else node
        )

    condition = exp.and_(*(exp.paren(at_cell(part)) for part in parts)) if parts else exp.true()
    labels = [column("label", f"c {name}") for name in names]
    values = [column("value", f"c {name}") for name in names if name in grouping]
    total = exp.Window(
        this=_sum(exp.Count(this=exp.Star())), partition_by=[label.copy() for label in labels]
    )
    made = select(
        *(label.as_(name, quoted=True) for label, name in zip(labels, names, strict=True)),
        *(column("value", f"c {n}").as_(f"#v {n}", quoted=True) for n in names if n in grouping),
        _sum(_case(condition, number(1), number(0))).as_("#hits", quoted=True),
        total.as_("#total", quoted=True),
    )
    for i, name in enumerate(names):
        table = _table(f"cells {name}", f"c {name}")
        made = made.from_(table) if i == 0 else made.join(table, join_type="cross")
    return made.group_by(*(label.copy() for label in labels), *values)


def _base(
    query: Query,
    exact: list[exp.Expr],
    shares: list[tuple[str, list[str], exp.Select]],
    grouping: list[str],
) -> exp.Select:
    """One row per record (and group it may fall into): its probability, and whether it is sure."""
    share: exp.Expr = double(number(1))
    sure: list[exp.Expr] = []
    columns: list[exp.Expr] = []
    for table, names, _ in shares:
        hits, total = column("#hits", table), column("#total", table)
        share = exp.Mul(this=share, expression=exp.Div(this=double(hits), expression=double(total)))
        sure.append(hits.copy().eq(total.copy()))
        columns += [column(f"#v {n}", table).as_(n, quoted=True) for n in names if n in grouping]
    columns += [column(name, TABLE) for name in query.group_by if name not in grouping]
    wanted = sorted({a.column for a in query.aggregates if a.column is not None})
    columns += [column(name, TABLE).as_(f"#x {name}", quoted=True) for name in wanted]
    certain = _case(exp.and_(*sure), number(1), number(0)) if sure else number(1)
    made = select(*columns, share.as_("#p", quoted=True), certain.as_("#c", quoted=True)).from_(
        exp.to_table(TABLE)
    )
    for table, names, _ in shares:
        same = [column(name, TABLE).eq(column(name, table)) for name in names]
        possible = exp.GT(this=column("#hits", table), expression=number(0))
        made = made.join(_table(table), on=exp.and_(*same, possible))
    for part in exact:
        made = made.where(part.copy())
    return made


def _rank(query: Query, averages: list[str]) -> exp.Select:
    """Add, for each average, the averages that adding the smallest or largest records would give.

    The least average a set of sure records can reach by adding possible ones is reached by adding
    the smallest of them first; so it is the least over the running averages.
    """
    made = select(exp.Star()).from_(exp.to_table(BASE))
    for name in averages:
        value = column(f"#x {name}")
        there = _case(value.copy().is_(exp.null()), number(0), number(1))
        for direction, descending in (("up", False), ("down", True)):
            sums = []
            for amount in (value, number(1)):
                kept = exp.Mul(this=there.copy(), expression=amount.copy())
                extra = exp.Mul(
                    this=kept.copy(),
                    expression=exp.paren(exp.Sub(this=number(1), expression=column("#c"))),
                )
                sure = _over(exp.Mul(this=kept, expression=column("#c")), query)
                running = _over(extra, query, exp.Ordered(this=value.copy(), desc=descending))
                parts = [exp.func("COALESCE", part, number(0)) for part in (sure, running)]
                sums.append(exp.Add(this=parts[0], expression=parts[1]))
            nobody = exp.Nullif(this=sums[1], expression=number(0))
            ratio = exp.Div(this=double(sums[0]), expression=double(nobody))
            made = made.select(ratio.as_(f"#{direction} {name}", quoted=True))
    return made


def _over(amount: exp.Expr, query: Query, order: exp.Expr | None = None) -> exp.Expr:
    window = exp.Window(this=_sum(amount), partition_by=[column(name) for name in query.group_by])
    if order is not None:
        window.set("order", exp.Order(expressions=[order]))
        window.set(
            "spec",
            exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING",
                           end="CURRENT ROW"),
        )  # fmt: skip
    return window


def _answer(aggregate: Aggregate) -> list[exp.Expr]:
    """Give estimate, bounds and standard error of one aggregate, each under its name."""
    parts = _bound(aggregate)
    return [part.as_(name, quoted=True) for part, name in zip(parts, aggregate.names, strict=True)]


def _bound(aggregate: Aggregate) -> list[exp.Expr]:
    p, c = column("#p"), column("#c")
    doubt = exp.Mul(this=p, expression=exp.paren(exp.Sub(this=number(1), expression=p.copy())))
    x = None if aggregate.column is None else column(f"#x {aggregate.column}")
    if aggregate.function == "COUNT":
        there = number(1) if x is None else _case(x.is_(exp.null()), number(0), number(1))
        sums = [_sum(exp.Mul(this=w.copy(), expression=there.copy())) for w in (p, c, number(1))]
        sums.append(exp.Sqrt(this=_sum(exp.Mul(this=doubt.copy(), expression=there.copy()))))
        return [exp.func("COALESCE", total, number(0)) for total in sums]
    assert x is not None
    weighted = _sum(exp.Mul(this=p.copy(), expression=x.copy()))
    if aggregate.function == "SUM":
        least = exp.Least(this=x.copy(), expressions=[number(0)])
        most = exp.Greatest(this=x.copy(), expressions=[number(0)])
        sure = c.copy().eq(number(1))
        square = exp.Mul(this=x.copy(), expression=x.copy())
        return [
            weighted,
            _sum(_case(x.copy().is_(exp.null()), exp.null(), _case(sure.copy(), x.copy(), least))),
            _sum(_case(x.copy().is_(exp.null()), exp.null(), _case(sure, x.copy(), most))),
            exp.Sqrt(this=_sum(exp.Mul(this=doubt.copy(), expression=double(square)))),
        ]
    if aggregate.function == "AVG":
        people = _sum(_case(x.copy().is_(exp.null()), exp.null(), p.copy()))
        return [
            exp.Div(this=double(weighted), expression=people),
            exp.Min(this=column(f"#up {aggregate.column}")),
            exp.Max(this=column(f"#down {aggregate.column}")),
            exp.null(),
        ]
    kind, other = (exp.Min, exp.Max) if aggregate.function == "MIN" else (exp.Max, exp.Min)
    ends = [kind(this=x.copy()), _outermost(kind, other, x, c)]
    low, high = ends if aggregate.function == "MIN" else ends[::-1]
    numbers = [double(end.copy()) for end in (low, high)]
    middle = exp.Div(this=exp.paren(exp.Add(this=numbers[0], expression=numbers[1])),
                     expression=number(2))  # fmt: skip
    return [middle, low, high, exp.null()]


def _outermost(kind: type[exp.Expr], other: type[exp.Expr], x: exp.Expr, c: exp.Expr) -> exp.Expr:
    """The sure records bound it; if there are none, only the farthest possible one does."""
    sure = kind(this=_case(c.copy().eq(number(1)), x.copy(), exp.null()))
    return exp.func("COALESCE", sure, other(this=x.copy()))
