"""Which attributes tell about each other, as a picture."""

from __future__ import annotations

from pathlib import Path

from discreet.evaluate.charts import require_charts
from discreet.partitioners.columns import Correlations, choose_columns, correlate
from discreet.store import write_file

__all__ = ["Correlations", "choose_columns", "correlate", "draw_correlations"]


def draw_correlations(found: Correlations, target: Path) -> Path:
    """Draw φ² of every pair as a heat map with its numbers, as an SVG file."""
    alt = require_charts()
    names = list(found.names)
    cells = [
        {"one": one, "other": other, "phi": found.between(one, other)}
        for one in names
        for other in names
        if one != other
    ]
    base = alt.Chart(alt.InlineData(cells)).encode(
        x=alt.X("other:N", title=None, sort=names),
        y=alt.Y("one:N", title=None, sort=names),
    )
    shade = base.mark_rect().encode(
        color=alt.Color("phi:Q", title="φ²", scale=alt.Scale(scheme="blues", domain=[0, 1]))
    )
    text = base.mark_text(fontSize=10).encode(
        text=alt.Text("phi:Q", format=".2f"),
        color=alt.condition("datum.phi > 0.5", alt.value("white"), alt.value("black")),
    )
    chart = (shade + text).properties(
        width=46 * len(names), height=30 * len(names), title="Mean-square contingency φ²"
    )
    return write_file(target, lambda draft: chart.save(str(draft), format="svg"))
