"""Hierarchies: taxonomies as trees, built, grouped and imported, with what is wrong in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from discreet.studio.rendering import render, visit_of

if TYPE_CHECKING:
    from starlette.datastructures import FormData
    from starlette.requests import Request

VALUE = "value."
"""What stands before a value in a form that says its group."""


async def show(request: Request) -> Response:
    """Show the hierarchy of a column."""
    visit = visit_of(request)
    column = request.query_params.get("column", "")
    found = await visit.ask("hierarchies.look", visit.require_plan(), visit.home, column)
    return render(request, "hierarchies/page.html", found=found)


async def preview(request: Request) -> Response:
    """Build a hierarchy for a look."""
    visit, form = visit_of(request), await request.form()
    where = (visit.require_plan(), visit.home, str(form.get("column", "")))
    found = await visit.ask("hierarchies.try_rule", *where, _given(form))
    return render(request, "hierarchies/tree.html", found=found, trying=True)


async def save(request: Request) -> Response:
    """Give a column a hierarchy, or take it away."""
    form = await request.form()
    return await _change(request, "set_rule", form, _given(form))


async def group(request: Request) -> Response:
    """Put values into groups."""
    form = await request.form()
    groups = {
        name.removeprefix(VALUE): str(value)
        for name, value in form.items()
        if name.startswith(VALUE)
    }
    return await _change(request, "group", form, groups)


def _given(form: FormData) -> dict[str, str]:
    """Take what a form says; levels of dates are chosen one by one."""
    said = str(form.get("said", "")) or ", ".join(map(str, form.getlist("level")))
    return {"kind": str(form.get("kind", "")), "said": said, "file": str(form.get("file", ""))}


async def _change(request: Request, work: str, form: FormData, given: Any) -> Response:
    visit = visit_of(request)
    where = (visit.require_plan(), visit.home, str(form.get("seen", "")))
    found = await visit.ask(f"hierarchies.{work}", *where, str(form.get("column", "")), given)
    return render(request, "hierarchies/column.html", found=found, swapped=True)


routes = [
    Route("/hierarchies", show),
    Route("/hierarchies/preview", preview, methods=["POST"]),
    Route("/hierarchies/save", save, methods=["POST"]),
    Route("/hierarchies/group", group, methods=["POST"]),
]
