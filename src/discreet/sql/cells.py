"""Cells: the values a box may stand for, and the share of them that a question covers.

Attributes are independent given the box, so a predicate falls into components that share no
attribute; each is tabulated once per combination of labels, and records look their shares up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from math import floor

import numpy as np
import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.principles.base import ratio
from discreet.release import Release, Transformation
from discreet.sql.parse import Query
from discreet.sql.trees import add_up, add_up_over, case, column, double, named_table, number
from discreet.table.domain import MISSING, reduce_column
from discreet.table.schema import Attribute, Type

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
    for part in query.conditions:
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


def list_cells(release: Release, table: str, name: str) -> pl.DataFrame:
    """List, per label of an attribute, the values it stands for; missing is null."""
    recoding, attribute = release.recodings[name], release.schema[name]
    if recoding.transformation is Transformation.SET:
        pairs = [(label, text) for label, texts in recoding.labels.items() for text in texts]
        cells = pl.Series([None if t == MISSING else t for _, t in pairs], dtype=pl.String)
        codes, domain = reduce_column(cells, attribute).encode(None)
        labels = pl.Series([label for label, _ in pairs])
        return pl.DataFrame({"label": labels, "value": domain.series().gather(codes)})
    spans = list_spans(release, table, name)
    lengths = spans["last"] - spans["first"] + 1
    if int((lengths + spans["absent"]).sum()) > MOST_CELLS:
        raise QueryError(
            f"{name!r} has too many values to look at one by one.",
            hint="Ask about another attribute, or about this one without GROUP BY and OR.",
        )
    values = _list_values(release, table, name)
    owner = np.repeat(np.arange(spans.height), lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    place = np.arange(len(owner)) - starts[owner] + spans["first"].to_numpy()[owner]
    inside = pl.DataFrame(
        {"label": spans["label"].gather(owner), "value": values["value"].gather(place + 1)}
    )
    absent = spans.filter(pl.col("absent") == 1).select(
        "label", value=pl.lit(None, values["value"].dtype)
    )
    return pl.concat([inside, absent])


def list_spans(release: Release, table: str, name: str) -> pl.DataFrame:
    """List the intervals of an attribute: label, first and last place, whether missing is in it.

    Places count the values from the lowest end of any interval on; an interval of nothing but
    missing ends before it starts.
    """
    recoding, attribute = release.recodings[name], release.schema[name]
    boxes = release.tables[table].select(recoding.columns(name)).unique(maintain_order=True)
    ends = [_number_places(boxes[f"{name}_{end}"], attribute) for end in ("low", "high")]
    lowest = int(ends[0].min() or 0)  # type: ignore[arg-type]
    return pl.DataFrame(
        {
            "label": boxes[name].cast(pl.String),
            "first": (ends[0] - lowest).fill_null(0),
            "last": (ends[1] - lowest).fill_null(-1),
            "absent": boxes[f"{name}_missing"].cast(pl.Int64) if recoding.missing else 0,
        }
    )


def _number_places(ends: pl.Series, attribute: Attribute) -> pl.Series:
    """Number the values of an ordered attribute, one by one, without gaps."""
    if attribute.type is Type.ORDINAL:
        order = list(attribute.order)
        return pl.Series([None if e is None else order.index(str(e)) for e in ends], dtype=pl.Int64)
    if attribute.type is Type.DATE:
        return ends.to_physical().cast(pl.Int64)
    scale = 10 ** (attribute.decimals or 0) if attribute.type is Type.DECIMAL else 1
    return (ends * scale).round().cast(pl.Int64) if scale > 1 else ends.cast(pl.Int64)


def _list_values(
    release: Release, table: str, name: str, parts: Sequence[exp.Expr] | None = None
) -> pl.DataFrame:
    """List all values from the lowest to the highest end by their places; missing is at -1.

    Values that the conditions given cannot tell apart, because no number of theirs and no end of an
    interval lies between them, are one line: the place of the last, and how ``many`` they are.
    """
    attribute = release.schema[name]
    low, high = (
        _number_places(release.tables[table][f"{name}_{end}"], attribute).sort(nulls_last=True)
        for end in ("low", "high")
    )
    first, last = (0, -1) if low.null_count() == len(low) else (int(low[0]), int(high.max()))  # type: ignore[arg-type]
    numbers = None
    if parts is not None and attribute.type in (Type.INTEGER, Type.DECIMAL):
        numbers = find_numbers(parts)
    if numbers is not None:
        scale = 10 ** (attribute.decimals or 0)
        ends = np.concatenate([low.drop_nulls().to_numpy(), high.drop_nulls().to_numpy() + 1])
        near = [floor(n * scale) + step for n in numbers for step in (-1, 0, 1, 2)]
        starts = np.unique([first, *ends.tolist(), *(n for n in near if first < n <= last)])
        starts = starts[starts <= last]
    elif last - first >= MOST_CELLS:
        raise QueryError(
            f"{name!r} has {last - first + 1:,} values to look at one by one.",
            hint="Compare it with numbers alone, or ask about another attribute.",
        )
    else:
        starts = np.arange(first, last + 1)
    places = pl.Series(starts, dtype=pl.Int64)
    values = places
    if attribute.type is Type.ORDINAL:
        values = pl.Series(attribute.order, dtype=pl.String).gather(places)
    elif attribute.type is Type.DATE:
        values = places.cast(pl.Int32).cast(pl.Date)
    elif attribute.type is Type.DECIMAL:  # divided as the release's own numbers were
        values = pl.Series(starts / 10 ** (attribute.decimals or 0))
    until = np.append(starts[1:], last + 1)[: len(starts)]
    nothing = pl.Series([None], dtype=values.dtype)
    return pl.DataFrame(
        {
            "place": np.concatenate([[-1], until - 1 - first]).astype(np.int64),
            "value": nothing.append(values),
            "many": np.concatenate([[1], until - starts]).astype(np.int64),
        }
    )


COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
CONNECTIVES = (exp.And, exp.Or, exp.Not, exp.Paren)


def find_numbers(parts: Sequence[exp.Expr]) -> list[Fraction] | None:
    """Give the numbers that conditions compare one column with; ``None`` if they do anything else.

    >>> import sqlglot
    >>> find_numbers([sqlglot.parse_one("x < 10.5 OR NOT x IN (-1, 2) OR x IS NULL")])
    [Fraction(21, 2), Fraction(-1, 1), Fraction(2, 1)]
    >>> find_numbers([sqlglot.parse_one("x % 7 = 0")]) is None
    True
    """
    found: list[Fraction] = []
    for part in parts:
        if isinstance(part, CONNECTIVES):
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
    """Read the sides of a comparison: a column, and numbers as they are written."""
    numbers = []
    for side in sides:
        if isinstance(side, exp.Column):
            continue
        written = side.this if isinstance(side, exp.Neg) else side
        if not isinstance(written, exp.Literal) or written.is_string:
            return None
        try:
            value = ratio(written.name)
        except ValueError:
            return None
        numbers.append(-value if written is not side else value)
    return numbers if len(numbers) < len(sides) else None


def count_values(release: Release, table: str, name: str) -> dict[str, int]:
    """Count, per label of an attribute, the values it stands for."""
    recoding = release.recodings[name]
    if recoding.transformation is Transformation.SET:
        return {label: len(texts) for label, texts in recoding.labels.items()}
    spans = list_spans(release, table, name)
    lengths = spans["last"] - spans["first"] + 1 + spans["absent"]
    return dict(zip(spans["label"], lengths, strict=True))


def list_all_cells(
    release: Release, table: str, components: list[Component], grouping: list[str]
) -> dict[str, pl.DataFrame]:
    """List the values of all attributes a question looks at, under the names it knows them by."""
    cells: dict[str, pl.DataFrame] = {}
    for names, parts in components:
        if is_spanned(release, names, grouping):
            cells[f"spans {names[0]}"] = list_spans(release, table, names[0])
            cells[f"values {names[0]}"] = _list_values(release, table, names[0], parts)
            continue
        listed = {f"cells {name}": list_cells(release, table, name) for name in names}
        size = reduce(lambda n, frame: n * frame.height, listed.values(), 1)
        if size > MOST_CELLS:
            raise QueryError(
                f"The predicate on {', '.join(names)} has {size:,} combinations to look at.",
                hint="Ask about fewer attributes at once, or join them by AND instead of OR.",
            )
        cells.update(listed)
    return cells


def is_spanned(release: Release, names: list[str], grouping: list[str]) -> bool:
    """Whether hits in a component can be read off prefix counts: one attribute, of intervals."""
    kind = release.recodings[names[0]].transformation
    return len(names) == 1 and names[0] not in grouping and kind is Transformation.INTERVAL


def count_shares(release: Release, components: list[Component], grouping: list[str]) -> list[Share]:
    """Tabulate every component: by prefix counts where that is possible, else cell by cell."""
    return [
        (
            f"share {i}",
            names,
            _count_spans(names[0], parts)
            if is_spanned(release, names, grouping)
            else _count_cells(names, parts, grouping),
        )
        for i, (names, parts) in enumerate(components)
    ]


def _at(parts: list[exp.Expr], place: Callable[[str], exp.Expr]) -> exp.Expr:
    """A predicate with columns replaced by where their values are."""
    moved = [
        part.transform(lambda node: place(node.name) if isinstance(node, exp.Column) else node)
        for part in parts
    ]
    return exp.and_(*(exp.paren(part) for part in moved)) if moved else exp.true()


def _count_spans(name: str, parts: list[exp.Expr]) -> exp.Select:
    """Count the hits of each interval as the difference of two prefix counts."""
    condition = _at(parts, lambda _: column("value"))
    upto = add_up_over(case(condition, column("many"), number(0)), order=[column("place")])
    prefix = select(column("place"), upto.as_("#upto", quoted=True))
    prefix = prefix.from_(named_table(f"values {name}"))
    first, last, absent = (column(end, "s") for end in ("first", "last", "absent"))
    high, low, none = (column("#upto", table) for table in ("high", "low", "none"))
    hits = exp.Add(
        this=exp.Sub(this=high, expression=low),
        expression=exp.Mul(this=absent, expression=none),
    )
    cells = last.copy() - first.copy() + number(1) + absent.copy()
    made = select(
        column("label", "s").as_(name, quoted=True),
        hits.as_("#hits", quoted=True),
        cells.as_("#total", quoted=True),
    ).from_(named_table(f"spans {name}", "s"))
    for table, place in (
        ("high", last), ("low", exp.paren(first - number(1))), ("none", number(-1)),
    ):  # fmt: skip
        made = made.join(named_table("#prefix", table), on=column("place", table).eq(place.copy()))
    return made.with_(exp.to_identifier("#prefix", quoted=True), as_=prefix)


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
    condition = _at(parts, lambda name: column("value", f"c {name}"))
    labels = [column("label", f"c {name}") for name in names]
    values = [column("value", f"c {name}") for name in names if name in grouping]
    total = add_up_over(exp.Count(this=exp.Star()), labels)
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
