"""The analyst's command: query."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

import typer

from discreet.cli.app import Json, ReleaseFolder, app
from discreet.cli.screen import (
    is_terminal,
    make_table,
    print_json,
    say_error,
    show,
    show_number,
    working,
)
from discreet.errors import QueryError, visible


@app.command()
def query(
    release: ReleaseFolder,
    sql: Annotated[
        str | None,
        typer.Argument(
            help="SELECT aggregates FROM release WHERE … GROUP BY …; "
            "without it, questions are read line by line."
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Where to run it: postgresql://user@host/name, spark://host:7077, sc://host "
            "or local[*]."
        ),
    ] = None,
    show_sql: Annotated[
        str | None,
        typer.Option(help="Print the rewritten statement for duckdb, postgres or spark instead."),
    ] = None,
    json: Json = False,
) -> None:
    """Ask a release in SQL: the estimate, hard bounds, and the standard error."""
    from discreet.forms.asking import show_sql as write_sql
    from discreet.release.store import load

    if sql is None and show_sql:
        raise QueryError("There is no question.", hint="Give it after the release's folder.")
    published = load(release)
    if sql is None:
        with published.prepare(engine=engine) as prepared:
            for line, question in enumerate(_read_questions(), start=1):
                try:
                    _print_answer(prepared.query(question), json)
                except QueryError as error:
                    if not is_terminal(sys.stdin):
                        error.message = f"Question {line}: {error.message}"
                        raise
                    say_error(str(error))
        return
    if show_sql is not None:
        text = write_sql(published, sql, show_sql)
        print(visible(text) if is_terminal(sys.stdout) else text)
        return
    with working("Asking"):
        answer = published.query(sql, engine=engine)
    _print_answer(answer, json)


def _read_questions() -> Iterator[str]:
    """Read one question per line, asking for it on a terminal, until the end or Ctrl-D."""
    if sys.stdin is None:
        raise QueryError("There is no question.", hint="Give it after the release's folder.")
    sys.stdin.reconfigure(encoding="utf-8-sig", errors="replace")  # type: ignore[union-attr]
    lines: Iterator[str] = sys.stdin
    if is_terminal(sys.stdin):
        import readline  # noqa: F401  (lines can then be edited and called back)

        def prompt() -> Iterator[str]:
            with suppress(EOFError):
                while True:
                    yield input("discreet> ")

        lines = prompt()
    yield from (line.strip() for line in lines if line.strip() and not line.startswith("--"))


def _print_answer(answer: Any, json: bool) -> None:
    from discreet.sql.query import ENDINGS

    if json:
        asked = {"tables": answer.tables, "sql": answer.sql, "left_out": answer.left_out,
                 "notes": answer.notes, "coverage": answer.coverage}  # fmt: skip
        print_json({"rows": answer.frame.to_dicts(), **asked})
        return
    known = [name for name, estimated in answer.columns.items() if not estimated]
    told = [name for name, estimated in answer.columns.items() if estimated]
    marked = [name for name in answer.frame.columns if name == "certain" and name not in known]
    wide = any(answer.frame[f"{name}_width"].is_not_null().any() for name in told)
    parts = ENDINGS if wide else ENDINGS[:4]
    titles = ["estimate", "at least", "at most", "std. error", "± 95 %"][: len(parts)]
    table = make_table(*known, *(["what", *titles] if told else []), *marked)
    for row in answer.frame.iter_rows(named=True):
        first = [str(row[name]) for name in known]
        last = ["yes" if row[name] else "no" for name in marked]
        for name in told:
            cells = [show_number(row[name + part]) for part in parts]
            table.add_row(*first, name, *cells, *last)
        if not told:
            table.add_row(*first, *last)
    show(table)
    show(f"From {' and '.join(answer.tables)}.")
    if answer.left_out:
        show(f"{answer.left_out} more may belong to the answer.")
    for note in answer.notes:
        show(note)
