"""What is shown: progress, tables, findings, errors."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from discreet.errors import SchemaError, visible

EVERY = 10.0
"""So many seconds pass between lines on long work, where nobody looks at a terminal."""
LONG = 500
"""A table of more rows is not fitted into a screen, which takes minutes: lines may be longer."""
AMBER = "yellow"
"""Of what is no breach and must not be overlooked."""


def say_error(message: str) -> None:
    """Say what went wrong, apart from what was asked for, if anybody can be told."""
    if sys.stderr is not None:  # print() would take nothing for standard output
        with suppress(OSError):
            print(f"Error: {visible(message)}", file=sys.stderr, flush=True)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody looks at a stream; it may be closed."""
    return stream is not None and stream.isatty()


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that work goes on: on a terminal all the time, elsewhere in a line now and then."""
    if not is_terminal(sys.stderr):
        with _telling(lambda: what):
            yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    said = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), said, TimeElapsedColumn())
    with Progress(*columns, console=open_console(stderr=True), transient=True) as progress:
        progress.add_task(visible(what))
        yield


@contextmanager
def _telling(say: Callable[[], str]) -> Iterator[None]:
    """Print a line on long work every few seconds, for who reads it in a file or a log."""
    over, begun = threading.Event(), time.monotonic()

    def tell() -> None:
        while not over.wait(EVERY):
            with suppress(OSError, ValueError):  # nobody may read it any more
                passed = time.monotonic() - begun
                print(f"{visible(say())} … {passed:.0f} s", file=sys.stderr, flush=True)

    if sys.stderr is not None:
        threading.Thread(target=tell, daemon=True).start()
    try:
        yield
    finally:
        over.set()


@contextmanager
def working_in_stages() -> Iterator[Callable[[str, int, int], None]]:
    """Show, stage by stage, how much of long work is done."""
    if not is_terminal(sys.stderr):
        now = ["Working"]

        def note(stage: str, done: int, total: int) -> None:
            now[0] = f"{stage} {done / total:.0%}" if total else stage

        with _telling(lambda: now[0]):
            yield note
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(),
               TimeElapsedColumn())  # fmt: skip
    with Progress(*columns, console=open_console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)

        def tell(stage: str, done: int, total: int) -> None:
            progress.update(task, description=stage, completed=done, total=total)

        yield tell


def open_console(**settings: Any) -> Any:
    """Give a terminal that shows texts as they are: no markup, no pictures for words in colons."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, **settings)


def print_json(value: Any) -> None:
    """Print plain values for other programs; dates as text."""
    import json

    plain = getattr(sys.stdout, "encoding", "") or ""
    text = json.dumps(value, indent=2, ensure_ascii=plain.lower() != "utf-8", default=str)
    print(visible(text))  # spelled out as JSON spells them


def make_table(*columns: str) -> Any:
    """Start a table for the screen."""
    from rich import box
    from rich.table import Table

    class Visible(Table):
        def __init__(self) -> None:
            super().__init__(box=box.SIMPLE_HEAD, pad_edge=False)
            self.lines: list[list[str]] = [[visible(column) for column in columns]]

        def add_row(self, *cells: Any, **settings: Any) -> None:
            self.lines.append([visible(cell).replace("\n", "\\n") for cell in cells])
            super().add_row(*map(visible, cells), **settings)

    table = Visible()
    for column in columns:
        table.add_column(visible(column), overflow="fold")
    return table


def show(thing: Any = "", style: str | None = None) -> None:
    """Print a text or a table as it is."""
    if sys.stdout is None:
        return
    lines: list[list[str]] = getattr(thing, "lines", [])
    if len(lines) > LONG:
        _print_aligned(lines)
        return
    text = isinstance(thing, str)
    open_console(soft_wrap=text).print(visible(thing) if text else thing, style=style)


def _print_aligned(lines: list[list[str]]) -> None:
    """Print the rows of a long table below each other, each on one line."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        filled = (cell + " " * (w - cell_len(cell)) for cell, w in zip(line, widths, strict=True))
        print("   ".join(filled).rstrip())


class Stopped(Exception):
    """Work that was interrupted, and left what it had."""


def say(text: str) -> None:
    """Print a sentence; on a terminal, wrapped at its width."""
    if is_terminal(sys.stdout):
        import shutil
        import textwrap

        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, width, subsequent_indent="  ")
    show(text)


def print_findings(found: Any) -> None:
    """Print what an audit found, for people."""
    from discreet.auditing.rates import NO_CONTROL
    from discreet.auditing.wording import say_share

    table = make_table("promise", "about", "people for whom it fails")
    for check in found.checks:
        table.add_row(check.said, check.attribute or "everyone", f"{check.breaches:,}")
    show(table)
    identity = found.identity
    show(f"{found.people:,} people in {found.groups:,} groups; {found.crowd}.")
    if found.kept_columns is not None:
        show(f"CAUTION: {found.kept_columns}", AMBER)
    for caution in found.cautions:
        show(f"CAUTION: {caution}.", AMBER)
    lines = [] if found.several is None else [str(found.several)]
    left = "rows are left out of the release: of these people it tells that, and nothing else."
    lines += [f"{found.left_out:,} {left}"] if found.left_out else []
    if found.max_belief is not None:
        lines.append(f"Largest belief in a sensitive value of anyone: {say_share(found.worst)}.")
        lines += [str(found.counted)] if found.counted is not None else []
        bounds = [f"{name}: {how}" for name, how in found.how.items() if how != "exactly"]
        lines += [f"Beliefs were found {bound}." for bound in bounds]
    lines.append(
        f"Identity: at most {float(identity.prosecutor):.2%} for one person, "
        f"{float(identity.marketer):.2%} of people expected to be named rightly."
    )
    lines += [str(risk) for risk in found.population]
    lines += [f"{name}: {'kept' if good else 'NOT KEPT'}" for name, good in found.presets.items()]
    if found.loss.ncp:
        most = max(found.loss.per_attribute, key=found.loss.per_attribute.get)
        lines.append(
            f"Precision lost: {found.loss.ncp:.1%} (NCP: share of other values covered), "
            f"most on {most}."
        )
    else:
        others = " and ".join(found.beliefs)
        lines.append("Quasi-identifiers are exact" + (
            f"; what is lost is how they go together with {others}: see --report." if others
            else "."))  # fmt: skip
    for name, near in found.proximity.items():
        told = near.promised or near.curve[-1]
        mixed = ""
        if told.mixed > told.worst:
            mixed = f" ({float(told.mixed):.1%} if the group is not known)"
        lines.append(
            f"{name} to within {told.said}: at worst {float(told.worst):.1%}{mixed}, on average "
            f"{told.mean:.1%}; from all numbers alone at worst {float(told.chance):.1%}."
        )
    told = (found.membership, found.presence, found.joined)
    lines += [str(more) for more in told if more is not None]
    if found.presence is not None and found.presence.certain:
        lines.append(f"CAUTION: {found.presence.caution}.")
    for tried in found.attacks:
        sure = "" if tried.worst is None else f"; at worst {tried.worst:.1%} sure of somebody's"
        lines.append(
            f"Attack by {tried.name} ({tried.how}): tells {tried.success:.1%} of people's "
            f"{tried.attribute}, reading alone {tried.chance:.1%}{sure}."
        )
    lines += [str(risk) for risk in found.risks]
    if found.risks and all(risk.control is None for risk in found.risks):
        lines.append(f"Note: {NO_CONTROL}")
    lines += found.method_known.lines if found.method_known is not None else []
    lines += [f"Note: {note}." for note in found.notes]
    lines += found.withstood
    lines += [f"PROBLEM: {problem}" for problem in found.problems]
    if found.problems:
        lines.append("BREACH: do not publish this release.")
    show("\n".join(lines))


def refuse_unreached(remote: str | None, engine: str | None) -> None:
    """Refuse a table at an address, if there is one, that nobody is asked to read."""
    if remote is not None and engine is None:
        raise SchemaError(
            f"{remote}: only a cluster reads that.", hint="Name one: --engine spark://…"
        )
