"""The site: all pages behind their guard, and what is said where something goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import FileResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from discreet.errors import DiscreetError
from discreet.pages import PARTS
from discreet.steward.plan_text import read_plan_text
from discreet.studio.guard import LARGEST_UPLOAD, Guard
from discreet.studio.plan_files import name_plan_at
from discreet.studio.rendering import render, visit_of
from discreet.studio.steps import list_routes
from discreet.studio.workers import WorkerFault

if TYPE_CHECKING:
    from starlette.requests import Request

    from discreet.studio.jobs import Job
    from discreet.studio.visits import Visits

HERE = Path(__file__).parent
MOMENT = 0.15
"""Seconds between two looks at a job that somebody watches."""


def build_site(visits: Visits, hosts: frozenset[str], *, upload: int = LARGEST_UPLOAD) -> Starlette:
    """Put all pages together, for who comes by one of some hosts."""

    @asynccontextmanager
    async def closing(_: Starlette) -> AsyncIterator[None]:
        yield
        visits.close()

    guard = Middleware(Guard, visits=visits, hosts=hosts, upload=upload)
    return Starlette(
        routes=[
            Route("/", _go_to_start),
            Route("/plan", _show_plan),
            Route("/plan", _save_plan, methods=["POST"]),
            Route("/plan/state", _watch_plan),
            Route("/jobs/{job}", _show_job),
            Route("/jobs/{job}/events", _tell_of_job),
            Route("/jobs/{job}/stop", _stop_job, methods=["POST"]),
            *list_routes(),
            Route("/static/parts.css", _give_parts),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        middleware=[guard],
        exception_handlers={
            DiscreetError: _refuse,
            WorkerFault: _confess,
            HTTPException: _not_found,
        },
        lifespan=closing,
    )


async def _go_to_start(_: Request) -> Response:
    return RedirectResponse("/open", 303)


async def _give_parts(_: Request) -> Response:
    return FileResponse(PARTS)


async def _refuse(request: Request, error: Exception) -> Response:
    """Say what the command line says, in the place where it was asked for."""
    return render(request, _pick(request, "refusal"), 422, error=error, fault=False)


async def _confess(request: Request, error: Exception) -> Response:
    return render(request, _pick(request, "refusal"), 500, error=error, fault=True)


async def _not_found(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    if not hasattr(request.state, "visit"):
        return Response(status_code=status)
    said = DiscreetError("There is no such page.", hint="Go on with one of the steps.")
    return render(request, _pick(request, "refusal"), status, error=said, fault=False)


def _pick(request: Request, name: str) -> str:
    """Choose the part of a page for who swaps parts, else the whole."""
    return f"{name}.html" if "hx-request" in request.headers else f"{name}_page.html"


async def _show_plan(request: Request) -> Response:
    plan = visit_of(request).require_plan()
    return render(request, "plan.html", text=read_plan_text(plan), saved=False)


async def _save_plan(request: Request) -> Response:
    visit, form = visit_of(request), await request.form()
    text = str(form.get("text", "")).replace("\r\n", "\n")
    given = (visit.require_plan(), visit.home, str(form.get("seen", "")), text)
    await visit.ask("open.save_plan", *given)
    return render(request, "plan_text.html", text=text, saved=True)


async def _watch_plan(request: Request) -> Response:
    """Say so if the plan is not the one any more that a page shows."""
    now = name_plan_at(visit_of(request).plan)
    if now == request.query_params.get("seen", ""):
        return Response(status_code=204)
    return render(request, "plan_changed.html")


async def _show_job(request: Request) -> Response:
    return render(request, "job.html", job=_find_job(request))


async def _stop_job(request: Request) -> Response:
    from starlette.concurrency import run_in_threadpool

    job = _find_job(request)
    await run_in_threadpool(job.stop)
    return render(request, "job.html", job=job)


async def _tell_of_job(request: Request) -> Response:
    """Send how far a job is whenever that changes, and at last that it is over."""
    job = _find_job(request)

    async def follow() -> AsyncIterator[str]:
        shown = -1
        while not job.is_over:
            if job.version != shown:
                shown = job.version
                part = bytes(render(request, "job_progress.html", job=job).body).decode()
                yield _event("progress", part)
            await asyncio.sleep(MOMENT)
        yield _event("end", "")

    return StreamingResponse(follow(), media_type="text/event-stream")


def _event(name: str, text: str) -> str:
    lines = "".join(f"data: {line}\n" for line in text.splitlines() or [""])
    return f"event: {name}\n{lines}\n"


def _find_job(request: Request) -> Job:
    return visit_of(request).find_job(request.path_params["job"])
