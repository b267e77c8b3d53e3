"""Which attributes tell about each other, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.evaluate.charts import require_charts, save_chart
from discreet.publishing.partitioners.columns import Correlations, choose_columns, correlate

__all__ = ["Correlations", "choose_columns", "correlate", "draw_correlations"]


def draw_correlations(
    found: Correlations, target: Path, *, title: str, columns: Sequence[Sequence[str]]
) -> Path:
    """Draw the correlation of every pair as a heat map, as an SVG file.

    Attributes of one column stand side by side, so that columns show as blocks.
    """
    alt = require_charts()
    names = [name for column in columns for name in column]
    cells: list[dict[str, Any]] = [
        {"one": one, "other": other, "share": found.between(one, other)}
        for one in names
        for other in names
        if one != other
    ]
    top = max((cell["share"] for cell in cells), default=1) or 1
    side = max(2, min(46, 900 // len(names)))
    labels = alt.Axis(labels=side >= 12, ticks=side >= 12)
    base = alt.Chart(alt.InlineData(cells)).encode(
        x=alt.X("other:N", title=None, sort=names, axis=labels),
        y=alt.Y("one:N", title=None, sort=names, axis=labels),
    )
    shade = base.mark_rect().encode(
        color=alt.Color("share:Q", title=None, scale=alt.Scale(scheme="blues", domain=[0, top]))
    )
    chart = shade
    if side == 46:  # with numbers, as long as they can be read
        chart += base.mark_text(fontSize=10).encode(
            text=alt.Text("share:Q", format=".2f"),
            color=alt.condition(f"datum.share > {top / 2}", alt.value("white"), alt.value("black")),
        )
    chart = chart.properties(width=side * len(names), height=side * 2 / 3 * len(names), title=title)
    return save_chart(chart, target)
