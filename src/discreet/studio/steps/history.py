"""History: a ledger as a timeline, and what its releases leave possible together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from discreet.errors import StoreError
from discreet.studio.rendering import render, visit_of

if TYPE_CHECKING:
    from starlette.requests import Request


async def show(request: Request) -> Response:
    """Show the ledgers that there are, and the history that was told last."""
    visit = visit_of(request)
    ledgers = await visit.ask("folder.list_ledgers", visit.root)
    return render(request, "history/page.html", ledgers=ledgers, job=visit.latest_job("history"))


async def tell(request: Request) -> Response:
    """Tell the history of a ledger."""
    visit, form = visit_of(request), await request.form()
    name = str(form.get("ledger", ""))
    job = visit.start(
        "history.tell",
        visit.find(name),
        visit.root,
        title=f"Reading {name}",
        step="history",
        then="/history/told/{job}",
    )
    return render(request, "job.html", job=job)


async def show_told(request: Request) -> Response:
    """Show a history."""
    job = visit_of(request).find_outcome(request.path_params["job"], "history")
    return render(request, "history/told.html", job=job)


async def give_page(request: Request) -> Response:
    """Hand the history over as a page that needs nothing."""
    job = visit_of(request).find_job(request.path_params["job"])
    if job.step != "history" or job.state != "done":
        raise StoreError("There is no history.", hint="Choose a ledger first.")
    headers = {"content-disposition": 'attachment; filename="history.html"'}
    return HTMLResponse(job.found["page"], headers=headers)


routes = [
    Route("/history", show),
    Route("/history/tell", tell, methods=["POST"]),
    Route("/history/told/{job}", show_told),
    Route("/history/told/{job}/page", give_page),
]
