"""Audit: who is at risk by a release, evidence to sign, and whether a release is the signed one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData, UploadFile
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from discreet.errors import SchemaError, StoreError
from discreet.studio.places import confine
from discreet.studio.rendering import render, visit_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from discreet.studio.visits import Visit

OWN = "plan:"
"""Chooses the table of the open plan."""
FILES = ("evidence.html", "evidence.json")


async def show(request: Request) -> Response:
    """Show what can be audited, and what the last audit found."""
    visit = visit_of(request)
    about = await visit.ask("audit.look", visit.root, visit.plan, visit.home)
    return render(request, "audit/page.html", about=about, job=visit.latest_job("audit"), own=OWN)


async def examine(request: Request) -> Response:
    """Audit a release."""
    visit, form = visit_of(request), await request.form()
    release, table = str(form.get("release", "")), str(form.get("microdata", ""))
    if not release or not table:
        raise SchemaError("There is nothing to audit.", hint="Choose a release and its table.")
    asked = _read_asked(visit, form, release)
    job = visit.start(
        "audit.examine",
        visit.root,
        visit.find(release),
        None if table == OWN else visit.find(table),
        None if visit.plan is None else (visit.plan, visit.home),
        asked,
        title=f"Auditing {release}",
        step="audit",
        then="/audit/found/{job}",
    )
    return render(request, "job.html", job=job)


def _read_asked(visit: Visit, form: FormData, release: str) -> dict[str, Any]:
    population = str(form.get("population", "")).strip().replace(",", "")
    if population and not (population.isdecimal() and int(population) > 0):
        raise SchemaError(
            f"{population[:40]!r} people are no population.", hint="Give a whole number, or none."
        )
    wanted = str(form.get("folder", "")).strip() or f"{release}-evidence"
    return {
        "population": int(population) if population else None,
        "presets": [str(name) for name in form.getlist("preset")],
        "attacks": "attacks" in form,
        "by_plan": "by_plan" in form,
        "earlier": [visit.find(str(name)) for name in form.getlist("earlier")],
        "evidence": confine(visit.root, wanted) if "evidence" in form else None,
        "overwrite": "overwrite" in form,
    }


async def show_found(request: Request) -> Response:
    """Show what an audit found, and its evidence among what there is."""
    visit = visit_of(request)
    about = await visit.ask("audit.look", visit.root, visit.plan, visit.home)
    job = visit.find_job(request.path_params["job"])
    return render(request, "audit/found.html", job=job, about=about)


async def give_page(request: Request) -> Response:
    """Hand the report over as a page that needs nothing."""
    job = visit_of(request).find_job(request.path_params["job"])
    if job.step != "audit" or job.state != "done":
        raise StoreError("There is no report.", hint="Audit a release first.")
    headers = {"content-disposition": 'attachment; filename="audit.html"'}
    return HTMLResponse(job.found["page"], headers=headers)


async def give_evidence(request: Request) -> Response:
    """Hand a file of evidence over."""
    visit, name = visit_of(request), request.path_params["name"]
    place = visit.find(str(request.query_params.get("folder", ""))) / name
    if name not in FILES or not place.is_file() or place.is_symlink():
        raise StoreError("There is no such evidence.", hint="Audit a release with evidence.")
    return FileResponse(place, filename=name)


async def verify(request: Request) -> Response:
    """Say whether a release is the one that evidence is of."""
    visit, form = visit_of(request), await request.form()
    dropped = [one for one in form.getlist("dropped") if isinstance(one, UploadFile)]
    files = {one.filename or "": await one.read() for one in dropped if one.filename}
    release, evidence = str(form.get("release", "")), str(form.get("evidence", ""))
    if not release or not (files or evidence):
        raise SchemaError("There is nothing to compare.", hint="Choose evidence and a release.")
    if files:
        found = await visit.ask("audit.verify_dropped", files, visit.find(release))
    else:
        found = await visit.ask("audit.verify", visit.find(evidence), visit.find(release))
    return render(request, "audit/verified.html", found=found)


routes = [
    Route("/audit", show),
    Route("/audit/examine", examine, methods=["POST"]),
    Route("/audit/found/{job}", show_found),
    Route("/audit/found/{job}/page", give_page),
    Route("/audit/evidence/{name}", give_evidence),
    Route("/audit/verify", verify, methods=["POST"]),
]
