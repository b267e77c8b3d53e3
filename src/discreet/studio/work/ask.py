"""Ask: what a worker keeps of the release that is asked, and answers from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import polars as pl
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from discreet.analysis.tabulation import draw_answer
from discreet.errors import DiscreetError, QueryError, name_closest
from discreet.evaluate.charts import dress
from discreet.forms.asking import Answer, show_sql, write_number
from discreet.forms.prepared import Prepared
from discreet.release import Release
from discreet.release.manifest import MANIFEST
from discreet.release.series import Series, find_releases, load_published
from discreet.sql.hints import list_values
from discreet.sql.nearest import list_nearest
from discreet.sql.query import ENDINGS
from discreet.table.schema import Attribute, Schema, Type

MOST_VALUES = 300
"""Values of an attribute that are proposed while somebody types."""
MOST_ROWS = 500
MOST_CELLS = 30
"""Columns of a crosstab; wider ones are lists."""
LONGEST_TITLE = 320
WIDEST, BROADEST, NARROWEST = 640, 72, 16
"""Of a chart in pixels: how wide it is if that is enough, and how broad its bars are."""
RESERVED = {words.split()[0] for words in DuckDB.Tokenizer.KEYWORDS}
"""What begins something else in SQL than a name."""
MEASURES = {
    "count": "how many people",
    "avg": "average",
    "sum": "sum",
    "median": "median",
    "min": "smallest",
    "max": "largest",
}
COMPARISONS: dict[str, tuple[str, type[exp.Binary]]] = {
    "is": ("is", exp.EQ),
    "not": ("is not", exp.NEQ),
    "least": ("is at least", exp.GTE),
    "most": ("is at most", exp.LTE),
}


@dataclass(eq=False)
class OpenRelease:
    """A release, or several of a table, ready for questions."""

    published: Release | Series

    @property
    def releases(self) -> list[Release]:
        """The releases that are asked."""
        several = isinstance(self.published, Series)
        return list(self.published.releases.values()) if several else [self.published]  # type: ignore[union-attr,list-item]

    @property
    def schema(self) -> Schema:
        """What its columns are, as most releases say."""
        several = isinstance(self.published, Series)
        return self.published.schemas[0] if several else self.published.schema  # type: ignore[union-attr]

    @property
    def table(self) -> str:
        """What is asked in SQL."""
        return "releases" if isinstance(self.published, Series) else "release"

    @cached_property
    def prepared(self) -> Prepared:
        """It, laid out for many questions."""
        return self.published.prepare()

    @cached_property
    def columns(self) -> list[dict[str, Any]]:
        """Every column: how SQL spells it and its values, and what was done to it."""
        return [self._describe(attribute) for attribute in self.schema]

    def _describe(self, attribute: Attribute) -> dict[str, Any]:
        name = attribute.name
        holders = [release for release in self.releases if name in release.schema.names]
        if not holders:  # the column that tells releases apart
            assert isinstance(self.published, Series)
            values, how = [str(v) for v in self.published.values], "the name of the release"
        else:
            values = sorted({value for r in holders for value in list_values(r, name)},
                            key=_place_value(attribute))  # fmt: skip
            how = holders[0].explain(name).replace("`", "")
        ends = None if not attribute.type.numeric else _find_ends(holders, name)
        return {
            "name": name,
            "sql": spell_column(name),
            "type": str(attribute.type),
            "role": str(attribute.role),
            "numeric": attribute.type in (Type.INTEGER, Type.DECIMAL),
            "how": how,
            "ends": ends,
            "values": [
                {"text": value, "sql": spell_value(attribute, value)}
                for value in values[:MOST_VALUES]
            ],
        }


def _place_value(attribute: Attribute) -> Any:
    if attribute.order:
        places = {value: place for place, value in enumerate(attribute.order)}
        return lambda value: (places.get(value, len(places)), value)
    if attribute.type in (Type.INTEGER, Type.DECIMAL):
        return float
    return str


def _find_ends(releases: Sequence[Release], name: str) -> list[str] | None:
    """Give the outermost numbers or dates that a release shows of an attribute."""
    for release in releases:
        told = release.recodings[name]
        if len(told.domain) >= 2:
            return [told.domain[0], told.domain[-1]]
        for table in release.carriers.values():
            if name in table.columns and table[name].dtype != pl.String and table.height:
                return [str(table[name].min()), str(table[name].max())]
    return None


def open_release(folder: Path) -> OpenRelease:
    """Load what is asked, unless it was asked before and has not changed."""
    stamps = []
    for place in find_releases(folder) or [folder]:
        manifest = place / MANIFEST
        told = manifest.stat() if manifest.exists() else None
        stamps.append((place, told and (told.st_mtime_ns, told.st_size)))
    return _open_stamped(folder, tuple(stamps))


@lru_cache(maxsize=2)
def _open_stamped(folder: Path, stamps: tuple[Any, ...]) -> OpenRelease:  # noqa: ARG001
    return OpenRelease(load_published(folder))


def warm_up(folder: Path) -> None:
    """Lay a release out, before it is asked."""
    _ = open_release(folder).prepared


def look(folder: Path) -> dict[str, Any]:
    """Say what can be asked of a release."""
    asked = open_release(folder)
    first = asked.releases[0]
    return {
        "table": asked.table,
        "columns": asked.columns,
        "records": max(table.height for table in first.carriers.values()),
        "method": first.method,
        "guarantee": first.promise.guarantee,
        "leaves_open": list(first.promise.leaves_open),
        "several": len(asked.releases) if isinstance(asked.published, Series) else 0,
        "names": list(asked.published) if isinstance(asked.published, Series) else [],
        "measures": MEASURES,
        "comparisons": {name: said for name, (said, _) in COMPARISONS.items()},
        "examples": _give_examples(asked),
    }


def _give_examples(asked: OpenRelease) -> list[str]:
    """Give a few questions that its columns allow."""
    numbers = [c for c in asked.columns if c["numeric"]]
    few = [c for c in asked.columns if not c["numeric"] and 1 < len(c["values"]) <= 12]
    found = [f"SELECT COUNT(*) FROM {asked.table}"]
    if few:
        by = few[0]["sql"]
        found.append(f"SELECT {by}, COUNT(*) FROM {asked.table} GROUP BY {by}")
    if few and numbers:
        by, number = few[-1]["sql"], numbers[-1]["sql"]
        found.append(f"SELECT {by}, AVG({number}) FROM {asked.table} GROUP BY {by}")
    return found


def answer(folder: Path, sql: str) -> dict[str, Any]:
    """Answer a question; of one that is refused, find the nearest that can be asked."""
    asked = open_release(folder)
    if not sql.strip():
        raise QueryError("There is no question.", hint="Write one, or use the form.")
    try:
        return _tell(asked.prepared.query(sql))
    except QueryError as error:
        near = _find_nearest(asked, sql)
        return {"refused": {"message": error.message, "hint": error.hint}, "nearest": near}


def _find_nearest(asked: OpenRelease, sql: str) -> str | None:
    for near in list_nearest(sql, asked.schema, asked.table):
        try:
            asked.prepared.query(near)
        except DiscreetError:
            continue
        return near
    return None


def write_statement(folder: Path, sql: str, dialect: str) -> str:
    """Write the question over the tables of the release, as ``query --show-sql`` does."""
    return show_sql(open_release(folder).published, sql, dialect)


def _tell(found: Answer) -> dict[str, Any]:
    rows = [_tell_row(found, row) for row in found.frame.head(MOST_ROWS).iter_rows(named=True)]
    single = len(found.told) == 1 and not found.known and found.frame.height == 1
    return {
        "refused": None,
        "known": found.known,
        "told": found.told,
        "marked": found.marked,
        "wide": len(found.parts) > 4,
        "rows": rows,
        "more": max(found.frame.height - MOST_ROWS, 0),
        "single": rows[0]["told"][0] if single else None,
        "crosstab": _cross(found, rows),
        "chart": _draw(found),
        "tables": found.tables,
        "left_out": found.left_out,
        "notes": found.notes,
        "coverage": found.coverage if found.is_open else "",
    }


def _tell_row(found: Answer, row: Mapping[str, Any]) -> dict[str, Any]:
    told = []
    for name in found.told:
        value, low, high, error, width = (row[f"{name}{part}"] for part in ENDINGS)
        spread = isinstance(value, int | float) and isinstance(width, int | float)
        told.append(
            {
                "name": name,
                "value": write_number(value),
                "low": write_number(low),
                "high": write_number(high),
                "error": write_number(error),
                "width": write_number(width),
                "reach": _reach(value, width, low, high) if spread else None,
                "exact": value is not None and low == high,
                "sort": value if isinstance(value, int | float) else "",
            }
        )
    return {
        "known": [_say(row[name]) for name in found.known],
        "told": told,
        "marked": [bool(row[name]) for name in found.marked],
    }


def _reach(value: float, width: float, low: float | None, high: float | None) -> list[str]:
    """Say between which numbers the truth may well be, inside of the bounds."""
    least, most = value - width, value + width
    ends = (least if low is None else max(least, low), most if high is None else min(most, high))
    return [write_number(end) for end in ends]


def _say(value: object) -> str:
    return "null" if value is None else str(value)


def _cross(found: Answer, rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Put one number by two columns into rows and columns."""
    if len(found.known) != 2 or len(found.told) != 1 or not rows:
        return None
    down = list(dict.fromkeys(row["known"][0] for row in rows))
    others = found.frame.head(MOST_ROWS)[found.known[1]].unique().sort(nulls_last=True)
    across = [_say(value) for value in others]
    if not 1 < len(across) <= MOST_CELLS or len(down) * len(across) > 2 * len(rows) + MOST_CELLS:
        return None
    cells = {(row["known"][0], row["known"][1]): row["told"][0] for row in rows}
    lines = [{"name": name, "cells": [cells.get((name, other)) for other in across]}
             for name in down]  # fmt: skip
    return {"across": across, "lines": lines}


def _draw(found: Answer) -> dict[str, Any] | None:
    chart = draw_answer(found)
    if chart is None:
        return None
    spec: dict[str, Any] = dress(chart).to_dict()
    bars = found.frame[found.known[0]].n_unique()
    beside = found.frame.height / bars
    step = max(min(WIDEST / bars, BROADEST), NARROWEST * beside)
    spec["width"] = {"step": round(step), "for": "position"}
    spec["config"]["axis"]["titleLimit"] = LONGEST_TITLE
    spec["config"]["legend"] = {"labelColor": "var(--ink)", "titleColor": "var(--ink)",
                                "labelFontSize": 13, "titleFontSize": 13,
                                "titleLimit": LONGEST_TITLE}  # fmt: skip
    return spec


def build(folder: Path, form: Mapping[str, Sequence[str]]) -> str:
    """Write the SQL of a question that was put together in a form."""
    asked = open_release(folder)
    known = {attribute.name: attribute for attribute in asked.schema}

    def read(name: str, place: int = 0) -> str:
        values = form.get(name, ())
        return values[place] if place < len(values) else ""

    def find(name: str) -> Attribute:
        if name not in known:
            raise QueryError(f"There is no column {name!r}.", hint=name_closest(name, list(known)))
        return known[name]

    keys = [_write_key(find(name), read("step", place))
            for place, name in enumerate(form.get("by", ())) if name]  # fmt: skip
    measure = read("measure") or "count"
    if measure not in MEASURES:
        raise QueryError(f"There is no measure {measure!r}.", hint="Choose one of the form.")
    if measure == "count":
        wanted: exp.Expr = exp.Count(this=exp.Star())
    else:
        wanted = exp.func(measure, _column(find(read("of")).name), dialect="duckdb")
    made = exp.select(*(key for key, _ in keys), wanted).from_(asked.table)
    for place, name in enumerate(form.get("where", ())):
        if name and read("value", place).strip():
            made = made.where(_compare(find(name), read("compare", place), read("value", place)))
    if keys:
        made = made.group_by(*(grouped for _, grouped in keys)).order_by(
            *(grouped.copy() for _, grouped in keys)
        )
    return made.sql("duckdb", pretty=True)


def _column(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=spell_column(name) != name))


def _write_key(attribute: Attribute, step: str) -> tuple[exp.Expr, exp.Expr]:
    """Write what people are grouped by, in steps of numbers where some are given."""
    column = _column(attribute.name)
    if not step.strip() or attribute.type not in (Type.INTEGER, Type.DECIMAL):
        return column, column.copy()
    width = _literal(attribute, step)
    whole = attribute.type is Type.INTEGER and width.is_int
    divided = (exp.IntDiv if whole else exp.Div)(this=column, expression=width)
    grouped = exp.Mul(this=divided if whole else exp.Floor(this=divided), expression=width.copy())
    name = exp.to_identifier(f"{attribute.name} from", quoted=True)
    return exp.alias_(grouped, name), grouped.copy()


def _compare(attribute: Attribute, how: str, value: str) -> exp.Expr:
    if how not in COMPARISONS:
        raise QueryError(f"There is no comparison {how!r}.", hint="Choose one of the form.")
    return COMPARISONS[how][1](this=_column(attribute.name), expression=_literal(attribute, value))


def _literal(attribute: Attribute, value: str) -> exp.Expr:
    text = value.strip()
    if attribute.type in (Type.INTEGER, Type.DECIMAL):
        try:
            float(text)
        except ValueError:
            raise QueryError(
                f"{text[:80]!r} is no number, as {attribute.name!r} is.", hint="Write 12 or 12.5."
            ) from None
        return exp.Literal.number(text)
    if attribute.type is Type.DATE:
        return exp.cast(exp.Literal.string(text), "date")
    return exp.Literal.string(value)


def spell_column(name: str) -> str:
    """Write a column as SQL takes it, in quotes where it must be.

    >>> spell_column("age"), spell_column("marital-status"), spell_column("group")
    ('age', '"marital-status"', '"group"')
    """
    plain = name.isascii() and name.isidentifier() and name == name.lower()
    if plain and name.upper() not in RESERVED:
        return name
    return exp.to_identifier(name, quoted=True).sql("duckdb")


def spell_value(attribute: Attribute, value: str) -> str:
    """Write a value of a column as SQL takes it."""
    return _literal(attribute, value).sql("duckdb")
