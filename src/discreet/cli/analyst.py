"""The analyst's command: query."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.app import Json, app
from discreet.cli.screen import (
    is_terminal,
    make_table,
    print_json,
    say,
    say_error,
    show,
    working,
)
from discreet.errors import QueryError, visible

if TYPE_CHECKING:
    from discreet.forms.asking import Answer


@app.command()
def query(
    release: Annotated[
        Path,
        typer.Argument(help="The folder of a release, or one that holds several of a table."),
    ],
    sql: Annotated[
        str | None,
        typer.Argument(
            help="SELECT … FROM release …, as you would ask DuckDB, or FROM releases of several; "
            "without it, questions are read line by line."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Of several: what the column is called that tells the release; by default release."
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
    table: Annotated[
        list[str] | None,
        typer.Option(help="A table of yours to join answers with: NAME=FILE. May be repeated."),
    ] = None,
    json: Json = False,
) -> None:
    """Ask a release, or several of a table, in SQL: estimates, hard bounds, possible errors."""
    from discreet.forms.asking import show_sql as write_sql
    from discreet.release.series import load_published

    if sql is None and show_sql:
        raise QueryError("There is no question.", hint="Give it after the release's folder.")
    published, own = load_published(release, by), _read_tables(table or [])
    if sql is None:
        with published.prepare(engine=engine, tables=own) as prepared:
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
        text = write_sql(published, sql, show_sql, own)
        print(visible(text) if is_terminal(sys.stdout) else text)
        return
    with working("Asking"):
        answer = published.query(sql, engine=engine, tables=own)
    _print_answer(answer, json)


def _read_tables(given: list[str]) -> dict[str, Any]:
    """Read the analyst's own tables; texts that are all numbers as they are written are numbers."""
    import polars as pl

    from discreet.table.readers import read_table

    found = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise QueryError(
                f"--table {text} names no file.", hint="Write --table regions=regions.csv."
            )
        frame = read_table(Path(path))
        numbers = [
            number
            for cells in frame.select(pl.col(pl.String)).get_columns()
            for number in [cells.cast(pl.Float64, strict=False)]
            if number.null_count() == cells.null_count()
            and not cells.str.contains(r"^[+-]?0\d").any()  # 01 is a code
        ]
        found[name] = frame.with_columns(numbers)
    return found


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


def _print_answer(answer: Answer, json: bool) -> None:
    from discreet.forms.asking import write_number

    if json:
        asked = {"tables": answer.tables, "sql": answer.sql, "left_out": answer.left_out,
                 "notes": answer.notes, "coverage": answer.coverage}  # fmt: skip
        print_json({"rows": answer.frame.to_dicts(), **asked})
        return
    known, told, marked = answer.known, answer.told, answer.marked
    titles = ["estimate", "at least", "at most", "std. error", "± 95 %"][: len(answer.parts)]
    table = make_table(*known, *(["what", *titles] if told else []), *marked)
    for row in answer.frame.iter_rows(named=True):
        first = [str(row[name]) for name in known]
        last = ["yes" if row[name] else "no" for name in marked]
        for name in told:
            cells = [write_number(row[name + part]) for part in answer.parts]
            table.add_row(*first, name, *cells, *last)
        if not told:
            table.add_row(*first, *last)
    show(table)
    show(f"From {' and '.join(answer.tables)}.")
    if answer.is_open:
        say(answer.coverage)
    if answer.left_out:
        show(f"{answer.left_out} more may belong to the answer.")
    for note in answer.notes:
        show(note)
