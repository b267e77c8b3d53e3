"""Pages: what is shown in a browser, each whole in one file that loads nothing from anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.errors import visible
from discreet.files import write_text

PARTS = Path(__file__).parent / "templates" / "parts.css"
"""How parts of reports look, for whoever shows them elsewhere."""


def write_page(path: Path, template: str, **values: Any) -> Path:
    """Fill a template and write the page, whole or not at all."""
    return write_text(path, render_page(template, **values))


def render_page(template: str, **values: Any) -> str:
    """Fill a template; characters that a browser would obey, or hide, are spelled out."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("discreet.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    environment.filters["identity"] = id  # equal things may be two
    return visible(environment.get_template(template).render(**values))
