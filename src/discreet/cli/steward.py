"""The steward's commands, from inspect to publish, and what describes a release elsewhere."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli.app import Engine, Json, Memory, Overwrite, PlainTable, ReleaseFolder, app
from discreet.cli.screen import (
    make_table,
    print_json,
    refuse_unreached,
    say,
    show,
    working,
    working_in_stages,
)
from discreet.errors import PlanError, SchemaError, name_closest
from discreet.steward.outputs import refuse_outputs

if TYPE_CHECKING:
    import polars as pl

    from discreet.evaluate.correlations import Correlations
    from discreet.steward.inspection import Inspection
    from discreet.table.inference import GivenRoles
    from discreet.table.schema import Schema

WIDEST, MOST_SHOWN = 9, 20
"""Attributes of which a matrix fits on the screen; else, so many pairs are shown."""


@app.command()
def inspect(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A CSV, Parquet, Excel, SPSS, Stata or SAS file, a folder of Parquet files, an "
            "ARX project; a database (postgresql://…, people.duckdb) with --table or --query; or "
            "what a cluster reads, such as s3a://….",
        ),
    ],
    plan: Annotated[
        Path | None, typer.Option(help="Where to write the plan; default <name>.plan.toml here.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="The table of a database, such as clinic.visits.")
    ] = None,
    query: Annotated[str | None, typer.Option(help="Or a SELECT of the database.")] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="The sensitive columns, separated by commas.")
    ] = None,
    quasi: Annotated[
        str | None, typer.Option(help="The quasi-identifiers, separated by commas.")
    ] = None,
    identifier: Annotated[
        str | None, typer.Option(help="Columns that name people, separated by commas.")
    ] = None,
    memory: Memory = None,
    engine: Engine = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Propose a role and a type for every column, with reasons, and draft a plan to edit."""
    from discreet.files import write_text
    from discreet.steward.inspection import inspect_database
    from discreet.table.databases import DatabaseTable, is_database
    from discreet.table.inference import GivenRoles

    given = GivenRoles(*(_split_names(names) for names in (quasi, sensitive, identifier)))
    file = Path(source)
    name = (table or "query").split(".")[-1] if is_database(source) else file.stem
    target = plan or Path(f"{name}.plan.toml")
    refuse_outputs([target], inputs=[file], overwrite=overwrite)
    if is_database(source):
        with working(f"Reading {table or 'rows'}"):
            lies = DatabaseTable(source, table, query)
            found = inspect_database(lies, target.absolute().parent, given)
    elif table is not None or query is not None:
        raise SchemaError("--table and --query are of a database.", hint="Give its address.")
    else:
        found = _look_at(source, target.absolute().parent, memory, engine, given)
    texts = {target.parent / name: text for name, text in found.files.items()}
    refuse_outputs(list(texts), inputs=[file], overwrite=overwrite)
    for path, text in {**texts, target: found.plan}.items():
        write_text(path, text, shared=path == target)  # others may be the table itself
    if json:
        print_json({**found.to_dict(), "plan": str(target), "files": list(map(str, texts))})
        return
    shown = make_table("column", "role", "type", "missing", "apart", "alone", "why")
    for narrow in shown.columns[:-1]:
        narrow.no_wrap = True
    for attribute in found.schema:
        missing = f"{found.missing[attribute.name]:,}" if attribute.name in found.missing else ""
        told = found.telling[attribute.name]
        shown.add_row(
            attribute.name, attribute.role, attribute.type, missing, f"{told.separation:.1%}",
            "" if told.adds is None else f"{told.adds:,}",
            re.sub(r"; [\d,]+ distinct \(.*\)$", "", attribute.reason),
        )  # fmt: skip
    show(shown)
    say("apart: pairs of rows that differ in it; alone: rows that become unique by it, beside the "
        "quasi-identifiers.")  # fmt: skip
    show(found.story)
    if texts:
        show(f"From the project: {', '.join(map(str, texts))}.")
    show(f"Plan: {target}. Check the roles, then: discreet publish {quote(str(target))}")


def _split_names(names: str | None) -> list[str] | None:
    return None if names is None else [n.strip() for n in names.split(",") if n.strip()]


def _look_at(
    source: str, plan_folder: Path, memory: str | None, engine: str | None, given: GivenRoles
) -> Inspection:
    """Look at a table in memory, or where it lies if that does not hold it."""
    from discreet.steward.beyond_memory import read_memory
    from discreet.steward.inspection import inspect_table
    from discreet.steward.inspection_in_parts import inspect_on_disk, is_large

    file, limit = Path(source), read_memory(memory)
    remote = source if "://" in source else None
    refuse_unreached(remote, engine)
    if engine is not None:
        from discreet.steward.on_cluster import inspect_on_cluster

        with working_in_stages() as progress:
            return inspect_on_cluster(remote or file, plan_folder, engine, progress, given)
    if is_large(file, limit):
        with working_in_stages() as progress:
            return inspect_on_disk(file, plan_folder, limit, progress, given)
    with working(f"Reading {file.name}"):
        return inspect_table(file, plan_folder, given)


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
    """Show which (ε,m) and (k,e) a number allows: how near it may be told, among how many."""
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
    by_ke = found.by_ke
    table = make_table("e", *(f"k = {k}" for k in by_ke["k"].unique().sort()))
    for (e,), most in by_ke.group_by(["e"], maintain_order=True):
        counts = most.select("runs", "groups").iter_rows()
        table.add_row(f"{e:,.6g}", *(f"{runs:,} ({groups:,})" for runs, groups in counts))
    if by_ke.height:
        show("(k,e) can be kept by at most so many groups whose numbers are near (of anybody)")
        show(table)


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
        asked = list(dict.fromkeys(_split_names(attributes) or []))
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
    write_text(to, text, shared=True)
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


@app.command()
def plan(
    what: Annotated[
        str, typer.Argument(metavar="METHOD", help="A method; or check, to check a plan.")
    ],
    file: Annotated[Path | None, typer.Argument(help="The plan to check.")] = None,
    to: Annotated[Path | None, typer.Option(help="Where to write it; else it is printed.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a commented plan for a method, to begin from; or check the plan in a file."""
    from discreet.files import write_text
    from discreet.steward.plan import Plan
    from discreet.steward.templates import write_template
    from discreet.table.schema import Role

    if what == "check":
        if file is None or to is not None:
            raise PlanError("Which plan is to be checked?", hint="Write: discreet plan check FILE.")
        found = Plan.read(file)
        if found.remote is not None and found.columns.has_patterns:
            show(f"Roles by patterns are given where a cluster reads {found.remote}.")
        else:
            for role in Role:
                if columns := found.schema.having(role):
                    show(f"{role}: {', '.join(a.name for a in columns)}")
        show(f"{found.method.title}: {found.method.principle}")
        show(f"{file} is a plan. Try it: discreet publish {quote(str(file))} --dry-run")
        return
    if file is not None:
        raise PlanError(f"{file}: only check takes a file.", hint="Give the place of a template by "
                        "--to FILE.")  # fmt: skip
    text = write_template(what)
    if to is None:
        print(text, end="")
        return
    refuse_outputs([to], inputs=[], overwrite=overwrite)
    write_text(to, text, shared=True)
    show(f"Plan: {to}. Change it, then: discreet plan check {quote(str(to))}")


@app.command("plan-schema")
def plan_schema() -> None:
    """Print the JSON schema of plans, for editors that check while you type."""
    from discreet.steward.plan import plan_model

    print_json(plan_model().model_json_schema())
