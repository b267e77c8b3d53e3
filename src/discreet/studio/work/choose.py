"""Choose: the methods of a plan tried side by side, and one of them taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from discreet.pages.marks import GLYPHS, find_mark
from discreet.publishing.method import Method
from discreet.steward.choosing.advice import PURPOSES
from discreet.steward.choosing.comparison import Comparison, count_kept, list_files, write_all
from discreet.steward.choosing.of_plan import (
    compare_plan,
    list_methods,
    place_comparison,
    refuse_folder,
)
from discreet.steward.choosing.page import draw_frontiers
from discreet.steward.choosing.trial import Refused, Trial, name_setting
from discreet.studio.places import confine
from discreet.studio.plan_files import change_plan, describe_method, read_plan, set_method
from discreet.studio.work.stages import staging
from discreet.studio.workers import Tell


def look(path: Path, home: Path) -> dict[str, Any]:
    """Say what would be tried, and how much of it is kept."""
    plan = read_plan(path, home)
    methods = list_methods(plan)
    folder = _find_folder(path, home)
    return {
        "own": bool(plan.contenders),
        "folder": folder.name,
        "kept": count_kept(folder),
        "purposes": {name: said for name, said in PURPOSES.items() if name != "own"},
        "methods": [
            {
                "title": method.title,
                "promise": str(method.principle),
                "setting": "" if isinstance(method, Refused) else name_setting(method),
                "refused": method.reason if isinstance(method, Refused) else None,
                "mark": _draw_mark(method.title),
            }
            for method in methods
        ],
    }


def run(
    path: Path, home: Path, questions: int, purposes: Sequence[str], *, tell: Tell
) -> dict[str, Any]:
    """Try all methods, as the command line does; what was finished before is not tried again."""
    plan = read_plan(path, home)
    folder = _find_folder(path, home)
    refuse_folder(plan, folder)

    @contextmanager
    def counting() -> Iterator[Tell]:
        yield tell

    found = compare_plan(
        plan, folder, questions=questions, purposes=purposes, stage=staging(tell), counting=counting
    )
    write_all(found, folder)
    return _describe(found, list_methods(plan), folder.name)


def _find_folder(path: Path, home: Path) -> Path:
    """Give the folder of a plan's comparison; neither it nor its files may lie elsewhere."""
    folder = confine(home, path.parent / place_comparison(path))
    for file in list_files(folder):
        confine(home, file)
    return folder


def _describe(
    found: Comparison, methods: Sequence[Method | Refused], folder: str
) -> dict[str, Any]:
    known = {_name(m): describe_method(m) for m in methods if isinstance(m, Method)}
    recommended = {(told.purpose, id(told.trial)) for told in found.advices if told.trial}
    kinds = list(found.questions)
    return {
        "people": found.people,
        "questions": found.questions,
        "missing": found.missing,
        "advice": [{"text": told.text, "number": _number(found, told.trial)}
                   for told in found.advices],
        "bar": None if found.bar is None else found.bar.why,
        "kinds": kinds,
        "charts": [(title, _let_click(chart.to_dict())) for title, chart in draw_frontiers(found)],
        "folder": folder,
        "trials": [
            {
                **trial.to_dict(),
                "number": number,
                "label": trial.label,
                "mark": _draw_mark(trial.method),
                "chosen": [kind for kind in [*kinds, "model"] if (kind, id(trial)) in recommended],
                "take": known.get((trial.method, trial.promise, trial.setting)),
            }
            for number, trial in enumerate(found.trials, start=1)
        ],
    }  # fmt: skip


def _name(method: Method) -> tuple[str, str, str]:
    return method.title, str(method.principle), name_setting(method)


def _number(found: Comparison, trial: Trial | None) -> int | None:
    return next((i for i, t in enumerate(found.trials, start=1) if t is trial), None)


def _draw_mark(method: str) -> dict[str, str]:
    mark = find_mark(method)
    return {"colour": mark.colour, "glyph": GLYPHS[mark.shape]}


def _let_click(spec: dict[str, Any]) -> dict[str, Any]:
    """Have points of a chart say what they are, and show the releases of their trials."""
    for row in chain(*spec["datasets"].values()):
        if "number" in row:
            row["press"] = f"see-{row['number']}"
    for layer in spec["layer"]:
        if "description" in layer.get("encoding", {}):
            layer["encoding"]["tooltip"] = {"field": "said", "type": "nominal"}
            layer["mark"]["cursor"] = "pointer"
    return spec


def take(path: Path, home: Path, seen: str, method: dict[str, Any]) -> None:
    """Have the plan publish by a method that was tried."""
    change_plan(path, home, seen, lambda document: set_method(document, method))
