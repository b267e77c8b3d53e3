"""Promise: principles with sliders, what the table allows, and what they leave open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from discreet.studio.fields import read_place
from discreet.studio.rendering import render, visit_of

if TYPE_CHECKING:
    from starlette.datastructures import FormData
    from starlette.requests import Request

GIVEN = "given."
"""What stands before the name of a parameter in a form."""


async def show(request: Request) -> Response:
    """Show what is promised."""
    visit = visit_of(request)
    found = await visit.ask("promise.look", visit.require_plan(), visit.home)
    return render(request, "promise/page.html", found=found)


async def set_principle(request: Request) -> Response:
    """Change a promise."""
    form = await request.form()
    return await _change(request, "set_principle", form, read_place(form), _given(form))


async def add_principle(request: Request) -> Response:
    """Promise something more."""
    form = await request.form()
    return await _change(request, "add_principle", form, str(form.get("title", "")), _given(form))


async def remove_principle(request: Request) -> Response:
    """Promise one thing less."""
    form = await request.form()
    return await _change(request, "remove_principle", form, read_place(form))


def _given(form: FormData) -> dict[str, str]:
    return {
        name.removeprefix(GIVEN): str(value).strip()
        for name, value in form.items()
        if name.startswith(GIVEN)
    }


async def _change(request: Request, work: str, form: FormData, *given: Any) -> Response:
    visit = visit_of(request)
    where = (visit.require_plan(), visit.home, str(form.get("seen", "")))
    found = await visit.ask(f"promise.{work}", *where, *given)
    return render(request, "promise/cards.html", found=found, swapped=True)


routes = [
    Route("/promise", show),
    Route("/promise/set", set_principle, methods=["POST"]),
    Route("/promise/add", add_principle, methods=["POST"]),
    Route("/promise/remove", remove_principle, methods=["POST"]),
]
