"""The library for charts, which is an extra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.errors import SchemaError
from discreet.files import write_file


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


def save_chart(chart: Any, target: Path) -> Path:
    """Write a chart as an SVG file or, by its ending, as a page that needs nothing else."""
    page: dict[str, Any] = {"format": "html", "inline": True}
    how = page if target.suffix == ".html" else {"format": "svg"}
    return write_file(target, lambda draft: chart.save(str(draft), **how))
