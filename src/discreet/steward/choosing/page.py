"""The comparison as a page: advice, charts, and the table."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.pages import write_page
from discreet.steward.choosing.advice import PURPOSES

if TYPE_CHECKING:
    from discreet.steward.choosing.comparison import Comparison

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7A7A7A"]
"""Okabe and Ito, 2008: told apart by colour-blind people; in print, shapes tell."""
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke",
          "triangle-right"]  # fmt: skip
ERROR = "average relative error (square-root scale)"


def show_comparison(found: Comparison, path: Path) -> Path:
    """Write the page; it loads nothing from anywhere."""
    made = [t for t in found.trials if t.problem is None]
    return write_page(
        path,
        "comparison.html",
        found=found,
        kinds=list(found.questions),
        purposes=PURPOSES,
        charts=draw_frontiers(found),
        best={kind: min((t.errors[kind] for t in made if kind in t.errors), default=None)
              for kind in found.questions},
    )  # fmt: skip


def draw_frontiers(found: Comparison) -> list[tuple[str, str]]:
    """Draw privacy against utility, a chart per purpose, as SVG; none without the library."""
    try:
        import altair as alt
    except ImportError:
        return []
    rows: list[dict[str, Any]] = []
    for t in found.trials:
        if t.problem is not None or t.worst_belief is None:
            continue
        label = t.promise.split("(", 1)[-1].rstrip(")")
        base = {"method": t.method, "belief": t.worst_belief, "at": label,
                "series": f"{t.method} {t.promise.split('(')[0]} {t.setting}"}  # fmt: skip
        rows += [{**base, "what": f"error: {k}", "value": v} for k, v in t.errors.items()]
        if t.accuracy is not None:
            rows.append({**base, "what": "accuracy", "value": t.accuracy})
    if not rows:
        return []
    frame = pl.DataFrame(rows)
    charts = []
    for what in frame["what"].unique(maintain_order=True):
        part = frame.filter(pl.col("what") == what).sort("method", "belief")
        titles = {f"error: {k}": f"Error of {v}" for k, v in PURPOSES.items()}
        title = titles.get(what, "People whom a trained model gets right")
        charts.append((title, _draw(alt, part, what, found)))
    return charts


def _draw(alt: Any, part: pl.DataFrame, what: str, found: Comparison) -> str:
    methods = list(dict.fromkeys(t.method for t in found.trials))
    colour = alt.Color("method:N", title=None, sort=methods,
                       scale=alt.Scale(domain=methods, range=COLOURS[: len(methods)]))  # fmt: skip
    shape = alt.Shape("method:N", title=None, sort=methods,
                      scale=alt.Scale(domain=methods, range=SHAPES[: len(methods)]))  # fmt: skip
    # errors near nothing are told apart as well
    height = alt.Scale(zero=False, padding=12) if what == "accuracy" else alt.Scale(type="sqrt")
    base = alt.Chart(alt.InlineData(part.to_dicts())).encode(
        x=alt.X("belief:Q", title="largest belief in a value of anyone",
                axis=alt.Axis(format="%"), scale=alt.Scale(zero=False, padding=12)),
        y=alt.Y("value:Q", title="accuracy" if what == "accuracy" else ERROR,
                axis=alt.Axis(format="%"), scale=height),
    )  # fmt: skip
    chart = (
        base.mark_line(strokeWidth=1.5, opacity=0.6).encode(color=colour, detail="series:N")
        + base.mark_point(filled=True, size=110, opacity=1).encode(color=colour, shape=shape)
        + base.mark_text(align="left", dx=7, dy=-6, fontSize=12).encode(text="at:N")
    ).properties(width=420, height=300)
    chart = chart.configure_axis(labelFontSize=13, titleFontSize=13).configure_legend(
        labelFontSize=13, orient="bottom", columns=3, symbolSize=110
    )
    buffer = io.StringIO()
    chart.save(buffer, format="svg")
    return buffer.getvalue()
