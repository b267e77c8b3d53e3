"""The command line: one command per arrow of the flow.

Nothing heavy is imported up here, so that ``discreet --help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.errors import DiscreetError, MicrodataError, QueryError, StoreError

app = typer.Typer(
    name="discreet",
    help="Publish tables about people: make a release, audit it, prove what it protects.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

INTERRUPTED = 130
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]


def main() -> None:
    """Run the command line; every expected failure is one message and an exit code."""
    import signal

    # being told to stop is no different from Ctrl-C: clean up, say so, leave
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    try:
        code = app(standalone_mode=False)
        if code == INTERRUPTED:
            _say_error("Interrupted. Nothing half-written was left behind.")
    except DiscreetError as error:
        _say_error(str(error))
        code = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        _say_error("Interrupted. Nothing half-written was left behind.")
        code = INTERRUPTED
    except OSError as error:
        _say_error(f"{error.filename or 'standard output'}: {error.strerror or error}.")
        code = 2
    except BaseException as error:
        if "KeyboardInterrupt" in str(error):  # caught inside polars, which panics about it
            _say_error("Interrupted. Nothing half-written was left behind.")
            sys.exit(INTERRUPTED)
        if not hasattr(error, "exit_code"):  # a bug: show where
            raise
        show: Callable[[], None] = getattr(error, "show", lambda: None)
        show()
        code = int(error.exit_code)
    sys.exit(code or 0)


def _say_error(message: str) -> None:
    print(f"Error: {message}", file=sys.stderr)


@contextmanager
def _working(what: str) -> Iterator[None]:
    """Show on a terminal that work goes on; stay silent in pipes."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(what)
        yield


def _print_json(value: Any) -> None:
    import json

    print(json.dumps(value, indent=2, ensure_ascii=False))


def _table(*columns: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _print(thing: Any = "") -> None:
    from rich.console import Console

    Console(highlight=False, soft_wrap=isinstance(thing, str)).print(thing, markup=False)


def _complete_preset(incomplete: str) -> list[str]:
    from discreet.auditing.identity import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from discreet import __version__

        print(f"discreet {__version__}")
        raise typer.Exit


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(help="A CSV, Parquet or Excel file.")],
    plan: Annotated[
        Path | None, typer.Option(help="Where to write the plan; default <name>.plan.toml here.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Propose a role and a type for every column, with reasons, and draft a plan to edit."""
    from discreet.inspection import inspect_table
    from discreet.store import write_file

    target = plan or Path(f"{file.stem}.plan.toml")
    _refuse_outputs([target], inputs=[file], overwrite=overwrite)
    with _working(f"Reading {file.name}"):
        found = inspect_table(file, target.absolute().parent)
    write_file(target, lambda draft: draft.write_text(found.plan, encoding="utf-8"))
    if json:
        _print_json({**found.to_dict(), "plan": str(target)})
        return
    table = _table("column", "role", "type", "missing", "why")
    for attribute in found.schema:
        missing = f"{found.missing[attribute.name]:,}" if attribute.name in found.missing else ""
        table.add_row(attribute.name, attribute.role, attribute.type, missing, attribute.reason)
    _print(table)
    _print(found.story)
    _print(f"Plan: {target}. Check the roles, then: discreet publish {target}")


@app.command()
def publish(
    plan: Annotated[Path, typer.Argument(help="A plan as written by `discreet inspect`.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the release.")] = None,
    format: Annotated[str | None, typer.Option(help="parquet or csv.")] = None,
    seed: Annotated[int | None, typer.Option(help="Make it repeatable; keep it secret.")] = None,
    report: Annotated[Path | None, typer.Option(help="Also write an audit page here.")] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Make the release a plan describes, verify it from disk, and say what was lost."""
    from discreet.auditing import audit as examine
    from discreet.methods import publish as make
    from discreet.microdata import read
    from discreet.plan import Plan, with_overrides

    if format not in (None, "parquet", "csv"):
        raise StoreError(f"--format {format}: give parquet or csv.")
    wanted = with_overrides(Plan.read(plan), out, format, seed)  # type: ignore[arg-type]
    _refuse_outputs([report], inputs=wanted.inputs, release=wanted.folder, overwrite=overwrite)
    with _working(f"Reading {wanted.source.name}"):
        data = read(wanted.source, wanted.schema)
    with _working("Publishing"):
        release = make(data, wanted.method, seed=wanted.seed)
        release.write(wanted.folder, format=wanted.format, overwrite=overwrite)
    try:
        with _working("Auditing"):
            found = examine(wanted.folder, data)
            if report is not None:
                found.to_html(report)
    except KeyboardInterrupt as error:
        _say_error(f"Interrupted while auditing. The release in {wanted.folder} is complete.")
        raise typer.Exit(1) from error
    if json:
        intake = {"read": data.intake.read, "dropped": data.intake.dropped,
                  "missing": data.intake.missing}  # fmt: skip
        _print_json({"release": str(wanted.folder), "intake": intake, **found.to_dict()})
    else:
        if data.intake.dropped:
            _print(f"{data.intake.dropped:,} of {data.intake.read:,} rows were left out: missing.")
        _print_findings(found)
        _print(f"Release: {wanted.folder}, verified from disk.")
        if report is not None:
            _print(f"Report: {report} (yours; do not publish it).")
    if not found.kept:
        raise typer.Exit(1)


@app.command()
def audit(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    microdata: Annotated[Path, typer.Option(help="The table it was made from.")],
    population: Annotated[
        int | None, typer.Option(help="People the table is a sample of, for the journalist.")
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(
            help="A published rule that must hold too: cell-11, risk-0.09.",
            autocompletion=_complete_preset,
        ),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="Hold the release to this plan's promise, not its own.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page for reviewers here.")] = None,
    per_person: Annotated[
        Path | None, typer.Option(help="Write every person's risk to this CSV file.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Check a release independently, from the bytes on disk; exit 1 on a breach."""
    from discreet.auditing import audit as examine
    from discreet.microdata import read
    from discreet.store import load_schema, write_file

    inputs = [microdata, *([plan] if plan else [])]
    _refuse_outputs([report, per_person], inputs=inputs, release=release, overwrite=overwrite)
    principle = None
    if plan is not None:
        from discreet.plan import Plan

        principle = Plan.read(plan).method.principle
    schema = load_schema(release)
    with _working(f"Reading {microdata.name}"):
        try:
            data = read(microdata, schema)
        except MicrodataError as error:
            error.hint = "Is this the table the release was made from?"
            raise
    with _working("Auditing"):
        found = examine(release, data, principle=principle, population=population, presets=preset)
    if report is not None:
        found.to_html(report)
    if per_person is not None:
        write_file(per_person, found.per_person.write_csv)
    if json:
        _print_json(found.to_dict())
    else:
        _print_findings(found)
    if not found.kept:
        raise typer.Exit(1)


def _refuse_outputs(
    outputs: Sequence[Path | None],
    *,
    inputs: Sequence[Path],
    release: Path | None = None,
    overwrite: bool,
) -> None:
    """Check where files will go before any work: not over what was given, not into a release."""
    for path in outputs:
        if path is None:
            continue
        place = path.resolve()
        if place in [given.resolve() for given in inputs]:
            raise StoreError(
                f"{path}: is what the command reads; it will not be written over.",
                hint="Choose another name.",
            )
        if release is not None and place.is_relative_to(release.resolve()):
            raise StoreError(
                f"{path}: lies inside the release, but is not for the public.",
                hint="Write it elsewhere.",
            )
        if path.is_dir():
            raise StoreError(f"{path}: is a folder.", hint="Give the name of a file.")
        if path.exists() and not overwrite:
            raise StoreError(
                f"{path}: exists already.", hint="Choose another name, or add --overwrite."
            )


def _print_findings(found: Any) -> None:
    table = _table("promise", "about", "people for whom it fails")
    for check in found.checks:
        table.add_row(str(check.principle), check.attribute or "everyone", f"{check.breaches:,}")
    _print(table)
    identity = found.identity
    alone = "some people look like nobody else"
    others = f"everyone looks like at least {identity.smallest - 1} others"
    lines = [
        f"{found.people:,} people in {found.groups:,} groups; "
        f"{others if identity.smallest > 1 else alone}."
    ]
    if found.max_belief is not None:
        lines.append(
            f"Largest belief in a sensitive value of anyone: {found.worst} "
            f"= {found.max_belief:.1%}."
        )
    lines.append(
        f"Identity: at most {float(identity.prosecutor):.2%} for one person, "
        f"{float(identity.marketer):.2%} of people expected to be named rightly."
    )
    if identity.journalist is not None:
        lines.append(
            f"Seen from a population of {identity.population:,}: at most "
            f"{float(identity.journalist):.4%} for one person."
        )
    lines += [f"{name}: {'kept' if good else 'NOT KEPT'}" for name, good in found.presets.items()]
    if found.loss.ncp:
        most = max(found.loss.per_attribute, key=found.loss.per_attribute.get)
        lines.append(
            f"Precision lost: {found.loss.ncp:.1%} (NCP: share of other values covered), "
            f"most on {most}."
        )
    else:
        lines.append("No precision lost: quasi-identifiers are exact.")
    lines += [f"PROBLEM: {problem}" for problem in found.problems]
    if found.problems:
        lines.append("BREACH: do not publish this release.")
    _print("\n".join(lines))


@app.command()
def query(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    sql: Annotated[
        str | None,
        typer.Argument(
            help="SELECT aggregates FROM release WHERE … GROUP BY …; "
            "without it, questions are read line by line."
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="A database to run it on: postgresql://user@host/name.")
    ] = None,
    show_sql: Annotated[
        str | None,
        typer.Option(help="Print the rewritten statement for duckdb, postgres or spark instead."),
    ] = None,
    json: Json = False,
) -> None:
    """Ask a release in SQL: the estimate, hard bounds, and the standard error."""
    from discreet.sql import show_sql as write_sql
    from discreet.store import load

    if sql is None and (engine or show_sql):
        raise QueryError("There is no question.", hint="Give it after the release's folder.")
    published = load(release)
    if sql is None:
        with published.prepare() as prepared:
            for question in _read_questions():
                try:
                    _print_answer(prepared.query(question), json)
                except QueryError as error:
                    if not sys.stdin.isatty():
                        raise
                    _say_error(str(error))
        return
    if show_sql is not None:
        print(write_sql(published, sql, show_sql))
        return
    with _working("Asking"):
        answer = published.query(sql, engine=engine)
    _print_answer(answer, json)


def _read_questions() -> Iterator[str]:
    """Read one question per line, asking for it on a terminal, until the end or Ctrl-D."""
    lines: Iterator[str] = sys.stdin
    if sys.stdin.isatty():
        import readline  # noqa: F401  (lines can then be edited and called back)

        def prompt() -> Iterator[str]:
            with suppress(EOFError):
                while True:
                    yield input("discreet> ")

        lines = prompt()
    yield from (line.strip() for line in lines if line.strip())


def _print_answer(answer: Any, json: bool) -> None:
    if json:
        _print_json({"rows": answer.frame.to_dicts(), "sql": answer.sql})
        return
    table = _table(*answer.query.group_by, "what", "estimate", "at least", "at most", "std. error")
    for row in answer.frame.iter_rows(named=True):
        for aggregate in answer.query.aggregates:
            cells = [_show_number(row[name]) for name in aggregate.names]
            table.add_row(*(str(row[g]) for g in answer.query.group_by), aggregate.alias, *cells)
    _print(table)


def _show_number(cell: Any) -> str:
    if cell is None:
        return "–"
    return (
        f"{cell:,.2f}"
        if isinstance(cell, float)
        else f"{cell:,}"
        if isinstance(cell, int)
        else str(cell)
    )


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where to leave the results.")] = Path("demo"),
) -> None:
    """Publish the embedded Adult table, audit it, and tell the story in numbers."""
    from discreet.demo import run_demo

    with _working("Publishing Adult"):
        story = run_demo(folder)
    _print(story)


@app.command("plan-schema")
def plan_schema() -> None:
    """Print the JSON schema of plans, for editors that check while you type."""
    from discreet.plan import plan_model

    _print_json(plan_model().model_json_schema())
