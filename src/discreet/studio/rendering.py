"""Rendering: templates filled for a visit, whole pages or the parts that a page swaps."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from discreet import __version__
from discreet.errors import visible
from discreet.studio.plan_files import name_plan_at

if TYPE_CHECKING:
    from starlette.requests import Request

    from discreet.studio.visits import Visit

LONGEST_SHOWN = 80


def visit_of(request: Request) -> Visit:
    """Give the visit that a request belongs to, as the guard found it."""
    visit: Visit = request.state.visit
    return visit


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Fill a template for the visit of a request."""
    visit = visit_of(request)
    filled = _environment().get_template(template)
    text = filled.render(visit=visit, seen=name_plan_at(visit.plan), path=request.url.path,
                         **values)  # fmt: skip
    return HTMLResponse(text, status)


@cache
def _environment() -> Environment:
    from discreet.studio.steps import STEPS

    made = Environment(
        loader=PackageLoader("discreet.studio", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_show,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"brief": brief, "share": share, "count": count}
    made.globals |= {"steps": STEPS, "version": __version__}
    return made


def _show(value: Any) -> Any:
    """Show characters that a browser would obey, or hide, for what they are."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def brief(text: object, longest: int = LONGEST_SHOWN) -> str:
    """Cut a text that nobody would read to its end.

    >>> brief("abcdef", 4)
    'abc…'
    """
    said = str(text)
    return said if len(said) <= longest else f"{said[: longest - 1]}…"


def share(part: float, digits: int = 1) -> str:
    """Write a share for people.

    >>> share(0.25)
    '25.0 %'
    """
    return f"{100 * part:.{digits}f} %"


def count(number: int) -> str:
    """Write a number for people.

    >>> count(12345)
    '12,345'
    """
    return f"{number:,}"
