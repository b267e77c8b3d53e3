"""How a sliced release answers: in every bucket, the product of the columns' shares.

Within a bucket columns are shuffled independently. Of n people, h_i have values of column i that
the question takes. Somebody who is taken by one column is taken by the others with probability
p = Π h_i/n; how many are is at most the least h_i, and at least what must overlap. So the rows of
one column are gone through, each with that probability, and everything adds up over them.

Where a column shows regions, a row of it is taken with a weight w, the share of its region's cells
that the question takes. h_i then is Σw; what rows must be taken at least are those with w = 1, and
at most those with w > 0.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp, parse_one, select

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.forms.sliced.view import read_columns
from discreet.release import Release
from discreet.sql.exact import name_parts
from discreet.sql.query import Aggregate, Query, Term, find_columns
from discreet.sql.shares import (
    Share,
    find_share,
    join_shares,
    split_predicate,
    tabulate_shares,
    weigh_shares,
)
from discreet.sql.trees import ascending, column, named_table

TABLE, BUCKET, ROWS, SIZES, BASE = "sliced", "bucket", "#rows", "#sizes", "#base"


class AskedColumn(NamedTuple):
    """What a question asks of one column."""

    name: str
    conditions: list[exp.Expr]
    keys: list[Term]
    """What it groups by."""
    shares: list[Share]
    """What it asks of attributes that are shown by regions."""

    @property
    def asks(self) -> bool:
        """Whether the question depends on the column at all."""
        return bool(self.conditions or self.keys or self.shares)


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the rows of one column and the tallies of the others."""
    columns = read_columns(release)
    blurred = {name for name, recoding in release.recodings.items() if recoding.is_blurred}
    own = _choose_column(query, columns, blurred)
    exact, components = split_predicate(query, blurred)
    for condition in query.conditions:
        _refuse_tie(condition, columns)
    grouping = [key for key in query.keys if key.columns & blurred]
    for key in query.keys:
        _refuse_tie(key.expression, columns)
    shares, needed = tabulate_shares(release, TABLE, components, grouping)
    parts = [_ask(query, i, names, exact, shares) for i, names in enumerate(columns)]
    others = [part for i, part in enumerate(parts) if i != own and part.asks]
    keys = [column(name) for name in query.group_by]
    tree = select(*(key.copy() for key in keys)).from_(named_table(BASE))
    certain = not others and not parts[own].shares
    for aggregate in query.aggregates:
        tree = tree.select(*name_parts(aggregate, _answer(aggregate, certain=certain)))
    if keys:
        tree = tree.group_by(*(key.copy() for key in keys))
        tree = tree.order_by(*ascending(*keys))
    clauses = {
        **{s.table: s.clause for s in shares if s.clause is not None},
        **{_taken(part): _take(part, query) for part in (parts[own], *others)},
        ROWS: _list_rows(parts[own], query),
        **{part.name: _tally(part) for part in others},
        SIZES: _count_people(),
        BASE: _join(others),
    }
    for name, clause in clauses.items():
        tree = tree.with_(exp.to_identifier(name, quoted=True), as_=clause)
    return tree, needed


def _choose_column(query: Query, columns: tuple[tuple[str, ...], ...], blurred: set[str]) -> int:
    """Give the column whose attributes are aggregated; without any, the last."""
    asked = {i for t in query.terms for i, names in enumerate(columns) if t.columns & set(names)}
    for aggregate in query.aggregates:
        if aggregate.function in ("MIN", "MAX"):
            raise QueryError(
                f"{aggregate.function} cannot be told from a sliced release.",
                hint="Ask for COUNT, SUM or AVG.",
            )
        for name in sorted(aggregate.columns & blurred):
            raise QueryError(
                f"{name!r} is blurred in this release: {aggregate.function} of it "
                "cannot be answered.",
                hint="Aggregate exact columns; select and group by blurred ones.",
            )
    if len(asked) > 1:
        raise QueryError(
            "The aggregates are about attributes of different columns.",
            hint="Ask one question per column: " + "; ".join(map(", ".join, columns)) + ".",
        )
    return min(asked, default=len(columns) - 1)


def _refuse_tie(condition: exp.Expr, columns: tuple[tuple[str, ...], ...]) -> None:
    names = set(find_columns(condition))
    if names and not any(names <= set(attributes) for attributes in columns):
        raise QueryError(
            f"{condition.sql()!r} ties attributes of different columns.",
            hint="Join conditions on them by AND.",
        )


def _ask(
    query: Query, place: int, attributes: tuple[str, ...], exact: list[exp.Expr],
    shares: list[Share],
) -> AskedColumn:  # fmt: skip
    conditions = []
    for condition in exact:
        names = set(find_columns(condition))
        if names & set(attributes) or (not names and place == 0):  # a constant
            conditions.append(condition)
    keys = [key for key in query.keys if key.columns & set(attributes)]
    about = [share for share in shares if share[1][0] in attributes]
    return AskedColumn(f"#column {place}", conditions, keys, about)


def _expression(text: str) -> exp.Expr:
    return parse_one(text, read="duckdb")


def _taken(part: AskedColumn) -> str:
    return f"{part.name} taken"


def _take(part: AskedColumn, query: Query) -> exp.Select:
    """The rows that a column takes: bucket, keys, what is aggregated, weight and certainty."""
    shared = {name for share in part.shares for name in share.names}
    keys = [
        (column(f"#v {key.name}", find_share(key, part.shares)) if key.columns & shared
         else key.at(TABLE)).as_(key.name, quoted=True) for key in part.keys
    ]  # fmt: skip
    weight, sure = weigh_shares(part.shares)
    found = select(
        column(BUCKET, TABLE),
        *keys,
        *(term.at(TABLE).as_(f"#x {term.name}", quoted=True) for term in query.terms),
        weight.as_("#w", quoted=True),
        sure.as_("#c", quoted=True),
    ).from_(exp.to_table(TABLE))
    found = join_shares(found, TABLE, part.shares)
    for condition in part.conditions:
        found = found.where(condition.copy())
    return found


def _tally(part: AskedColumn) -> exp.Select:
    """Per bucket and group the weight of the rows that a column takes, how many at least, most."""
    keys = [column(BUCKET), *(column(key.name) for key in part.keys)]
    made = ['SUM("#w") AS "#w"', 'SUM("#w" * "#w") AS "#w2"',
            'SUM("#c") AS "#sure"', 'COUNT(*) AS "#maybe"']  # fmt: skip
    found = select(*keys, *map(_expression, made)).from_(named_table(_taken(part)))
    return found.group_by(*(key.copy() for key in keys))


def _count_people() -> exp.Select:
    counted = _expression(f'COUNT(*) AS "{SIZES}"')
    return select(column(BUCKET), counted).from_(exp.to_table(TABLE)).group_by(column(BUCKET))


def _list_rows(part: AskedColumn, query: Query) -> exp.Select:
    """The rows that one column takes, and of each bucket and group their number and order."""
    within = "PARTITION BY " + ", ".join(
        column(key).sql("duckdb") for key in (BUCKET, *(k.name for k in part.keys))
    )
    over = f"OVER ({within})"
    made = [
        f'ROW_NUMBER() OVER ({within} ORDER BY "{BUCKET}") AS "#k"',
        f'COUNT(*) {over} AS "#h"', f'SUM("#c") {over} AS "#s"',
        f'SUM("#w") {over} AS "#hw"', f'SUM("#w" * "#w") {over} AS "#hw2"',
    ]  # fmt: skip
    for name in dict.fromkeys(str(a.column) for a in query.aggregates if a.column is not None):
        there = f'CASE WHEN "#x {name}" IS NULL THEN 0 ELSE 1 END'
        made += [
            f'SUM({there}) {over} AS "#h {name}"', f'SUM({there} * "#c") {over} AS "#s {name}"',
            f'SUM({there} * "#w") {over} AS "#hw {name}"',
            f'SUM({there} * "#w" * "#w") {over} AS "#hw2 {name}"',
        ]  # fmt: skip
    added = (str(a.column) for a in query.aggregates if a.function in ("SUM", "AVG"))
    for name in dict.fromkeys(added):
        value = f'CAST("#x {name}" AS DOUBLE)'
        for direction, order in (("up", "ASC"), ("down", "DESC")):
            ranked = f'CASE WHEN "#x {name}" IS NULL THEN 1 ELSE 0 END, "#x {name}" {order}'
            made.append(f'ROW_NUMBER() OVER ({within} ORDER BY {ranked}) AS "#{direction} {name}"')
        made += [
            f'SUM("#w" * {value}) {over} AS "#t {name}"',
            f'SUM("#w" * {value} * {value}) {over} AS "#q {name}"',
            f'SUM("#w" * "#w" * {value} * {value}) {over} AS "#q2 {name}"',
        ]
    rows = select(exp.Star(), *map(_expression, made))
    return rows.from_(named_table(_taken(part)))


def _join(others: list[AskedColumn]) -> exp.Select:
    """Add to every row its chance p, that of two rows both p2, and what must overlap at least.

    ``#o`` is what the other columns may leave out, ``#l`` the least they may take.
    """
    n = f'CAST("{SIZES}"."{SIZES}" AS DOUBLE)'
    names = [f'"{part.name}"' for part in others]
    chance = " * ".join(f'({name}."#w" / {n})' for name in names) or "1"
    both = " * ".join(
        f'(({name}."#w" * {name}."#w" - {name}."#w2") / NULLIF({n} * ({n} - 1), 0))'
        for name in names
    )
    left = " + ".join(f'("{SIZES}"."{SIZES}" - {name}."#sure")' for name in names) or "0"
    takes = [f'{name}."#maybe"' for name in names]
    least = f"LEAST({', '.join(takes)})" if len(takes) > 1 else takes[0] if takes else n
    made = [f'{chance} AS "#p"', f'COALESCE({both or "1"}, 0) AS "#p2"',
            f'{left} AS "#o"', f'{least} AS "#l"']  # fmt: skip
    rows = exp.Column(this=exp.Star(), table=exp.to_identifier(ROWS, quoted=True))
    keys = [column(key.name, part.name) for part in others for key in part.keys]
    found = select(rows, *keys, *map(_expression, made)).from_(named_table(ROWS))
    for name in (SIZES, *(part.name for part in others)):
        found = found.join(named_table(name), on=column(BUCKET, ROWS).eq(column(BUCKET, name)))
    return found


def _answer(aggregate: Aggregate, *, certain: bool) -> list[exp.Expr]:
    """Give estimate, bounds and standard error of one aggregate."""
    name = aggregate.column
    of = "" if name is None else f" {name}"
    there = "1" if name is None else f'CASE WHEN "#x {name}" IS NULL THEN 0 ELSE 1 END'
    fewest, most = f'GREATEST("#s{of}" - "#o", 0)', f'LEAST("#h{of}", "#l")'
    people = f'SUM({there} * "#w" * "#p")'
    if aggregate.function == "COUNT":
        once = 'CASE WHEN "#k" = 1 THEN {} ELSE 0 END'
        weight, alone = f'"#hw{of}"', f'"#p" * "#hw{of}"'
        spread = f'{alone} + "#p2" * ({weight} * {weight} - "#hw2{of}") - {alone} * {alone}'
        texts = [
            people,
            f"SUM({once.format(fewest)})",
            f"SUM({once.format(most)})",
            f"SQRT(GREATEST(SUM({once.format(spread)}), 0))",
        ]
        return [_expression(f"COALESCE({text}, 0)") for text in texts]
    x, total, square = f'CAST("#x {name}" AS DOUBLE)', f'"#t {name}"', f'"#q {name}"'
    mean = f'SUM({x} * "#w" * "#p")'
    if aggregate.function == "SUM":
        # the fewest must be taken, and more only where that goes further
        low, high = (
            f'SUM(CASE WHEN {x} IS NULL THEN NULL WHEN "#{way} {name}" <= {fewest} '
            f'OR ("#{way} {name}" <= {most} AND {x} {sign} 0) THEN {x} ELSE 0 END)'
            for way, sign in (("up", "<"), ("down", ">"))
        )
        spread = (
            f'"#p" * {square} + "#p2" * ({total} * {total} - "#q2 {name}") '
            f'- "#p" * "#p" * {total} * {total}'
        )
        error = f'SQRT(GREATEST(SUM(CASE WHEN "#k" = 1 THEN {spread} ELSE 0 END), 0))'
        return [_expression(text) for text in (mean, low, high, error)]
    average = f"{mean} / NULLIF({people}, 0)"
    if certain:
        return [_expression(text) for text in (average, average, average, f"0 * {average}")]
    ends = [f"{kind}(CASE WHEN {most} > 0 THEN {x} END)" for kind in ("MIN", "MAX")]
    return [_expression(text) for text in (average, *ends, "NULL")]
