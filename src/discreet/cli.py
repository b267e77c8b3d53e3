"""The command line: one command per arrow of the flow.

Nothing heavy is imported up here, so that ``discreet --help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.errors import DiscreetError, StoreError

app = typer.Typer(
    name="discreet",
    help="Publish tables about people: make a release, audit it, prove what it protects.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]


def main() -> None:
    """Run the command line; every expected failure is one message and an exit code."""
    try:
        code = app(standalone_mode=False)
    except DiscreetError as error:
        _say_error(str(error))
        code = error.exit_code
    except KeyboardInterrupt:
        _say_error("Interrupted. Nothing half-written was left behind.")
        code = 130
    except OSError as error:
        _say_error(f"{error.filename or 'A file'}: {error.strerror or error}.")
        code = 2
    except typer.Abort:
        code = 130
    except Exception as error:
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

    target = plan or Path(f"{file.stem}.plan.toml")
    if target.exists() and not overwrite:
        raise StoreError(
            f"{target}: exists already.", hint="Give another --plan, or --overwrite it."
        )
    with _working(f"Reading {file.name}"):
        found = inspect_table(file, target.absolute().parent)
    try:
        target.write_text(found.plan, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{target}: cannot be written ({error.strerror}).") from error
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
    _refuse_inside(report, wanted.folder)
    with _working(f"Reading {wanted.source.name}"):
        data = read(wanted.source, wanted.schema)
    with _working("Publishing"):
        release = make(data, wanted.method, seed=wanted.seed)
        release.write(wanted.folder, format=wanted.format, overwrite=overwrite)
    with _working("Auditing"):
        found = examine(wanted.folder, data)
        if report is not None:
            found.to_html(report)
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
    report: Annotated[Path | None, typer.Option(help="Write a page for reviewers here.")] = None,
    per_person: Annotated[
        Path | None, typer.Option(help="Write every person's risk to this CSV file.")
    ] = None,
    json: Json = False,
) -> None:
    """Check a release independently, from the bytes on disk; exit 1 on a breach."""
    from discreet.auditing import audit as examine
    from discreet.microdata import read
    from discreet.store import load

    _refuse_inside(report, release)
    _refuse_inside(per_person, release)
    published = load(release)
    with _working(f"Reading {microdata.name}"):
        data = read(microdata, published.schema)
    with _working("Auditing"):
        found = examine(published, data, population=population, presets=preset)
    if report is not None:
        found.to_html(report)
    if per_person is not None:
        found.per_person.write_csv(per_person)
    if json:
        _print_json(found.to_dict())
    else:
        _print_findings(found)
    if not found.kept or not all(found.presets.values()):
        raise typer.Exit(1)


def _refuse_inside(path: Path | None, release: Path) -> None:
    """Keep what is the steward's out of the folder that gets published."""
    if path is not None and path.absolute().is_relative_to(release.absolute()):
        raise StoreError(
            f"{path}: lies inside the release, but is not for the public.",
            hint="Write it elsewhere.",
        )


def _print_findings(found: Any) -> None:
    table = _table("promise", "about", "people for whom it fails")
    for check in found.checks:
        table.add_row(str(check.principle), check.attribute or "everyone", f"{check.breaches:,}")
    _print(table)
    identity = found.identity
    lines = [
        f"{found.people:,} people in {found.groups:,} groups; the smallest candidate set has "
        f"{identity.smallest}.",
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
    lines.append(
        f"Precision lost (NCP): {found.loss.ncp:.1%}; most on "
        f"{max(found.loss.per_attribute, key=found.loss.per_attribute.get)}."
    )
    lines += [f"PROBLEM: {problem}" for problem in found.problems]
    _print("\n".join(lines))


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
