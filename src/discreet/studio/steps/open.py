"""Open: a table, what its columns are, and how many people are alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.background import BackgroundTask
from starlette.responses import Response
from starlette.routing import Route

from discreet.studio.places import take_name
from discreet.studio.rendering import render, visit_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from discreet.studio.visits import Visit

ROLES = {
    "identifier": "names a person; never leaves",
    "quasi-identifier": "known to others; published blurred",
    "sensitive": "must not be learned about a person; published, unlinked",
    "other": "dropped, unless the plan keeps it",
}


async def show(request: Request) -> Response:
    """Show the open table, or what there is to open."""
    visit = visit_of(request)
    if visit.plan is None:
        answer = render(request, "open/choose.html")
        answer.background = BackgroundTask(visit.desk.warm_up, "open.warm_up")
        return answer
    return render(request, "open/table.html", roles=ROLES, found=await _look(visit))


async def show_files(request: Request) -> Response:
    """List what lies in the folder."""
    visit = visit_of(request)
    return render(request, "open/files.html", **await visit.ask("open.list_files", visit.root))


async def close(request: Request) -> Response:
    """Go back to choosing a table."""
    visit_of(request).plan = None
    return _go()


async def open_file(request: Request) -> Response:
    """Open a table or a plan of the folder."""
    visit, form = visit_of(request), await request.form()
    name = str(form.get("name", ""))
    await _open(visit, visit.find(name), visit.root)
    return _go()


async def drop_file(request: Request) -> Response:
    """Take a file that was dropped, as it comes in, and open it."""
    visit = visit_of(request)
    name = take_name(request.path_params["name"])
    visit.forget_table()
    place = await visit.table.take(name, request.stream(), request.state.largest)
    await _open(visit, place, visit.table.folder)
    return _go()


async def keep_file(request: Request) -> Response:
    """Keep a file that was dropped, with its plan, in the folder."""
    visit = visit_of(request)
    plan = visit.require_plan()
    if visit.is_dropped:
        visit.plan = await visit.ask("open.keep", plan, visit.home, visit.root)
    return _go()


async def change_roles(request: Request) -> Response:
    """Give one column or several a role."""
    visit, form = visit_of(request), await request.form()
    names = [str(name) for name in form.getlist("column")]
    given = (visit.require_plan(), visit.home, str(form.get("seen", "")), names)
    found = await visit.ask("open.set_roles", *given, str(form.get("role", "")))
    return render(request, "open/columns.html", roles=ROLES, found=found, swapped=True)


async def settle_people(request: Request) -> Response:
    """Say which rows are of one person."""
    visit, form = visit_of(request), await request.form()
    given = (visit.require_plan(), visit.home, str(form.get("seen", "")))
    found = await visit.ask("open.set_person", *given, str(form.get("person", "")))
    return render(request, "open/columns.html", roles=ROLES, found=found, swapped=True)


async def _open(visit: Visit, path: Path, home: Path) -> None:
    if path.name.endswith(".toml"):
        visit.plan = await visit.ask("open.take_up", path, home)
    else:
        visit.plan = await visit.ask("open.begin_plan", path, home)


async def _look(visit: Visit) -> Any:
    return await visit.ask("open.look_at_plan", visit.require_plan(), visit.home)


def _go() -> Response:
    """Have the browser load the page of the step anew."""
    return Response(status_code=204, headers={"HX-Redirect": "/open"})


routes = [
    Route("/open", show),
    Route("/open/files", show_files),
    Route("/open/file", open_file, methods=["POST"]),
    Route("/open/dropped/{name:path}", drop_file, methods=["PUT"]),
    Route("/open/keep", keep_file, methods=["POST"]),
    Route("/open/close", close, methods=["POST"]),
    Route("/open/roles", change_roles, methods=["POST"]),
    Route("/open/people", settle_people, methods=["POST"]),
]
