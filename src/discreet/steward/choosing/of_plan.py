"""The comparison that a plan asks for: its table, its methods, and where trials are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from discreet.errors import StoreError
from discreet.evaluate.questions import draw_questions
from discreet.principles.base import Number
from discreet.publishing.method import Method
from discreet.steward.choosing.comparison import MINUTES, PAGE, TABLE, Comparison, compare
from discreet.steward.choosing.trial import Refused, list_contenders
from discreet.steward.outputs import refuse_outputs
from discreet.steward.plan import Plan
from discreet.table.microdata import read


def list_methods(wanted: Plan) -> list[Method | Refused]:
    """Give what a plan lists under ``compare``; else every method, under its promise."""
    return list(wanted.contenders) or list_contenders(wanted.method.principle)


def place_comparison(plan: Path) -> Path:
    """Name the folder of a plan's comparison, where nothing else is said.

    >>> place_comparison(Path("people.plan.toml")).name
    'people.comparison'
    """
    name = plan.name.removesuffix(".toml").removesuffix(".plan")
    return Path(f"{name}.comparison")


def refuse_folder(wanted: Plan, folder: Path) -> None:
    """Refuse a folder that a comparison must not be written to."""
    if (folder / "datapackage.json").exists() or folder.is_file():
        raise StoreError(
            f"{folder}: is {'a file' if folder.is_file() else 'a release'}.",
            hint="Choose another folder; a comparison is yours, not the public's.",
        )
    files = [folder / TABLE, folder / PAGE]
    refuse_outputs(files, inputs=wanted.inputs, release=wanted.folder, overwrite=True)


def compare_plan(
    wanted: Plan,
    folder: Path,
    *,
    questions: int,
    own: Path | None = None,
    belief: Number | None = None,
    purposes: Sequence[str] = (),
    seed: int = 0,
    minutes: float = MINUTES,
    stage: Callable[[str], AbstractContextManager[None]],
    counting: Callable[[], AbstractContextManager[Callable[[str, int, int], None]]],
) -> Comparison:
    """Try the methods of a plan on its table; what was tried before is taken from the folder."""
    with stage(f"Reading {wanted.source.name}"):
        data = read(wanted.table, wanted.schema)
    with stage("Asking the original"):
        asked = draw_questions(data, questions, own=own, seed=seed)
    with counting() as tell:
        return compare(
            data,
            list_methods(wanted),
            asked,
            folder=folder,
            seed=seed,
            belief=belief,
            promise=wanted.method.principle,
            purposes=purposes,
            minutes=minutes,
            tell=tell,
        )
