"""Outcome: what an experiment found, as a table, a chart and claims held against the paper's."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Concatenate, ParamSpec

import polars as pl

from discreet.evaluate.charts import save_chart
from discreet.experiments.claims import Claim
from discreet.files import write_text
from discreet.pages.marks import MARKS

Given = ParamSpec("Given")


@dataclass(frozen=True)
class Settings:
    """How to run an experiment."""

    quick: bool = False
    """Fewer questions and smaller tables."""
    source: Path | None = None
    """A file to run it on instead of the embedded data."""
    folds: int = 10
    """Into how many parts people are split whom models are trained and tried on."""
    relinkings: int = 5
    """How many times records are drawn from a release, for a model each."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """A figure or table of a paper, made again."""

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
    name: str = ""
    """The experiment's."""

    @property
    def figure(self) -> str:
        """Which figure or table it is."""
        return self.shows.partition(":")[0]

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        return {
            "experiment": self.name,
            "shows": self.shows,
            "data": self.data,
            "y": self.y,
            "rows": self.table.to_dicts(),
            "claims": [claim.to_dict() for claim in self.claims],
        }

    def write(self, folder: Path) -> list[Path]:
        """Write the JSON and, where charts can be drawn, the chart; give the files."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        target = write_text(folder / f"{self.name}.json", text, shared=True)
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
    title = alt.TitleParams(text=outcome.shows, subtitle=outcome.data, anchor="start")
    chart = (
        alt.Chart(alt.InlineData(long.to_dicts()), title=title)
        .mark_line(point=True)
        .encode(
            x=alt.X("x:Q", title=x, scale=scale, axis=ticks),
            y=alt.Y("value:Q", title=outcome.y, scale=height),
            color=alt.Color("line:N", title=None, sort=lines, scale=_colour(alt, lines)),
        )
        .transform_calculate(x=f"datum[{json.dumps(x)}]")
        .properties(width=460, height=280)
    )
    return save_chart(chart, target)


def _colour(alt: Any, lines: list[str]) -> Any:
    """Draw methods in their own colours, where lines are methods."""
    if not all(line in MARKS for line in lines):
        return alt.Undefined
    return alt.Scale(domain=lines, range=[MARKS[line].colour for line in lines])


class Experiment:
    """How a figure or table of a paper is made again.

    ``about`` is what the function says of itself, unless it makes several figures.
    """

    def __init__(
        self,
        name: str,
        make: Callable[Concatenate[Settings, Given], Outcome],
        about: str | None = None,
        *args: Given.args,
        **given: Given.kwargs,
    ) -> None:
        self.name, self.about = name, about or (make.__doc__ or "").splitlines()[0]
        self._make: Callable[[Settings], Outcome] = lambda settings: make(settings, *args, **given)

    def __call__(self, settings: Settings) -> Outcome:
        """Make it."""
        return replace(self._make(settings), name=self.name)


def clock(
    times: int, run: Callable[Given, object], *args: Given.args, **given: Given.kwargs
) -> list[float]:
    """Do something so many times; give the seconds that each took."""
    seconds = []
    for _ in range(times):
        start = perf_counter()
        run(*args, **given)
        seconds.append(perf_counter() - start)
    return seconds
