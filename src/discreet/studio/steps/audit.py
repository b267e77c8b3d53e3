"""Audit: who is at risk by a release, evidence to sign, and whether a release is the signed one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData, UploadFile
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from discreet.errors import SchemaError, StoreError
from discreet.studio.fields import is_whole
from discreet.studio.places import confine, take_path
from discreet.studio.rendering import render, visit_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from discreet.studio.visits import Visit

OWN = "plan:"
"""Chooses the table of the open plan."""
DROPPED = "dropped:"
"""Chooses the release that was dropped."""
FILES = ("evidence.html", "evidence.json")


async def show(request: Request) -> Response:
    """Show what can be audited, and what the last audit found."""
    visit = visit_of(request)
    about = await visit.ask("audit.look", visit.root, visit.plan, visit.home)
    job = visit.latest_job("audit")
    return render(request, "audit/page.html", about=about, job=job, own=OWN, dropped=DROPPED)


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
    def read(name: str) -> str:
        return str(form.get(name, "")).strip()

    def find(name: str) -> Path | None:
        return visit.find(read(name)) if read(name) else None

    population = _read_whole(read("population"), "people are no population")
    if population == 0:
        raise SchemaError("Nobody is no population.", hint="Give a whole number, or none.")
    wanted = read("folder") or f"{release}-evidence"
    return {
        "population": population,
        "population_file": find("population_file"),
        "presets": [str(name) for name in form.getlist("preset")],
        "attacks": "attacks" in form,
        "control": find("control"),
        "by_plan": "by_plan" in form,
        "person": read("person") or None,
        "cluster": read("cluster") or None,
        "explain": _read_whole(read("explain"), "is no row of a table"),
        "earlier": [visit.find(str(name)) for name in form.getlist("earlier")],
        "evidence": confine(visit.root, wanted) if "evidence" in form else None,
        "overwrite": "overwrite" in form,
        "per_person": visit.keep("csv") if "per_person" in form else None,
    }


def _read_whole(text: str, why: str) -> int | None:
    """Read a whole number, if there is any."""
    plain = text.replace(",", "")
    if plain and not is_whole(plain):
        raise SchemaError(f"{text[:40]!r} {why}.", hint="Give a whole number, or none.")
    return int(plain) if plain else None


async def show_found(request: Request) -> Response:
    """Show what an audit found, and its evidence among what there is."""
    visit = visit_of(request)
    about = await visit.ask("audit.look", visit.root, visit.plan, visit.home)
    job = visit.find_outcome(request.path_params["job"], "audit")
    return render(request, "audit/found.html", job=job, about=about, dropped=DROPPED)


async def give_page(request: Request) -> Response:
    """Hand the report over as a page that needs nothing."""
    headers = {"content-disposition": 'attachment; filename="audit.html"'}
    return HTMLResponse(_find_audit(request)["page"], headers=headers)


async def give_people(request: Request) -> Response:
    """Hand everybody's risk over, if that was asked for."""
    place = _find_audit(request)["per_person"]
    if place is None:
        raise StoreError("Nobody asked for it.", hint="Audit with every person's risk.")
    return FileResponse(place, filename="risks.csv")


def _find_audit(request: Request) -> dict[str, Any]:
    job = visit_of(request).find_job(request.path_params["job"])
    if job.step != "audit" or job.state != "done":
        raise StoreError("There is no report.", hint="Audit a release first.")
    found: dict[str, Any] = job.found
    return found


async def give_evidence(request: Request) -> Response:
    """Hand a file of evidence over."""
    visit, name = visit_of(request), request.path_params["name"]
    place = visit.find(str(request.query_params.get("folder", ""))) / name
    if name not in FILES or not place.is_file() or place.is_symlink():
        raise StoreError("There is no such evidence.", hint="Audit a release with evidence.")
    return FileResponse(place, filename=name)


async def drop_file(request: Request) -> Response:
    """Take a file of a release that was dropped, as it comes in; the first begins another one."""
    visit, name = visit_of(request), take_path(request.path_params["name"])
    if "first" in request.query_params:
        visit.release.forget()
    await visit.release.take(name, request.stream(), request.state.largest)
    return Response(status_code=204)


async def verify(request: Request) -> Response:
    """Say whether a release is the one that evidence is of."""
    visit, form = visit_of(request), await request.form()
    dropped = [one for one in form.getlist("dropped") if isinstance(one, UploadFile)]
    files = {one.filename or "": await one.read() for one in dropped if one.filename}
    release, evidence = str(form.get("release", "")), str(form.get("evidence", ""))
    if not release or not (files or evidence):
        raise SchemaError("There is nothing to compare.", hint="Choose evidence and a release.")
    place = visit.release.folder if release == DROPPED else visit.find(release)
    if files:
        found = await visit.ask("audit.verify_dropped", files, place)
    else:
        found = await visit.ask("audit.verify", visit.find(evidence), place)
    return render(request, "audit/verified.html", found=found)


routes = [
    Route("/audit", show),
    Route("/audit/examine", examine, methods=["POST"]),
    Route("/audit/found/{job}", show_found),
    Route("/audit/found/{job}/page", give_page),
    Route("/audit/found/{job}/people", give_people),
    Route("/audit/evidence/{name}", give_evidence),
    Route("/audit/dropped/{name:path}", drop_file, methods=["PUT"]),
    Route("/audit/verify", verify, methods=["POST"]),
]
