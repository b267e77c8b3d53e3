"""The steward's choices: buckets, compare."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.app import Json, app
from discreet.cli.screen import (
    Stopped,
    is_terminal,
    make_table,
    open_console,
    print_json,
    refuse_unreached,
    say,
    show,
    working,
    working_in_stages,
)
from discreet.errors import PlanError, visible

if TYPE_CHECKING:
    from discreet.evaluate.questions import Errors
    from discreet.publishing.methods.slicing import Slicing
    from discreet.steward.choosing import Comparison


class Purpose(StrEnum):
    """What releases are asked."""

    COUNT = "count"
    RANGE = "range"
    SUM = "sum"
    AVERAGE = "average"
    OWN = "own"


@app.command()
def buckets(
    plan: Annotated[Path, typer.Argument(help="A plan whose method is slicing.")],
    ratio: Annotated[
        str, typer.Option(help="Combinations that nobody has per one that somebody has: 20, 5/2.")
    ],
    json: Json = False,
) -> None:
    """Find the smallest random buckets that hide members behind so many fakes, and the columns.

    Buckets are drawn in several sizes, and what they hold is counted. Lines for the method of the
    plan are printed; nothing is written, and the plan stays as it is.
    """
    from discreet.evaluate.bucket_sizes import propose_buckets
    from discreet.publishing.methods.slicing import Slicing
    from discreet.steward.drafting import draft_buckets
    from discreet.steward.plan import Plan
    from discreet.table.microdata import read

    wanted = Plan.read(plan)
    if not isinstance(wanted.method, Slicing):
        raise PlanError(
            f"{plan.name}: {wanted.method.title} has no buckets of that kind.",
            hint='Write name = "slicing" under [method].',
        )
    refuse_unreached(wanted.remote, None)
    with working(f"Reading {wanted.source.name}"):
        data = read(wanted.table, wanted.schema)
    with working("Drawing buckets"):
        found = propose_buckets(data, wanted.method, ratio)
    lines, taken = draft_buckets(found.method), _list_replaced(wanted.method)
    if json:
        print_json({"buckets": found.method.buckets, "columns": found.method.columns,
                    "ratio": found.ratio, "exact": found.exact, "plan": lines,
                    "leave_out": taken})  # fmt: skip
        return
    about = "" if found.exact else "about "
    say(f"Random buckets of {found.method.buckets:,}: {about}{found.ratio:,.3g} combinations that "
        "nobody has per one that somebody has. What is published is drawn anew; its audit counts "
        "again.")  # fmt: skip
    left = f", instead of {' and '.join(taken)}" if taken else ""
    say(f"Under [method] of the plan{left}:")
    show(lines)


def _list_replaced(method: Slicing) -> list[str]:
    """List what of a plan does not go with columns that are given."""
    told = {"alpha": method.alpha is not None, "together": method.together}
    return [name for name, given in told.items() if given]


@app.command()
def compare(
    plan: Annotated[Path, typer.Argument(help="A plan; the methods under `compare` are tried.")],
    to: Annotated[
        Path | None, typer.Option(help="Folder of the results; default <plan>.comparison here.")
    ] = None,
    questions: Annotated[int, typer.Option(help="How many questions to draw.", min=1)] = 1000,
    own: Annotated[
        Path | None, typer.Option(help="Your own questions: a file of SQL about `release`.")
    ] = None,
    belief: Annotated[
        str | None,
        typer.Option(
            help="Advise only what leaves no value believed with more than this, 1/3; "
            "default what the plan promises."
        ),
    ] = None,
    purpose: Annotated[
        list[Purpose] | None,
        typer.Option(help="What the release must be good for; may be given several times."),
    ] = None,
    minutes: Annotated[
        float, typer.Option(help="A trial that takes longer is stopped.", min=0.001)
    ] = 10.0,
    seed: Annotated[int, typer.Option(help="For questions and shuffles.", min=0)] = 0,
    json: Json = False,
) -> None:
    """Try several methods on one table: what each protects, what it is good for, which to choose.

    A plan that lists nothing under `compare` has every method tried under its own promise. Finished
    trials are kept: run it again after an interrupt, and it goes on.
    """
    from discreet.steward.choosing.comparison import write_all
    from discreet.steward.choosing.of_plan import compare_plan, place_comparison, refuse_folder
    from discreet.steward.plan import Plan

    wanted = Plan.read(plan)
    folder = to or place_comparison(plan)
    refuse_folder(wanted, folder)
    found = compare_plan(
        wanted, folder, questions=questions, own=own, belief=belief, seed=seed, minutes=minutes,
        purposes=[named.value for named in purpose or []], stage=working, counting=_counting,
    )  # fmt: skip
    written = write_all(found, folder)
    if json:
        print_json(found.to_dict())
    else:
        _print(found)
        show(f"Page: {written[1]} (yours; do not publish it).")
    if found.missing:
        left = "1 trial is" if found.missing == 1 else f"{found.missing} trials are"
        raise Stopped(f"Interrupted: {left} left. Run it again to go on.")


@contextmanager
def _counting() -> Iterator[Callable[[str, int, int], None]]:
    """Show on a terminal which trial is on, and how many there are."""
    if not is_terminal(sys.stderr):
        with working_in_stages() as tell:
            yield tell
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("{task.description}", markup=False))  # fmt: skip
    with Progress(*columns, console=open_console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda name, i, n: progress.update(
            task, description=visible(name), completed=i, total=n
        )


def _print(found: Comparison) -> None:
    kinds = list(found.questions)
    table = make_table("", "belief", "member", "lost", *kinds, "model", "s")
    for number, t in enumerate(found.trials, start=1):
        if t.problem is None:
            errors = [_spread(t.errors.get(kind)) + ("*" if kind in t.unanswered else "")
                      for kind in kinds]  # fmt: skip
            table.add_row(
                str(number), _share(t.worst_belief), _share(t.membership), _share(t.loss),
                *errors, _share(t.accuracy), f"{t.seconds:.1f}",
            )  # fmt: skip
    show(table)
    for number, t in enumerate(found.trials, start=1):
        say(f"{number}: {t.label}" + (" (no release)" if t.problem is not None else ""))
    say("belief: the largest in anybody's value; member: members told from others (chance: 50%); "
        f"lost: precision; {', '.join(kinds)}: half of the answers, and nine of ten, are off by at "
        "most this (*: not all answered); model: people it gets right; s: seconds to publish, the "
        "first of a kind with compilation.")  # fmt: skip
    show()
    for text in found.advice:
        say(f"- {text}")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _spread(errors: Errors | None) -> str:
    return "–" if errors is None else f"{errors.median:.1%}, {errors.high:.1%}"
