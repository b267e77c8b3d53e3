"""The library for charts, which is an extra."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from discreet.errors import SchemaError
from discreet.files import write_file

INK = {"labelColor": "var(--ink)", "titleColor": "var(--ink)", "gridColor": "var(--line)",
       "domainColor": "var(--soft)", "tickColor": "var(--soft)"}  # fmt: skip
"""Colours of a page, so that a chart is as light or dark as it."""


def dress(chart: Any) -> Any:
    """Give a chart the colours and letters of the page that it stands on."""
    return (
        chart.configure(background="transparent", font="system-ui, sans-serif")
        .configure_view(stroke="var(--line)")
        .configure_axis(labelFontSize=13, titleFontSize=13, titleFontWeight="normal", **INK)
        .configure_header(labelColor="var(--ink)", titleColor="var(--ink)")
        .configure_title(color="var(--ink)")
    )


def require_charts() -> Any:
    """Give altair, or say how to get it."""
    try:
        import altair
    except ImportError as error:
        raise SchemaError(
            "Charts need a library that is not installed.",
            hint="pip install 'discreet[charts]'",
        ) from error
    return altair


class _NoMarkup(json.JSONEncoder):
    """Writes JSON that stands in a page: no value ends its script."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def save_chart(chart: Any, target: Path) -> Path:
    """Write a chart as an SVG file or, by its ending, as a page that needs nothing else."""
    page: dict[str, Any] = {"format": "html", "inline": True, "json_kwds": {"cls": _NoMarkup}}
    how = page if target.suffix == ".html" else {"format": "svg"}
    return write_file(target, lambda draft: chart.save(str(draft), **how), shared=True)
