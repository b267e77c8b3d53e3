"""Ask: a release, in SQL or by a form; the analyst has it and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from discreet.studio.rendering import render, visit_of

if TYPE_CHECKING:
    from starlette.requests import Request

DIALECTS = {"duckdb": "DuckDB", "postgres": "PostgreSQL", "spark": "Spark"}


async def show(request: Request) -> Response:
    """Show what can be asked of a release, or the releases that there are."""
    visit, name = visit_of(request), request.query_params.get("release", "")
    if not name:
        found = await visit.ask("folder.list_releases", visit.root)
        return render(request, "ask/choose.html", releases=found)
    folder = visit.find(name)
    found = await visit.ask("ask.look", folder)
    page = render(request, "ask/page.html", name=name, found=found)
    page.background = BackgroundTask(visit.analyst.warm_up, "ask.warm_up", folder)
    return page


async def write_question(request: Request) -> Response:
    """Write the SQL of what is put together in the form."""
    visit, form = visit_of(request), await request.form()
    given = {key: [str(value) for value in form.getlist(key)] for key in form}
    sql = await visit.ask("ask.build", visit.find(str(form.get("release", ""))), given)
    return render(request, "ask/sql.html", sql=sql)


async def answer(request: Request) -> Response:
    """Answer a question, beside everything else that is asked."""
    visit, form = visit_of(request), await request.form()
    name, sql = str(form.get("release", "")), str(form.get("sql", ""))
    found = await visit.ask("ask.answer", visit.find(name), sql, of=visit.analyst)
    return render(request, "ask/answer.html", name=name, sql=sql, found=found, dialects=DIALECTS)


async def stop(request: Request) -> Response:
    """Stop answering; whoever waits for the answer is told."""
    await run_in_threadpool(visit_of(request).analyst.interrupt)
    return Response(status_code=204)


async def write_statement(request: Request) -> Response:
    """Write a question over the tables of the release."""
    visit, form = visit_of(request), await request.form()
    name, sql, dialect = (str(form.get(key, "")) for key in ("release", "sql", "dialect"))
    text = await visit.ask("ask.write_statement", visit.find(name), sql, dialect)
    return render(request, "ask/statement.html", text=text, dialect=DIALECTS[dialect])


routes = [
    Route("/ask", show),
    Route("/ask/form", write_question, methods=["POST"]),
    Route("/ask/question", answer, methods=["POST"]),
    Route("/ask/stop", stop, methods=["POST"]),
    Route("/ask/statement", write_statement, methods=["POST"]),
]
