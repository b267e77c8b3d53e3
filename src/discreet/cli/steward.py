"""The steward's commands, from inspect to publish, and what describes a release elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli.app import Json, Overwrite, PlainTable, ReleaseFolder, app
from discreet.cli.ledger import record
from discreet.cli.screen import (
    make_table,
    print_findings,
    print_json,
    refuse_outputs,
    say_error,
    show,
    working,
)
from discreet.errors import PromiseError, SchemaError, StoreError, name_closest

if TYPE_CHECKING:
    import polars as pl

    from discreet.auditing import AuditReport
    from discreet.evaluate.correlations import Correlations
    from discreet.release import Release
    from discreet.steward.ledger import Entry, Ledger
    from discreet.steward.plan import Plan
    from discreet.table.microdata import Microdata
    from discreet.table.schema import Schema

WIDEST, MOST_SHOWN = 9, 20
"""Attributes of which a matrix fits on the screen; else, so many pairs are shown."""


@app.command()
def inspect(
    file: Annotated[
        Path, typer.Argument(help="A CSV, Parquet, Excel, SPSS or Stata file, or an ARX project.")
    ],
    plan: Annotated[
        Path | None, typer.Option(help="Where to write the plan; default <name>.plan.toml here.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Propose a role and a type for every column, with reasons, and draft a plan to edit."""
    from discreet.files import write_text
    from discreet.steward.inspection import inspect_table

    target = plan or Path(f"{file.stem}.plan.toml")
    refuse_outputs([target], inputs=[file], overwrite=overwrite)
    with working(f"Reading {file.name}"):
        found = inspect_table(file, target.absolute().parent)
    texts = {target.parent / name: text for name, text in found.files.items()}
    refuse_outputs(list(texts), inputs=[file], overwrite=overwrite)
    for path, text in {**texts, target: found.plan}.items():
        write_text(path, text)
    if json:
        print_json({**found.to_dict(), "plan": str(target), "files": list(map(str, texts))})
        return
    table = make_table("column", "role", "type", "missing", "why")
    for attribute in found.schema:
        missing = f"{found.missing[attribute.name]:,}" if attribute.name in found.missing else ""
        table.add_row(attribute.name, attribute.role, attribute.type, missing, attribute.reason)
    show(table)
    show(found.story)
    if texts:
        show(f"From the project: {', '.join(map(str, texts))}.")
    show(f"Plan: {target}. Check the roles, then: discreet publish {quote(str(target))}")


def _read_columns(file: Path, names: list[str]) -> pl.DataFrame:
    """Read a table that must have some columns."""
    from discreet.table.readers import read_table

    frame = read_table(file)
    for name in names:
        if name not in frame.columns:
            raise SchemaError(
                f"{file.name} has no column {name!r}.", hint=name_closest(name, frame.columns)
            )
    return frame


@app.command()
def tradeoff(
    file: PlainTable,
    sensitive: Annotated[str, typer.Option(help="The column whose numbers to look at.")],
    chart: Annotated[Path | None, typer.Option(help="Also draw it, as an SVG file.")] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Show which (ε,m) a number allows: how near it may be told, and how unlikely."""
    from discreet.evaluate import tradeoff as weigh
    from discreet.table.microdata import read
    from discreet.table.schema import Schema

    refuse_outputs([chart], inputs=[file], overwrite=overwrite)
    with working(f"Reading {file.name}"):
        frame = _read_columns(file, [sensitive])
        column = frame.select(sensitive).drop_nulls()
        schema = Schema.infer(column, quasi_identifiers=[], sensitive=[sensitive])
        found = weigh(read(column, schema))
    if chart is not None:
        found.draw(chart)
    if json:
        print_json(found.to_dict())
        return
    kinds = ["absolute", "relative"] if found.has_relative else ["absolute"]
    table = make_table("m", *(f"any {kind} ε below" for kind in kinds))
    for row in found.by_m.iter_rows(named=True):
        cells = ("no bound" if row[kind] is None else f"{row[kind]:,.6g}" for kind in kinds)
        table.add_row(str(row["m"]), *cells)
    show(f"{found.attribute}: {len(found.numbers):,} people. (ε,m) can be kept for")
    show(table)
    table = make_table("neighbourhood", "ε", "largest m")
    for kind, epsilon, m in found.by_epsilon.iter_rows():
        table.add_row(kind, f"{epsilon:,.6g}", f"{m:,}")
    show(table)
    if not found.has_relative:
        show("Not all numbers are positive, so there are no relative neighbourhoods.")


@app.command()
def columns(
    file: PlainTable,
    sensitive: Annotated[str | None, typer.Option(help="The sensitive column, if any.")] = None,
    attributes: Annotated[
        str | None, typer.Option(help="Columns to look at, separated by commas; by default all.")
    ] = None,
    similarity: Annotated[
        Literal["contingency", "agreement"],
        typer.Option(help="How to compare: by contingency φ², or for ratings by agreement."),
    ] = "contingency",
    chart: Annotated[
        Path | None, typer.Option(help="Also draw a heat map, as an SVG file.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Show which attributes tell about each other, and the columns slicing would make of them."""
    from discreet.evaluate.correlations import choose_columns, correlate, draw_correlations
    from discreet.table.microdata import read

    measure = "φ²" if similarity == "contingency" else similarity
    refuse_outputs([chart], inputs=[file], overwrite=overwrite)
    with working(f"Reading {file.name}"):
        named = (attributes or "").split(",")
        asked = list(dict.fromkeys(name.strip() for name in named if name.strip()))
        frame = _read_columns(file, [*asked, *([sensitive] if sensitive else [])])
        schema = _choose_attributes(frame, asked, sensitive)
    with working("Comparing attributes"):
        found = correlate(read(frame.select(schema.names), schema), similarity=similarity)
        many = len(found.names) > MOST_SHOWN
        counts = [5, 10, 50] if many else range(2, min(5, len(found.names)) + 1)
        made = {c: choose_columns(found, c, sensitive=sensitive, alpha=None)
                for c in counts if c <= len(found.names)}  # fmt: skip
        if chart is not None:
            draw_correlations(found, chart, title=measure, columns=made[max(made)])
    if json:
        key = "phi_squared" if similarity == "contingency" else similarity
        print_json({"names": found.names, key: found.values.tolist(), "columns": made})
        return
    show(_tabulate(found, measure) if len(found.names) <= WIDEST else _list_pairs(found))
    table = make_table("columns", "attributes that would stay together")
    for c, parts in made.items():
        table.add_row(str(c), " | ".join(map(_shorten if many else ", ".join, parts)))
    show(table)


def _choose_attributes(frame: pl.DataFrame, asked: list[str], sensitive: str | None) -> Schema:
    """Take the attributes asked for, else all that do not name people; missing is a value."""
    from discreet.table.schema import Missing, Role, Schema

    chosen = asked or [a.name for a in Schema.infer(frame) if a.role is not Role.IDENTIFIER]
    others = [name for name in chosen if name != sensitive]
    known = [sensitive] if sensitive else []
    schema = Schema.infer(
        frame.select([*others, *known]), quasi_identifiers=others, sensitive=known
    )
    return schema.changed(*(replace(a, missing=Missing.VALUE) for a in schema))


def _tabulate(found: Correlations, measure: str) -> Any:
    table = make_table(measure, *found.names)
    for name, row in zip(found.names, found.values, strict=True):
        table.add_row(
            name, *("" if name == o else f"{x:.3f}" for o, x in zip(found.names, row, strict=True))
        )
    return table


def _list_pairs(found: Correlations) -> Any:
    """The pairs that tell most about each other, where a matrix would not fit."""
    table = make_table("attribute", "goes with", "by")
    pairs = sorted(combinations(found.names, 2), key=lambda pair: -found.between(*pair))
    for pair in pairs[:MOST_SHOWN]:
        table.add_row(*pair, f"{found.between(*pair):.3f}")
    return table


def _shorten(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


@app.command()
def ratings(
    file: Annotated[Path, typer.Argument(help="A table with one row per rating.")],
    to: Annotated[Path, typer.Option(help="Where to write the table: .parquet or .csv.")],
    user: Annotated[str, typer.Option(help="The column of users.")] = "user",
    item: Annotated[str, typer.Option(help="The column of items.")] = "item",
    rating: Annotated[str, typer.Option(help="The column of ratings.")] = "rating",
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Spread ratings into a table with a row per user and a column per item, to be sliced."""
    from discreet.files import write_file
    from discreet.table.ratings import spread_ratings

    if to.suffix not in (".parquet", ".csv"):
        raise SchemaError(f"{to}: give a file that ends in .parquet or .csv.")
    refuse_outputs([to], inputs=[file], overwrite=overwrite)
    with working(f"Reading {file.name}"):
        wide = spread_ratings(file, user=user, item=item, rating=rating)
        write_file(to, wide.write_parquet if to.suffix == ".parquet" else wide.write_csv)
    filled = 1 - sum(wide.null_count().row(0)) / max(wide.height * wide.width, 1)
    if json:
        print_json({"users": wide.height, "items": wide.width, "filled": filled, "file": str(to)})
        return
    show(f"{wide.height:,} users and {wide.width:,} items, {filled:.1%} rated: {to}.")
    show(f"See which stay together: discreet columns {quote(str(to))} --similarity agreement")


@app.command()
def publish(
    plan: Annotated[Path, typer.Argument(help="A plan as written by `discreet inspect`.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the release.")] = None,
    format: Annotated[str | None, typer.Option(help="parquet or csv.")] = None,
    seed: Annotated[int | None, typer.Option(hidden=True)] = None,
    insecure_seed: Annotated[
        int | None, typer.Option(help="Make a test release that can be made again.", min=0)
    ] = None,
    insecure: Annotated[
        bool, typer.Option(help="Write it although a seed decides what protects people.")
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Also write an audit page here.")] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(help="Check it against all releases in this ledger, and record it there."),
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Make the release a plan describes, verify and audit it from disk, and say what was lost.

    It is put in place only if the audit finds that the promise is kept for everybody.
    """
    from discreet.publishing import publish as make
    from discreet.release.store import refuse_to_replace
    from discreet.steward.ledger import Ledger
    from discreet.steward.plan import NO_SEED, Plan, with_overrides
    from discreet.table.microdata import read

    if format not in (None, "parquet", "csv"):
        raise StoreError(f"--format {format}: give parquet or csv.")
    if seed is not None:
        raise SchemaError(f"--seed: {NO_SEED}.")
    wanted = with_overrides(Plan.read(plan), out, format, insecure_seed)  # type: ignore[arg-type]
    if not insecure:
        wanted.refuse_seed()
    refuse_outputs([report], inputs=wanted.inputs, release=wanted.folder, overwrite=overwrite)
    book = None if ledger is None else Ledger(ledger)
    if book is None:  # a ledger first finishes what was interrupted
        refuse_to_replace(wanted.folder, overwrite=overwrite)
    with working(f"Reading {wanted.source.name}"):
        data = read(wanted.source, wanted.schema)
    with working("Publishing"):
        release = make(data, wanted.method, insecure_seed=wanted.insecure_seed)
    found, entry, notes = _put_out(release, wanted, data, book, report, overwrite)
    if json:
        intake = {"read": data.intake.read, "dropped": data.intake.dropped,
                  "missing": data.intake.missing}  # fmt: skip
        made = {} if entry is None else {"ledger": {"entry": entry.name, "notes": notes}}
        place = str(wanted.folder) if found.kept else None
        print_json({"release": place, "intake": intake, **made, **found.to_dict()})
    else:
        if data.intake.dropped:
            show(f"{data.intake.dropped:,} of {data.intake.read:,} rows were left out: missing.")
        print_findings(found)
        for note in [*_remark(wanted), *notes]:
            show(f"Note: {note}.")
        if found.kept:
            show(f"Release: {wanted.folder}, verified from disk.")
        if entry is not None:
            show(f"Ledger: {ledger}, release {entry.name}; goes together with all before it.")
        if report is not None:
            show(f"Report: {report} (yours; do not publish it).")
    if not found.kept:
        say_error("The audit found a breach. Nothing was published.")
        raise typer.Exit(1)


def _put_out(
    release: Release,
    wanted: Plan,
    data: Microdata,
    book: Ledger | None,
    report: Path | None,
    overwrite: bool,
) -> tuple[AuditReport, Entry | None, list[str]]:
    """Audit a draft, and put it in place if the promise is kept; say what was found."""
    from discreet.auditing import audit
    from discreet.auditing.report import render_html
    from discreet.publishing import ask_of_rows
    from discreet.release.store import write

    audits: list[AuditReport] = []
    entry: Entry | None = None
    notes: list[str] = []

    def examine(written: Release) -> None:
        found = audit(written, data, earlier=wanted.method.earlier)
        audits.append(found)
        if report is not None:
            write_page(render_html(found, ask_of_rows(wanted.method, data).explain(data)))
        found.require_kept()

    with _beforehand(report) as write_page:
        try:
            if book is not None:
                entry, notes = record(book, wanted, release, data, examine, overwrite=overwrite)
            else:
                with working("Auditing"):
                    write(release, wanted.folder, format=wanted.format, overwrite=overwrite,
                          approve=lambda _, written: examine(written),
                          insecure=release.insecure, spend=True)  # fmt: skip
        except PromiseError as error:  # of a breach the page is what is left
            if not audits or error.subject is not audits[0]:
                raise
    return audits[0], entry, notes


@contextmanager
def _beforehand(report: Path | None) -> Iterator[Callable[[str], None]]:
    """Let a page be written before the rest is done, and take it back if that fails.

    So nothing is done whose page cannot be written.
    """
    from discreet.files import refuse_unwritable, remove, resolve, write_file, write_text

    before: bytes | None = None
    written: list[Path] = []

    def write(text: str) -> None:
        assert report is not None
        written.append(write_text(report, text))

    if report is not None:
        refuse_unwritable(report)
        before = report.read_bytes() if report.is_file() else None
    try:
        yield write
    except BaseException:
        for path in written:
            if before is None:
                remove(resolve(path))
            else:
                write_file(path, partial(Path.write_bytes, data=before))
        raise


def _remark(wanted: Plan) -> list[str]:
    """Say what a steward may have overlooked in a plan."""
    unseen = [attribute.name for attribute in wanted.schema if not attribute.published]
    remarks = [f"not published: {', '.join(unseen)}"] if unseen else []
    if wanted.insecure_seed is not None:
        remarks.append("a seed decided what protects people: this is a test, give it to nobody")
    if not wanted.schema.sensitive:
        remarks.append("no column is sensitive: what is promised is about finding people")
    return remarks


@app.command()
def croissant(
    release: ReleaseFolder,
    to: Annotated[Path, typer.Option(help="Where to write the description: a JSON file.")],
    overwrite: Overwrite = False,
) -> None:
    """Describe a release for catalogues of data sets, as Croissant 1.0."""
    from pydantic_core import to_json

    from discreet.files import write_text
    from discreet.release.croissant import describe

    refuse_outputs([to], inputs=[release], overwrite=overwrite)
    with working(f"Reading {release.name}"):
        text = to_json(describe(release), indent=1).decode() + "\n"
    write_text(to, text)
    show(f"Croissant: {to}. Add license, url, creator and datePublished; put it beside the files.")


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where to leave the results.")] = Path("demo"),
) -> None:
    """Publish the embedded Adult table, audit it, and tell the story in numbers."""
    from discreet.demo import run_demo

    with working("Publishing Adult"):
        story = run_demo(folder)
    show(story)


@app.command("plan-schema")
def plan_schema() -> None:
    """Print the JSON schema of plans, for editors that check while you type."""
    from discreet.steward.plan import plan_model

    print_json(plan_model().model_json_schema())
