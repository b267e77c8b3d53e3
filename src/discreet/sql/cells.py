"""Cells: the values a box may stand for, and the share of them that a question covers.

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
from discreet.sql.parse import Query
from discreet.sql.trees import add_up, case, column, double, named_table, number

Component = tuple[list[str], list[exp.Expr]]
"""Blurred attributes, and the conditions that tie them together."""
Share = tuple[str, list[str], exp.Select]
"""A component tabulated: its name in the statement, its attributes, and the table."""
MOST_CELLS = 5_000_000
"""A question whose components have more combinations of labels and values is refused."""


def split_predicate(query: Query, blurred: set[str]) -> tuple[list[exp.Expr], list[Component]]:
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


def list_cells(release: Release, table: str, name: str) -> pl.DataFrame:
    """List, per label of an attribute, the values it stands for; missing is null."""
    recoding, attribute = release.recodings[name], release.schema[name]
    if recoding.transformation is Transformation.SET:
        pairs = [(label, text) for label, texts in recoding.labels.items() for text in texts]
        cells = pl.Series([None if t == "(missing)" else t for _, t in pairs], dtype=pl.String)
        codes, domain = reduce_column(cells, attribute).encode(None)
        labels = pl.Series([label for label, _ in pairs])
        return pl.DataFrame({"label": labels, "value": domain.series().gather(codes)})
    boxes = release.tables[table].select(recoding.columns(name)).unique(maintain_order=True)
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


def list_all_cells(
    release: Release, table: str, components: list[Component]
) -> dict[str, pl.DataFrame]:
    """List the cells of all attributes a question looks at, under the names it knows them by."""
    used = sorted({name for names, _ in components for name in names})
    cells = {f"cells {name}": list_cells(release, table, name) for name in used}
    for names, _ in components:
        size = reduce(lambda n, name: n * cells[f"cells {name}"].height, names, 1)
        if size > MOST_CELLS:
            raise QueryError(
                f"The predicate on {', '.join(names)} has {size:,} combinations to look at.",
                hint="Ask about fewer attributes at once, or join them by AND instead of OR.",
            )
    return cells


def count_shares(components: list[Component], grouping: list[str]) -> list[Share]:
    """Tabulate every component."""
    return [
        (f"share {i}", names, _count_cells(names, parts, grouping))
        for i, (names, parts) in enumerate(components)
    ]


def weigh_shares(shares: list[Share]) -> tuple[exp.Expr, exp.Expr]:
    """Give a record's probability of being meant, and 1 or 0 for whether it is sure to be."""
    probability: exp.Expr = double(number(1))
    sure: list[exp.Expr] = []
    for table, _, _ in shares:
        hits, cells = column("#hits", table), column("#total", table)
        share = exp.Div(this=double(hits), expression=double(cells))
        probability = exp.Mul(this=probability, expression=share)
        sure.append(hits.copy().eq(cells.copy()))
    return probability, case(exp.and_(*sure), number(1), number(0)) if sure else number(1)


def join_shares(statement: exp.Select, table: str, shares: list[Share]) -> exp.Select:
    """Let every record of a table look its shares up; those that cannot be meant are left out."""
    for share, names, _ in shares:
        same = [column(name, table).eq(column(name, share)) for name in names]
        possible = exp.GT(this=column("#hits", share), expression=number(0))
        statement = statement.join(named_table(share), on=exp.and_(*same, possible))
    return statement


def _count_cells(names: list[str], parts: list[exp.Expr], grouping: list[str]) -> exp.Select:
    """Count, per combination of labels (and group), the cells that satisfy the predicate."""

    def at_cell(part: exp.Expr) -> exp.Expr:
        return part.transform(
            lambda node: column("value", f"c {node.name}") if isinstance(node, exp.Column) else node
        )

    condition = exp.and_(*(exp.paren(at_cell(part)) for part in parts)) if parts else exp.true()
    labels = [column("label", f"c {name}") for name in names]
    values = [column("value", f"c {name}") for name in names if name in grouping]
    total = exp.Window(
        this=add_up(exp.Count(this=exp.Star())), partition_by=[label.copy() for label in labels]
    )
    made = select(
        *(label.as_(name, quoted=True) for label, name in zip(labels, names, strict=True)),
        *(column("value", f"c {n}").as_(f"#v {n}", quoted=True) for n in names if n in grouping),
        add_up(case(condition, number(1), number(0))).as_("#hits", quoted=True),
        total.as_("#total", quoted=True),
    )
    for i, name in enumerate(names):
        table = named_table(f"cells {name}", f"c {name}")
        made = made.from_(table) if i == 0 else made.join(table, join_type="cross")
    return made.group_by(*(label.copy() for label in labels), *values)
