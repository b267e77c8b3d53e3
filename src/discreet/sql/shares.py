"""Shares: how much of each box a question covers.

Attributes are independent given the box, so a predicate falls into components that share no
attribute; each is tabulated once per combination of labels, and records look their shares up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce

import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.principles.base import ratio
from discreet.release import Release, Transformation
from discreet.release.cells import MOST_CELLS, list_cells, list_spans, list_values
from discreet.sql.parse import Query
from discreet.sql.trees import add_up, add_up_over, case, column, double, named_table, number

Component = tuple[list[str], list[exp.Expr]]
"""Blurred attributes, and the conditions that tie them together."""
Share = tuple[str, list[str], exp.Select]
"""A component tabulated: its name in the statement, its attributes, and the table."""


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


def list_all_cells(
    release: Release, table: str, components: list[Component], grouping: list[str]
) -> dict[str, pl.DataFrame]:
    """List the values of all attributes a question looks at, under the names it knows them by."""
    cells: dict[str, pl.DataFrame] = {}
    for names, parts in components:
        if is_spanned(release, names, grouping):
            cells[f"spans {names[0]}"] = list_spans(release, table, names[0])
            cells[f"values {names[0]}"] = list_values(release, table, names[0], find_numbers(parts))
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
