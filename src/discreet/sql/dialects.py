"""Dialects: one tree, and tables that it needs, written so that they mean the same everywhere.

Texts are compared by their code points and folded character by character, as DuckDB does it,
whatever language a database was made for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import polars as pl
from sqlglot import exp

from discreet.errors import QueryError

TYPES = {
    pl.Boolean: "BOOLEAN", pl.Date: "DATE", pl.Datetime: "TIMESTAMP", pl.Int8: "SMALLINT",
    pl.Int16: "SMALLINT", pl.Int32: "INT", pl.Int64: "BIGINT", pl.UInt8: "SMALLINT",
    pl.UInt16: "INT", pl.UInt32: "BIGINT", pl.UInt64: "DECIMAL(20, 0)", pl.Float32: "DOUBLE",
    pl.Float64: "DOUBLE", pl.String: "TEXT", pl.Categorical: "TEXT", pl.Enum: "TEXT",
    pl.Null: "TEXT",
}  # fmt: skip
"""What columns of tables are, in SQL."""
CODE_POINTS = exp.to_identifier("C", quoted=True)
"""PostgreSQL's order of texts by their code points."""
COMPARED = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
FOLDED = (exp.Lower, exp.Upper, exp.ILike)
CHOSEN = (exp.Case, exp.Coalesce)


Tables = Mapping[str, pl.DataFrame]


class Written(NamedTuple):
    """A tree over the tables of a release in the dialect of an engine, ready to be run."""

    sql: str
    tree: exp.Expr
    needed: Tables
    """What it needs besides the release."""


def write(tree: exp.Expr, dialect: str, tables: Tables, *, pretty: bool = False) -> str:
    """Write a tree over some tables in a dialect."""
    if dialect != "duckdb":
        tree = fold(tree, tables)
    if dialect == "postgres":
        tree = collate(tree)
    return tree.sql(dialect=dialect, identify=True, pretty=pretty, copy=False)


def collate(tree: exp.Expr) -> exp.Expr:
    """Have texts that come from no column compared by their code points; columns know it.

    >>> import sqlglot
    >>> collate(sqlglot.parse_one("'a' < 'B' AND n < 'B' AND CAST(n AS TEXT) < '5'")).sql()
    '\\'a\\' COLLATE "C" < \\'B\\' AND n < \\'B\\' AND CAST(n AS TEXT) COLLATE "C" < \\'5\\''
    """
    if not _list_texts(tree):
        return tree
    tree = tree.copy()
    for text in _list_texts(tree):
        text.replace(exp.Collate(this=text.copy(), expression=CODE_POINTS.copy()))
    return tree


def _list_texts(tree: exp.Expr) -> list[exp.Expr]:
    """List what is text, but of no column: what is cast, and what stands for itself."""
    found: list[exp.Expr] = []
    for node in tree.walk():
        if isinstance(node, exp.Cast) and node.to.this in exp.DataType.TEXT_TYPES:
            found.append(node)
        elif isinstance(node, (*COMPARED, *FOLDED, *CHOSEN, exp.Select)):
            found += _list_loose(node)
    return found


def _list_loose(node: exp.Expr) -> list[exp.Expr]:
    """List literal texts that stand beside nothing else; beside a date they would be a date."""
    if isinstance(node, exp.Select):
        results = [found.unalias() for found in node.expressions]
        return [found for found in results if _is_text(found)]
    if isinstance(node, exp.Case):
        results = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
    else:
        results = list(node.iter_expressions())
    results = [found for found in results if found is not None and not isinstance(found, exp.Null)]
    return results[:1] if all(map(_is_text, results)) else []


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string)


def fold(tree: exp.Expr, tables: Tables) -> exp.Expr:
    """Write LOWER, UPPER and ILIKE character by character, if any may be beyond ASCII."""
    if tree.find(*FOLDED) is None:
        return tree
    written = "".join(str(node.this) for node in tree.find_all(exp.Literal))
    if written.isascii() and all(map(_is_ascii, tables.values())):
        return tree
    used = {*written}.union(*map(_list_characters, tables.values()))
    if tree.find(exp.Lower) and tree.find(exp.Upper):  # one may be of the other
        used |= {b for upper in (True, False) for a, b in _pair_letters(upper) if a in used}
    tree = tree.copy()
    for node in list(tree.find_all(exp.ILike)):
        sides = (exp.Lower(this=node.this.copy()), exp.Lower(this=node.expression.copy()))
        node.replace(exp.Like(this=sides[0], expression=sides[1]))
    while letters := tree.find(exp.Lower, exp.Upper):
        pairs = _pair_letters(isinstance(letters, exp.Upper))
        kept = [pair for pair in pairs if pair[0].isascii() or pair[0] in used]
        before, after = (exp.Literal.string("".join(side)) for side in zip(*kept, strict=True))
        letters.replace(exp.Translate(this=letters.this.copy(), from_=before, to=after))
    return tree


@cache
def _pair_letters(upper: bool) -> list[tuple[str, str]]:
    """Pair all letters with what DuckDB folds them to."""
    import duckdb

    function = "upper" if upper else "lower"
    query = (f"SELECT chr(i::INTEGER) AS a, {function}(a) AS b FROM range(1, 1114112) AS r(i) "
             "WHERE i NOT BETWEEN 55296 AND 57343 AND a <> b ORDER BY i")  # fmt: skip
    with duckdb.connect() as database:
        return [(str(a), str(b)) for a, b in database.execute(query).fetchall()]


def _texts(table: pl.DataFrame) -> Iterator[pl.Series]:
    for column in table.iter_columns():
        if TYPES.get(column.dtype.base_type()) == "TEXT":
            yield column.drop_nulls().unique().cast(pl.String)


def _is_ascii(table: pl.DataFrame) -> bool:
    return all((texts.str.len_bytes() == texts.str.len_chars()).all() for texts in _texts(table))


def _list_characters(table: pl.DataFrame) -> set[str]:
    return {letter for texts in _texts(table) for text in texts for letter in text}


def write_table(name: str, table: pl.DataFrame, dialect: str) -> str:
    """Write the statement that makes a temporary table, without its rows."""
    made = exp.Schema(
        this=exp.Table(this=exp.to_identifier(name, quoted=True)),
        expressions=[_define(column, kind, dialect) for column, kind in table.schema.items()],
    )
    temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
    return exp.Create(kind="TABLE", this=made, properties=temporary).sql(dialect)


def _define(name: str, kind: pl.DataType, dialect: str) -> exp.ColumnDef:
    written = TYPES.get(kind.base_type())
    if isinstance(kind, pl.Decimal):
        written = f"DECIMAL({kind.precision}, {kind.scale})"
    if written is None:
        raise QueryError(
            f"{name!r} holds {kind}, which no database is given.",
            hint="Give numbers, texts, dates or what is true or false.",
        )
    order = exp.ColumnConstraint(kind=exp.CollateColumnConstraint(this=CODE_POINTS.copy()))
    return exp.ColumnDef(
        this=exp.to_identifier(name, quoted=True),
        kind=exp.DataType.build(written),
        constraints=[order] if written == "TEXT" and dialect == "postgres" else [],
    )
