"""Choose: try methods side by side, watch, stop and go on; then take one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import SchemaError, StoreError
from discreet.studio.rendering import render, visit_of

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_QUESTIONS = 100_000


async def show(request: Request) -> Response:
    """Show what would be tried, and what the last comparison found."""
    visit = visit_of(request)
    about = await visit.ask("choose.look", visit.require_plan(), visit.home)
    return render(request, "choose/page.html", about=about, job=visit.latest_job("choose"))


async def run(request: Request) -> Response:
    """Begin, or go on with, a comparison."""
    visit, form = visit_of(request), await request.form()
    asked = str(form.get("questions", "1000"))
    if not asked.isdecimal() or not 1 <= int(asked) <= MOST_QUESTIONS:
        raise SchemaError(
            f"questions = {asked!r}: give a whole number of at least 1.",
            hint=f"At most {MOST_QUESTIONS:,}.",
        )
    purposes = [str(purpose) for purpose in form.getlist("purpose")]
    given = (visit.require_plan(), visit.home, int(asked), purposes)
    job = visit.start(
        "choose.run",
        *given,
        title="Trying methods side by side",
        step="choose",
        then="/choose/found/{job}",
    )
    return render(request, "job.html", job=job)


async def show_found(request: Request) -> Response:
    """Show what a comparison found."""
    job = visit_of(request).find_job(request.path_params["job"])
    return render(request, "choose/found.html", job=job)


async def take(request: Request) -> Response:
    """Take a method that was tried into the plan, and go to look at its release."""
    visit, form = visit_of(request), await request.form()
    trials = (visit.find_job(str(form["job"])).found or {}).get("trials", [])
    number = int(str(form["number"]))
    if not 1 <= number <= len(trials) or trials[number - 1]["take"] is None:
        raise StoreError("There is no such trial.", hint="Compare again.")
    given = (visit.require_plan(), visit.home, str(form.get("seen", "")))
    await visit.ask("choose.take", *given, trials[number - 1]["take"])
    return Response(status_code=204, headers={"HX-Redirect": "/publish"})


routes = [
    Route("/choose", show),
    Route("/choose/run", run, methods=["POST"]),
    Route("/choose/found/{job}", show_found),
    Route("/choose/take", take, methods=["POST"]),
]
