"""Nearest: questions that can be asked instead of one that was refused, the closest first."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

import sqlglot
from sqlglot import exp

from discreet.table.schema import Schema

OF_NUMBERS = (exp.Sum, exp.Avg, exp.Median, exp.Variance, exp.Stddev, exp.Quantile)


def list_nearest(text: str, schema: Schema, table: str) -> Iterator[str]:
    """Give questions near to one about a table, each a little farther from it.

    Whoever has the release tries them: only its form knows what it can answer.

    >>> from discreet.table.schema import Attribute, Role, Type
    >>> schema = Schema((Attribute("age", Role.QUASI_IDENTIFIER, Type.INTEGER),))
    >>> for near in list_nearest("SELECT agee FROM people", schema, "release"):
    ...     print(near)
    SELECT age FROM release
    SELECT age, COUNT(*) FROM release GROUP BY age
    SELECT COUNT(*) FROM release
    """
    try:
        asked = sqlglot.parse_one(text, read="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        return
    if not isinstance(asked, exp.Select) or asked.find(exp.With, exp.Subquery):
        return
    for source in asked.find_all(exp.Table):
        source.replace(exp.to_table(table))
    given = {text}
    for repair in (_spell_names, _group, _count_instead):
        repair(asked, schema)
        if _is_new(asked, given):
            yield asked.sql("duckdb")
    for kept in _leave_out_conditions(asked):
        if _is_new(kept, given):
            yield kept.sql("duckdb")
    yield f"SELECT COUNT(*) FROM {table}"


def _is_new(asked: exp.Select, given: set[str]) -> bool:
    text = asked.sql("duckdb")
    if text in given:
        return False
    given.add(text)
    return True


def _spell_names(asked: exp.Select, schema: Schema) -> None:
    """Take every column that there is not for the one that is called most alike."""
    known = {name.casefold(): name for name in schema.names}
    made = {part.alias for part in asked.selects if part.alias}
    for column in asked.find_all(exp.Column):
        if column.name in made or column.name.casefold() in known:
            continue
        close = get_close_matches(column.name.casefold(), list(known), n=1)
        if close:
            plain = known[close[0]].isidentifier()
            column.replace(exp.column(known[close[0]], quoted=not plain))


def _group(asked: exp.Select, _: Schema) -> None:
    """Count people by what was to be seen of each of them."""
    keys = asked.args.get("group")
    grouped = {key.sql() for key in keys.expressions} if keys else set()
    stars = [part for part in asked.selects if isinstance(part, exp.Star)]
    aggregated = [part for part in asked.selects if part.find(exp.AggFunc)]
    plain = [part.unalias() for part in asked.selects
             if part not in aggregated and part not in stars]  # fmt: skip
    columns = [part for part in plain if part.find(exp.Column)]
    if stars or not aggregated:
        count = exp.Count(this=exp.Star())
        asked.set("expressions", [part for part in asked.selects if part not in stars] + [count])
    for part in columns:
        if part.sql() not in grouped and not (keys and keys.find(exp.Literal)):
            asked.group_by(part.copy(), copy=False)
    asked.set("distinct", None)


def _count_instead(asked: exp.Select, schema: Schema) -> None:
    """Count people where something was to be computed that is no number."""
    numbers = {name.casefold() for name in schema.names if schema[name].type.numeric}
    for found in list(asked.find_all(*OF_NUMBERS)):
        names = [column.name.casefold() for column in found.find_all(exp.Column)]
        if not set(names) <= numbers:
            found.replace(exp.Count(this=exp.Star()))


def _leave_out_conditions(asked: exp.Select) -> Iterator[exp.Select]:
    """Leave out one condition after the other, then what follows on groups."""
    where = asked.args.get("where")
    parts = list(where.this.flatten()) if where and isinstance(where.this, exp.And) else []
    for left_out in parts:
        rest = [part.copy() for part in parts if part is not left_out]
        kept = asked.copy()
        kept.set("where", exp.Where(this=exp.and_(*rest)))
        yield kept
    kept = asked.copy()
    for name in ("where", "having", "order", "limit", "offset", "qualify"):
        kept.set(name, None)
        yield kept
