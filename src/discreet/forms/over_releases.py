"""Questions about several releases: each is asked by itself, in its own form.

What a question says of the release is settled first. So it may be about some releases only, and
about attributes that others do not have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import QueryError
from discreet.release import Release
from discreet.release.series import Series, fits, name_tables
from discreet.sql.dialects import Tables
from discreet.sql.pooling import Pool
from discreet.sql.query import Query
from discreet.sql.settling import Settled, settle_query
from discreet.sql.trees import named_table
from discreet.table.schema import Schema


class DisagreementError(QueryError):
    """Releases that a question is about do not have the same attributes."""


RewriteOne = Callable[[Release, Query], tuple[exp.Select, Tables]]


@dataclass(frozen=True)
class Pooled:
    """A question about a series, as one statement."""

    tree: exp.Select
    needed: Tables
    asked: Mapping[str, Query]
    """What each release was asked, of those that it is about."""


def pool(series: Series, schema: Schema, query: Query, rewrite_one: RewriteOne) -> Pooled:
    """Rewrite a question about a series, whose columns are what the schema says."""
    settled = settle_query(query, series.by, series.values)
    about = {name: part for name, part in zip(series, settled, strict=True) if part is not None}
    _refuse_lacking(series, schema, about)
    pooled = Pool(query, schema, series.by, list(about.values()))
    asked = {name: pooled.ask(part) for name, part in about.items()}
    trees: list[exp.Select] = []
    needed: dict[str, object] = {}
    for name, question in asked.items():
        release = series[name]
        try:
            tree, tables = rewrite_one(release, question)
        except QueryError as error:
            error.message = f"{series.by} {name}: {error.message}"
            raise
        titles = name_tables({**release.tables, **tables}, name)
        trees.append(rename_tables(tree, titles))
        needed |= {titles[title]: table for title, table in tables.items()}
    return Pooled(pooled.put_together(trees), needed, asked)  # type: ignore[arg-type]


def rename_tables(tree: exp.Select, titles: Mapping[str, str]) -> exp.Select:
    """Let a statement read tables under other names."""
    for table in list(tree.find_all(exp.Table)) if titles else []:
        if table.name in titles:
            table.replace(named_table(titles[table.name], table.alias or table.name))
    return tree


def _refuse_lacking(series: Series, schema: Schema, about: Mapping[str, Settled]) -> None:
    """Refuse what is about attributes that a release does not have, or has as something else."""
    names = dict.fromkeys(name for part in about.values() for name in part.columns)
    for attribute in names:
        having = {name: release.schema[attribute] for name, release in series.releases.items()
                  if attribute in release.schema.names}  # fmt: skip
        asking = [name for name, part in about.items() if attribute in part.columns]
        lacking = [name for name in asking if name not in having]
        other = [name for name in asking
                 if name in having and not fits(having[name], schema[attribute])]  # fmt: skip
        if not lacking and not other:
            continue
        like = [name for name in having if fits(having[name], schema[attribute])]
        hint = f"Ask about others: {_restrict(series, like)}."
        if lacking:
            raise DisagreementError(f"{attribute!r} is not in {', '.join(lacking)}.", hint=hint)
        said = "; ".join(f"{name}: {having[name].type}" for name in asking)
        raise DisagreementError(
            f"{attribute!r} is not the same in all releases ({said}).", hint=hint
        )


def _restrict(series: Series, names: Sequence[str]) -> str:
    """Write the condition that takes some releases."""
    values = dict(zip(series, series.values.to_list(), strict=True))
    listed = [exp.convert(values[name]).sql() for name in names]
    written = f"= {listed[0]}" if len(listed) == 1 else f"IN ({', '.join(listed)})"
    return f"WHERE {exp.to_identifier(series.by).sql('duckdb')} {written}"


def list_unknown_releases(series: Series, questions: Sequence[Query]) -> list[str]:
    """Say which releases a question names that there are not."""
    known = {str(value) for value in series.values.to_list()}
    found: dict[str, None] = {}
    for query in questions:
        for part in query.conditions:
            for node in part.find_all(exp.EQ, exp.In):
                sides = [node.this, *(node.expressions or [node.expression])]
                if any(isinstance(side, exp.Column) and side.name == series.by for side in sides):
                    found |= dict.fromkeys(side.name for side in sides
                                           if isinstance(side, exp.Literal))  # fmt: skip
    return [f"There is no release {name}, only {series.listed}." for name in found
            if name not in known]  # fmt: skip
