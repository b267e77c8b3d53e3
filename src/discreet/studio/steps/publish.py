"""Publish: a preview before and after, then the release; a ledger's verdict and its proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import StoreError
from discreet.studio.fields import read_place
from discreet.studio.rendering import render, visit_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from discreet.studio.visits import Visit

FOUND = "/publish/found/{job}"


async def show(request: Request) -> Response:
    """Show what is about to be published, and what the last look at it found."""
    visit = visit_of(request)
    found = await visit.ask("publish.look", visit.require_plan(), visit.home)
    return render(request, "publish/page.html", about=found, job=visit.latest_job("publish"))


async def preview(request: Request) -> Response:
    """Make the release for a look."""
    visit, form = visit_of(request), await request.form()
    given = (visit.require_plan(), visit.home, str(form.get("ledger", "")))
    job = visit.start(
        "publish.preview", *given, title="Making a preview", step="publish", then=FOUND
    )
    return render(request, "job.html", job=job)


async def write(request: Request) -> Response:
    """Publish."""
    visit, form = visit_of(request), await request.form()
    if visit.is_dropped:
        raise StoreError(
            "This table was dropped: it and its plan are removed when the studio ends.",
            hint="Keep both in the folder first, in the step Open.",
        )
    given = (visit.require_plan(), visit.home, str(form.get("ledger", "")))
    overwrite = form.get("overwrite") == "yes"
    job = visit.start(
        "publish.write", *given, overwrite, title="Publishing", step="publish", then=FOUND
    )
    return render(request, "job.html", job=job)


async def show_found(request: Request) -> Response:
    """Show what a job found."""
    job = visit_of(request).find_outcome(request.path_params["job"], "publish")
    return render(request, "publish/found.html", job=job)


async def begin_ledger(request: Request) -> Response:
    """Begin a ledger."""
    visit, form = visit_of(request), await request.form()
    given = (str(form.get("name", "")), str(form.get("source", "")))
    await visit.ask("publish.begin_ledger", visit.home, *given)
    return _reload()


async def adopt(request: Request) -> Response:
    """Do as the ledger proposes: change the plan, and look again."""
    visit, form = visit_of(request), await request.form()
    proposal = _find_proposal(visit, str(form.get("job", "")), read_place(form))
    given = (visit.require_plan(), visit.home, str(form.get("seen", "")), proposal)
    await visit.ask("publish.adopt", *given)
    return _reload()


def _find_proposal(visit: Visit, job: str, number: int) -> object:
    found = visit.find_job(job).found or {}
    proposals = (found.get("ledger") or {}).get("proposals", [])
    if not 0 <= number < len(proposals):
        raise StoreError("There is no such proposal.", hint="Make a preview again.")
    return proposals[number]


def _reload() -> Response:
    return Response(status_code=204, headers={"HX-Redirect": "/publish"})


routes = [
    Route("/publish", show),
    Route("/publish/preview", preview, methods=["POST"]),
    Route("/publish/write", write, methods=["POST"]),
    Route("/publish/found/{job}", show_found),
    Route("/publish/ledger", begin_ledger, methods=["POST"]),
    Route("/publish/adopt", adopt, methods=["POST"]),
]
