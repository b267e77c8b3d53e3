"""What clients look up beside the release: an emulated catalogue of PostgreSQL.

A database of its own, without files, network or the release: DuckDB over a few small tables. It
runs only what is known to be harmless, for a client may send anything. Functions are allow-listed,
and what asks for others, or for tables and columns that there are none of, finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import polars as pl
from sqlglot import exp

from discreet.serving.catalogue_tables import COLUMNS, FULL_NAMES, SETTINGS, list_rows
from discreet.serving.messages import Refusal
from discreet.serving.statements import fold_name
from discreet.serving.values import WireType

MACROS = {
    "version()": "'PostgreSQL 14.0 (discreet)'",
    "current_database()": "{database}",
    "current_schema()": "'public'",
    "current_schemas(a)": "['pg_catalog', 'public']",
    "current_setting(a, b := NULL)": "(SELECT setting FROM emulated.pg_settings "
    "WHERE lower(name) = lower(a))",
    "set_config(a, b, c)": "b",
    "pg_backend_pid()": "0",
    "pg_is_in_recovery()": "false",
    "pg_advisory_unlock_all()": "NULL",
    "format_type(a, b)": "CASE a {names} END",
    "pg_get_userbyid(a)": "'discreet'",
    "pg_encoding_to_char(a)": "'UTF8'",
    "to_regtype(a)": "(SELECT min(oid) FROM emulated.pg_type WHERE typname = a)",
    "to_regclass(a)": "(SELECT min(oid) FROM emulated.pg_class "
    "WHERE relname = regexp_replace(a, '^public\\.', ''))",
    "pg_table_is_visible(a)": "true",
    "pg_type_is_visible(a)": "true",
    "pg_collation_is_visible(a)": "true",
    "pg_function_is_visible(a)": "true",
    "pg_relation_is_publishable(a)": "false",
    "pg_total_relation_size(a)": "0",
    "pg_relation_size(a)": "0",
    "pg_table_size(a)": "0",
    "pg_get_expr(a, b, c := NULL)": "NULL",
    "pg_get_constraintdef(a, b := NULL)": "NULL",
    "pg_get_indexdef(a, b := NULL, c := NULL)": "NULL",
    "pg_get_partkeydef(a)": "NULL",
    "pg_get_serial_sequence(a, b)": "NULL",
    "obj_description(a, b := NULL)": "NULL",
    "shobj_description(a, b)": "NULL",
    "col_description(a, b)": "NULL",
    "has_table_privilege(a, b, c := NULL)": "true",
    "has_schema_privilege(a, b, c := NULL)": "true",
    "has_database_privilege(a, b, c := NULL)": "true",
    "quote_ident(a)": "'\"' || a || '\"'",
}  # fmt: skip
"""Functions that clients call, as macros."""
KNOWN = frozenset(signature.partition("(")[0] for signature in MACROS) | {"all"}
EMPTY = ("array_length", "array_to_string", "json_build_object")
"""Functions of what there is none of, so that nothing in them needs to be known."""
HARMLESS = (
    exp.And, exp.Or, exp.Case, exp.If, exp.Cast, exp.Coalesce, exp.Nullif, exp.Exists, exp.Any,
    exp.Count, exp.Min, exp.Max, exp.Sum, exp.Lower, exp.Upper, exp.Length, exp.Substring,
    exp.Left, exp.Right, exp.Trim, exp.StrPosition, exp.RegexpLike, exp.RegexpILike,
    exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentVersion, exp.CurrentSchema,
    exp.CurrentSchemas, exp.CurrentDatabase, exp.CurrentCatalog, exp.RowNumber,
)  # fmt: skip
"""Functions by which no text and no list grows: DuckDB would let them fill the memory."""
LONGEST, LONGEST_TEXT, MOST_COLUMNS, MOST_ROWS = 1 << 15, 500, 100, 2_000
"""Of a statement, a text in it, what it selects and what it gives; so its memory is bounded."""
USER = "discreet"
NUMBERS = ("oid", "int2", "int4", "int8", "xid", "regnamespace", "regrole")


class Catalogue:
    """What the clients of one release may look up."""

    def __init__(self, name: str, names: Iterable[str], columns: dict[str, WireType]) -> None:
        import duckdb

        self._connection = duckdb.connect(
            config={"enable_external_access": False, "python_enable_replacements": False,
                    "autoinstall_known_extensions": False, "autoload_known_extensions": False,
                    "memory_limit": "256MB", "temp_directory": "", "threads": 1}
        )  # fmt: skip
        self._connection.execute("CREATE SCHEMA emulated")
        rows = list_rows(name, names, columns)
        for table, told in COLUMNS.items():
            fields = dict(map(_read_field, told.split()))
            listed = ", ".join(f'"{field}" {kind}' for field, kind in fields.items())
            self._connection.execute(f"CREATE TABLE emulated.{table} ({listed})")
            for row in rows.get(table, ()):
                places = ", ".join("?" for _ in row)
                into = ", ".join(f'"{field}"' for field in row)
                self._connection.execute(
                    f"INSERT INTO emulated.{table} ({into}) VALUES ({places})", [*row.values()]
                )
        quoted = exp.Literal.string(name).sql(dialect="duckdb")
        names_of_types = " ".join(f"WHEN {oid} THEN '{name}'" for oid, name in FULL_NAMES.items())
        for signature, body in MACROS.items():
            meant = body.replace("{names}", names_of_types).replace("{database}", quoted)
            self._connection.execute(f"CREATE MACRO {signature} AS {meant}")
        self._connection.execute("SET enable_progress_bar = false")
        self._connection.execute("SET lock_configuration = true")

    def look_up(self, tree: exp.Expr) -> tuple[list[str], pl.DataFrame]:
        """Run what was asked; where it goes beyond what there is, nothing is found.

        Columns have names apart, for several may have the same.
        """
        import duckdb

        asked = tree.selects if isinstance(tree, exp.Query) else []
        names = [_name_column(one) for one in asked if not one.is_star]
        try:
            sql = _adapt(tree).sql(dialect="duckdb")
            if len(sql) > LONGEST:
                raise LookupError
            found: Any = self._connection.sql(sql).to_arrow_table()
        except duckdb.InterruptException:
            raise
        except (duckdb.Error, LookupError) as error:
            if tree.find(exp.Table) is None:
                raise Refusal(
                    "0A000", "This is not known here.", "Ask: SELECT COUNT(*) FROM release."
                ) from error
            return names, pl.DataFrame(schema={str(i): pl.String() for i in range(len(names))})
        frame = pl.from_arrow(found.rename_columns([*map(str, range(found.num_columns))]))
        assert isinstance(frame, pl.DataFrame)
        return names if len(names) == frame.width else found.column_names, frame

    def interrupt(self) -> None:
        """Break off what runs."""
        self._connection.interrupt()

    def close(self) -> None:
        """Let go of everything."""
        self._connection.close()


def _adapt(tree: exp.Expr) -> exp.Expr:
    """Say in DuckDB's words what was asked in PostgreSQL's."""
    if not isinstance(tree, exp.Query) or any(with_.recursive for with_ in tree.find_all(exp.With)):
        raise LookupError
    for call in [*tree.find_all(exp.Anonymous, exp.ArraySize, exp.ArrayToString)]:
        if not isinstance(call, exp.Anonymous) or call.name.lower() in EMPTY:
            call.replace(exp.Null())
    own = {clause.alias.lower() for clause in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        name = table.name.lower()
        if not isinstance(table.this, exp.Identifier) or name not in {*COLUMNS, *own}:
            raise LookupError
        if name not in own:
            table.set("this", exp.to_identifier(name))
            table.set("db", exp.to_identifier("emulated"))
            table.set("catalog", None)
    for node in [*tree.walk()][::-1]:  # what is inside comes first, so that all is looked at
        spelled = _adapt_node(node)
        if spelled is not node:
            node.replace(spelled)
    limit = tree.args.get("limit")
    few = isinstance(limit, exp.Limit) and limit.expression.is_int
    few = few and int(limit.expression.name) <= MOST_ROWS  # type: ignore[union-attr]
    return tree if few else tree.limit(MOST_ROWS)


def _adapt_node(node: exp.Expr) -> exp.Expr:
    for kind, spell in SPELLINGS.items():
        if isinstance(node, kind):
            return spell(node)
    known = not isinstance(node, exp.Func) or isinstance(node, HARMLESS)
    if isinstance(node, exp.Anonymous):
        known = node.name.lower() in KNOWN
    long = isinstance(node, exp.Literal) and len(node.name) > LONGEST_TEXT
    wide = isinstance(node, exp.Select) and len(node.expressions) > MOST_COLUMNS
    if not known or long or wide or isinstance(node, exp.DPipe):
        raise LookupError(node.sql())
    return node


def show_setting(name: str) -> str:
    """Give a setting, as SHOW does; some have a name of several words.

    >>> show_setting("TRANSACTION ISOLATION LEVEL")
    'read committed'
    """
    known = {fold_name(setting): value for setting, value in SETTINGS.items()}
    found = known.get(fold_name(name).removesuffix("level"))
    if found is None:
        raise Refusal("42704", f"There is no setting {name!r}.")
    return found


def _read_field(told: str) -> tuple[str, str]:
    kind = "BIGINT" if "#" in told else "BOOLEAN" if "?" in told else "VARCHAR"
    return told.rstrip("#?[]"), kind + ("[]" if "[]" in told else "")


def _name_column(asked: exp.Expr) -> str:
    """Name a column of an answer as PostgreSQL does."""
    if isinstance(asked, exp.Alias | exp.Column | exp.Subquery):
        return asked.alias_or_name
    inner = asked.expression if isinstance(asked, exp.Dot) else asked
    if not isinstance(inner, exp.Func):
        return "?column?"
    name = inner.name if isinstance(inner, exp.Anonymous) else inner.sql_name()
    return name.lower().replace("current_version", "version")


def _spell_column(node: exp.Column) -> exp.Column:
    node.set("db", None)
    node.set("catalog", None)
    return node


def _spell_operator(node: exp.Operator) -> exp.Expr:
    operator = str(node.args["operator"]).rpartition(".")[2]
    kinds: dict[str, type[exp.Expr]] = {"~": exp.RegexpLike, "=": exp.EQ, "~~": exp.Like}
    kind = kinds.get(operator.removeprefix("!"))
    if kind is None:
        raise LookupError
    found = kind(this=node.this, expression=node.expression)
    return exp.Not(this=found) if operator.startswith("!") else found


def _spell_cast(node: exp.Cast) -> exp.Expr:
    """Casts to what only PostgreSQL has: names of its own things, by their numbers."""
    name = node.to.sql(dialect="postgres").lower().strip('"').rpartition(".")[2].strip('"')
    if name in ("regclass", "regtype") and node.this.is_string:
        return exp.Anonymous(this=f"to_{name}", expressions=[node.this])
    if name == "regtype":
        return exp.Anonymous(this="format_type", expressions=[node.this, exp.Null()])
    if name in NUMBERS:
        return exp.TryCast(this=node.this, to=exp.DataType.build("BIGINT"))
    if node.to.is_type(exp.DType.USERDEFINED) or isinstance(node.to, exp.ObjectIdentifier):
        return exp.cast(node.this, "TEXT")
    return node


def _spell_any(node: exp.Expr) -> exp.Expr:
    """A list that is written as a text, ``'{a,b}'``, as one."""
    listed = node.this.unnest() if isinstance(node, exp.Any) else node.expressions[0]
    if not listed.is_string:
        return node
    items = [exp.Literal.string(item) for item in listed.name.strip("{}").split(",") if item]
    return exp.Any(this=exp.paren(exp.Array(expressions=items)))


def _spell_replace(node: exp.Replace) -> exp.Expr:
    """A text in which nothing is replaced, for texts could grow; else nothing."""
    pattern = node.expression
    here = exp.StrPosition(this=node.this.copy(), substr=pattern.copy())
    return exp.Case().when(here.eq(0), node.this)


def _spell_array(node: exp.Array) -> exp.Array:
    if not all(isinstance(item, exp.Literal | exp.Query) for item in node.expressions):
        raise LookupError
    return node


SPELLINGS: dict[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    exp.Dot: lambda node: node.expression if node.this.name == "pg_catalog" else node,
    exp.Collate: lambda node: node.this,
    exp.Column: _spell_column,
    exp.Operator: _spell_operator,
    exp.Cast: _spell_cast,
    exp.Any: _spell_any,
    exp.Array: _spell_array,
    exp.Replace: _spell_replace,
    exp.CurrentUser: lambda _: exp.Literal.string(USER),
    exp.SessionUser: lambda _: exp.Literal.string(USER),
}
