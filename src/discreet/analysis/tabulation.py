"""Tabulation: one question for every cell of a crosstab, or for every bar of a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.analysis.bins import Bins, choose_bins
from discreet.analysis.formula import find_name
from discreet.errors import QueryError, name_closest
from discreet.evaluate.charts import require_charts
from discreet.sql.query import ENDINGS

if TYPE_CHECKING:
    from discreet.forms.asking import Answer
    from discreet.release import Release

VALUE = "estimate"
PARTS = (VALUE, "low", "high", "stderr", "width")
COUNT, BIN = "COUNT(*)", "bin_number"
MOST_BARS = 120
"""Answers with more are read in a table."""
PLAIN, OF_PAGE = ("#666", "black"), ("var(--soft)", "var(--ink)")
"""Colours of bounds and errors: in a file, and on a page that is light or dark."""


@dataclass(frozen=True, eq=False)
class Crosstab:
    """Every combination of two attributes: the estimate, hard bounds, and how sure it is."""

    frame: pl.DataFrame
    """Per combination its estimate, low and high (hard), stderr, and width where there is one."""
    rows: str
    columns: str
    measure: str

    def __repr__(self) -> str:
        """Write the estimates as a table with rows and columns."""
        order = self.frame[self.columns].unique(maintain_order=True).to_list()
        wide = self.frame.with_columns(pl.col(VALUE).cast(pl.Float64).round(2))
        shown = wide.pivot(self.columns, index=self.rows, values=VALUE)
        names = [self.rows, *(name for name in map(_write, order) if name in shown.columns)]
        with pl.Config(tbl_rows=40, tbl_hide_dataframe_shape=True,
                       tbl_hide_column_data_types=True):  # fmt: skip
            return f"{self.measure} by {self.rows} and {self.columns}\n{shown.select(names)}"

    def chart(self) -> Any:
        """Draw a group of bars per row, with bounds and errors; needs altair."""
        return _draw(self.frame, self.rows, self.columns, self.measure)


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many people have each value of an attribute, or are in each bin of it."""

    frame: pl.DataFrame
    """Per bin its ends (from, below), or the value; the estimate, low and high (hard), stderr, and
    width where there is one."""
    attribute: str
    by: str | None

    def __repr__(self) -> str:
        """Write it with a bar for each."""
        most = max(map(float, self.frame[VALUE].fill_null(0)), default=0) or 1
        lines = [f"{COUNT} by {self.attribute}" + (f" and {self.by}" if self.by else "")]
        for row in self.frame.iter_rows(named=True):
            other = "" if self.by is None else f"  {_write(row[self.by])}"
            many = float(row[VALUE] or 0)
            bar = "█" * round(30 * many / most)
            lines.append(f"{_name_bar(row, self.attribute):>24}{other:<12} {many:>12,.1f} {bar}")
        return "\n".join(lines)

    def chart(self) -> Any:
        """Draw a bar per bin, with bounds and errors; needs altair."""
        bars = [_name_bar(row, self.attribute) for row in self.frame.iter_rows(named=True)]
        named = self.frame.with_columns(pl.Series("#bar", bars))
        return _draw(named, "#bar", self.by, COUNT, title=self.attribute)


def crosstab(release: Release, rows: str, columns: str, measure: str | None = None) -> Crosstab:
    """Ask for every combination of two attributes at once."""
    rows, columns = (_require_name(release, name) for name in (rows, columns))
    if rows == columns:
        raise QueryError(f"{rows!r} is both rows and columns.", hint="Give two attributes.")
    measure = measure or COUNT
    both = f"{_quote(rows)}, {_quote(columns)}"
    answer = release.query(f"SELECT {both}, {measure} AS {VALUE} FROM release GROUP BY {both}")
    if list(answer.columns.values()) != [False, False, True]:
        raise QueryError(f"measure = {measure!r} is not one aggregate.", hint="Give AVG(wage).")
    return Crosstab(_name_parts(answer.frame).sort(rows, columns), rows, columns, measure)


def histogram(
    release: Release,
    attribute: str,
    by: str | None = None,
    bins: int | Sequence[Any] | None = None,
) -> Histogram:
    """Count people by the values of an attribute; numbers and dates in bins."""
    attribute = _require_name(release, attribute)
    by = None if by is None else _require_name(release, by)
    if by == attribute:
        raise QueryError(f"{by!r} is counted by itself.", hint="Give another attribute.")
    chosen = choose_bins(release, attribute, bins)
    if chosen is None:
        keys = ", ".join(map(_quote, [attribute, *([by] if by else [])]))
        asked = f"SELECT {keys}, COUNT(*) AS {VALUE} FROM release GROUP BY {keys}"
        frame = _name_parts(release.query(asked).frame)
        if release.schema[attribute].order:
            places = frame[attribute].cast(pl.Enum(release.schema[attribute].order))
            frame = frame.sort(places, *([by] if by else []))
        return Histogram(frame, attribute, by)
    return Histogram(_ask_bins(release, attribute, by, chosen), attribute, by)


def draw_answer(answer: Answer) -> Any | None:
    """Draw what was asked in SQL as a crosstab or a histogram is drawn, for a page; needs altair.

    Nothing where it is not one number by one column or two, or more bars than anybody looks at.
    """
    known, told = answer.known, answer.told
    if len(told) != 1 or len(known) not in (1, 2) or not 1 <= answer.frame.height <= MOST_BARS:
        return None
    if not answer.frame[told[0]].dtype.is_numeric():
        return None
    parts = [pl.col(told[0] + ending).cast(pl.Float64).alias(part)
             for part, ending in zip(PARTS, ENDINGS, strict=True)]  # fmt: skip
    names = ["#bar", "#other"][: len(known)]
    keys = [pl.col(key).alias(name) for key, name in zip(known, names, strict=True)]
    frame = answer.frame.select(*keys, *parts).with_columns(
        pl.col(names).cast(pl.String).fill_null(_write(None))
    )
    other = known[1] if known[1:] else None
    return _draw(frame, names[0], names[1] if other else None, told[0], title=known[0],
                 legend=other, lines=OF_PAGE)  # fmt: skip


def _ask_bins(release: Release, attribute: str, by: str | None, bins: Bins) -> pl.DataFrame:
    """Ask about all bins at once or, where people cannot be grouped by the number, one by one."""
    column, keys = _quote(attribute), [] if by is None else [_quote(by)]
    grouped = ", ".join([bins.number(column), *keys])
    named = ", ".join([f"{bins.number(column)} AS {BIN}", *keys])
    try:
        asked = f"SELECT {named}, COUNT(*) AS {VALUE} FROM release WHERE {bins.hold(column)}"
        found = release.query(f"{asked} GROUP BY {grouped}").frame
    except QueryError:
        found = _ask_one_by_one(release, column, keys, bins)
    starts, ends = bins.ends[:-1], bins.ends[1:]
    every = pl.DataFrame({BIN: range(len(starts)), "from": starts, "below": ends})
    found = found.with_columns(pl.col(BIN).cast(pl.Int64))
    # a bin that is not in the answer is one that nobody can be in
    how: Any = "left" if by is None else "inner"
    joined = _name_parts(every.join(found, on=BIN, how=how, maintain_order="left").drop(BIN))
    if by is None:
        none = pl.col("high").is_null() & pl.col(VALUE).is_null()
        zero = pl.when(none).then(0.0).otherwise(pl.col(*PARTS[:4]))
        return joined.with_columns(zero.name.keep())
    return joined.sort("from", by, maintain_order=True)


def _ask_one_by_one(release: Release, column: str, keys: list[str], bins: Bins) -> pl.DataFrame:
    found, grouped = [], f" GROUP BY {keys[0]}" if keys else ""
    with release.prepare() as prepared:
        for place, (start, end) in enumerate(zip(bins.ends[:-1], bins.ends[1:], strict=True)):
            asked = ", ".join([*keys, f"COUNT(*) AS {VALUE}"])
            where = Bins((start, end)).hold(column)
            frame = prepared.query(f"SELECT {asked} FROM release WHERE {where}{grouped}").frame
            found.append(frame.with_columns(pl.lit(place).alias(BIN)))
    return pl.concat(found, how="vertical_relaxed")


def _name_parts(frame: pl.DataFrame) -> pl.DataFrame:
    """Give the parts of an answer plain names; a width that it does not have is nothing."""
    named = frame.rename({f"{VALUE}_{part}": part for part in PARTS[1:]
                          if f"{VALUE}_{part}" in frame.columns})  # fmt: skip
    if "width" not in named.columns:
        named = named.with_columns(pl.lit(None, dtype=pl.Float64).alias("width"))
    return named.with_columns(pl.col(*PARTS).cast(pl.Float64))


def _require_name(release: Release, name: str) -> str:
    found = find_name(str(name), release.schema)
    if found is None:
        raise QueryError(
            f"There is no attribute {name!r}.", hint=name_closest(str(name), release.schema.names)
        )
    if found in (*PARTS, "from", "below", BIN):
        raise QueryError(
            f"An attribute called {found!r} leaves no name for the result.",
            hint="Ask in SQL: release.query(...).",
        )
    return found


def _quote(name: str) -> str:
    return f'"{name}"'


def _write(value: object) -> str:
    return "null" if value is None else str(value).lower() if value is True or value is False else (
        str(value))  # fmt: skip


def _name_bar(row: dict[str, Any], attribute: str) -> str:
    if "from" in row:
        return f"[{_write(row['from'])}, {_write(row['below'])})"
    return _write(row[attribute])


def _draw(
    frame: pl.DataFrame,
    bar: str,
    colour: str | None,
    what: str,
    *,
    title: str | None = None,
    legend: str | None = None,
    lines: tuple[str, str] = PLAIN,
) -> Any:
    """Draw bars; the truth is on the thin line, and may well be on the thick one."""
    alt = require_charts()
    reach = pl.coalesce(pl.col("width"), 2 * pl.col("stderr"))
    drawn = frame.with_columns(
        pl.max_horizontal(pl.col(VALUE) - reach, "low").alias("likely_low"),
        pl.min_horizontal(pl.col(VALUE) + reach, "high").alias("likely_high"),
        pl.col(bar).cast(pl.String).alias("#x"),
        *([pl.col(colour).cast(pl.String).alias("#colour")] if colour else []),
    )
    ends = ["low", "high", "likely_low", "likely_high"]
    plain = drawn.select("#x", VALUE, *ends, *(["#colour"] if colour else []))
    plain = plain.rename(lambda name: name.lstrip("#"))  # whatever attributes are called
    base = alt.Chart(alt.InlineData(plain.to_dicts())).encode(
        x=alt.X("x:N", title=title or bar, sort=None)
    )
    if colour:
        base = base.encode(xOffset=alt.XOffset("colour:N"))
    bars = base.mark_bar(opacity=0.75).encode(y=alt.Y(f"{VALUE}:Q", title=what))
    if colour:
        bars = bars.encode(color=alt.Color("colour:N", title=legend or colour))
    bounds = base.mark_rule(color=lines[0]).encode(y="low:Q", y2="high:Q")
    likely = base.mark_rule(color=lines[1], size=3).encode(y="likely_low:Q", y2="likely_high:Q")
    return alt.layer(bars, bounds, likely)
