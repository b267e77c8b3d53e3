"""Outcome: what an experiment found, as a table, a chart and claims held against the paper's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from discreet.files import write_file


@dataclass(frozen=True)
class Settings:
    """How to run an experiment."""

    quick: bool = False
    """Fewer questions and smaller tables."""
    source: Path | None = None
    """A file to run it on instead of the embedded data."""


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, the number found here, and why they differ where they do."""

    paper: str
    here: str
    holds: bool
    why: str = ""


@dataclass(frozen=True, eq=False)
class Outcome:
    """A figure or table of a paper, made again."""

    name: str
    shows: str
    """The figure or table, and what it shows."""
    data: str
    """On which data, and how many questions."""
    table: pl.DataFrame
    """First column: the x axis; each other column: one line of the figure."""
    y: str
    claims: tuple[Claim, ...]
    log: bool = False
    """Whether both axes are logarithmic."""

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        return {
            "experiment": self.name,
            "shows": self.shows,
            "data": self.data,
            "y": self.y,
            "rows": self.table.to_dicts(),
            "claims": [vars(claim) for claim in self.claims],
        }

    def write(self, folder: Path) -> list[Path]:
        """Write the JSON and, where charts can be drawn, the chart; give the files."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        target = folder / f"{self.name}.json"
        write_file(target, lambda draft: draft.write_text(text, encoding="utf-8"))
        drawn = draw(self, folder / f"{self.name}.svg")
        return [target, drawn] if drawn else [target]


def draw(outcome: Outcome, target: Path) -> Path | None:
    """Draw an outcome as an SVG file, or nothing where the library for charts is not there."""
    try:
        import altair as alt
    except ImportError:
        return None
    x = outcome.table.columns[0]
    long = outcome.table.unpivot(index=x, variable_name="line", value_name="value").drop_nulls()
    lines = outcome.table.columns[1:]
    near = not long.height or long["value"].min() > long["value"].max() / 2  # type: ignore[operator]
    scale = alt.Scale(type="log") if outcome.log else alt.Scale()
    height = scale if outcome.log else alt.Scale(zero=not near)
    ticks = alt.Axis(format="~s") if outcome.log else alt.Axis()
    chart = (
        alt.Chart(alt.InlineData(long.to_dicts()), title=_title(outcome))
        .mark_line(point=True)
        .encode(
            x=alt.X("x:Q", title=x, scale=scale, axis=ticks),
            y=alt.Y("value:Q", title=outcome.y, scale=height),
            color=alt.Color("line:N", title=None, sort=lines),
        )
        .transform_calculate(x=f"datum[{json.dumps(x)}]")
        .properties(width=460, height=280)
    )
    write_file(target, lambda draft: chart.save(str(draft), format="svg"))
    return target


def _title(outcome: Outcome) -> Any:
    import altair as alt

    return alt.TitleParams(text=outcome.shows, subtitle=outcome.data, anchor="start")
