"""Choose: try methods side by side, watch, stop and go on; then take one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import SchemaError, StoreError
from discreet.studio.fields import is_whole
from discreet.studio.rendering import render, visit_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from discreet.studio.visits import Visit

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
    if not is_whole(asked) or not 1 <= int(asked) <= MOST_QUESTIONS:
        raise SchemaError(
            f"questions = {asked[:40]!r}: give a whole number of at least 1.",
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
    job = visit_of(request).find_outcome(request.path_params["job"], "choose")
    return render(request, "choose/found.html", job=job)


async def make(request: Request) -> Response:
    """Make the release of a trial for a look; the plan stays as it is."""
    visit, form = visit_of(request), await request.form()
    trial = _find_trial(visit, form)
    if (before := visit.find_running("trial")) is not None:  # nobody looks at that one any more
        await run_in_threadpool(before.stop)
    job = visit.start(
        "publish.preview_method",
        visit.require_plan(),
        visit.home,
        trial["take"],
        title=f"Making the release of trial {trial['number']}: {trial['label']}",
        step="trial",
        then=f"/choose/trial/{form['job']}/{trial['number']}/{{job}}",
    )
    return render(request, "job.html", job=job)


async def show_trial(request: Request) -> Response:
    """Show the release of a trial."""
    visit, asked = visit_of(request), request.path_params
    trial = _find_trial(visit, {"job": asked["comparison"], "number": asked["number"]})
    job = visit.find_outcome(asked["job"], "trial")
    given = {"job": job, "trial": trial, "comparison": asked["comparison"]}
    return render(request, "choose/trial.html", **given)


async def take(request: Request) -> Response:
    """Take a method that was tried into the plan, and go to look at its release."""
    visit, form = visit_of(request), await request.form()
    trial = _find_trial(visit, form)
    given = (visit.require_plan(), visit.home, str(form.get("seen", "")))
    await visit.ask("choose.take", *given, trial["take"])
    return Response(status_code=204, headers={"HX-Redirect": "/publish"})


def _find_trial(visit: Visit, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Give a trial of a comparison whose method a plan can name."""
    trials = (visit.find_job(str(asked.get("job", ""))).found or {}).get("trials", [])
    number = str(asked.get("number", ""))
    found = [one for one in trials if str(one["number"]) == number and one["take"] is not None]
    if not found:
        raise StoreError("There is no such trial.", hint="Compare again.")
    trial: dict[str, Any] = found[0]
    return trial


routes = [
    Route("/choose", show),
    Route("/choose/run", run, methods=["POST"]),
    Route("/choose/found/{job}", show_found),
    Route("/choose/trial", make, methods=["POST"]),
    Route("/choose/trial/{comparison}/{number}/{job}", show_trial),
    Route("/choose/take", take, methods=["POST"]),
]
