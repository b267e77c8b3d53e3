"""Comparison: trials of many methods, kept as they are finished."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import SchemaError, StoreError, is_interrupt
from discreet.evaluate.questions import Questions, draw_questions
from discreet.files import (
    keep_private,
    open_plain,
    private_folder,
    split_lines,
    write_text,
    writing,
)
from discreet.principles.base import Number, Principle, demands, part_joins, ratio, require_ratio
from discreet.publishing.method import Method
from discreet.release import Release
from discreet.release.manifest import MANIFEST
from discreet.release.store import fingerprint
from discreet.steward.choosing.advice import Advice, Bar, advise
from discreet.steward.choosing.page import show_comparison
from discreet.steward.choosing.patience import stopping_after
from discreet.steward.choosing.trial import (
    TESTED,
    Course,
    Refused,
    Trial,
    name_setting,
    name_trial,
    try_method,
)
from discreet.table.microdata import Microdata

TRIALS, TABLE, PAGE = "trials.jsonl", "comparison.json", "comparison.html"
MINUTES, MOST_MINUTES = 10.0, 100_000
"""What a trial may take, unless more is asked for; and at most."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """What came out of all trials so far. The steward's, never part of a release."""

    trials: list[Trial]
    people: int
    questions: dict[str, int]
    """How many of each kind were asked."""
    target: str | None
    original: float | None
    """How often a model trained on the original is right; and by guessing the commonest value."""
    chance: float | None
    missing: int = 0
    """Trials that were not come to."""
    bar: Bar | None = None
    """The largest belief that advice may leave in anybody's value."""
    purposes: tuple[str, ...] = ()
    """What a release must be good for, all of it, to be recommended."""

    @property
    def table(self) -> pl.DataFrame:
        """One row per trial."""
        kinds = list(self.questions)
        return pl.DataFrame(
            [
                {
                    "method": t.method, "promise": t.promise, "setting": t.setting,
                    "worst belief": t.worst_belief, "mean belief": t.mean_belief,
                    "identity": t.identity, "membership": t.membership, "loss": t.loss,
                    "in a wrong cell": t.moved,
                    "KL": t.divergence,
                    **{f"{name} error: {kind}": found and getattr(found, part)
                       for kind in kinds for found in [t.errors.get(kind)]
                       for name, part in (("median", "median"), ("90 %", "high"))},
                    "accuracy": t.accuracy, "seconds": t.seconds, "bytes": t.size,
                    "problem": t.problem,
                }
                for t in self.trials
            ],
            infer_schema_length=None,
        )  # fmt: skip

    @property
    def advice(self) -> list[str]:
        """Which method for which purpose, with reasons and limits, in sentences."""
        return [told.text for told in self.advices]

    @cached_property
    def advices(self) -> list[Advice]:
        """The same, each with the purpose and the trial that it recommends."""
        tested = int(self.people * TESTED)
        return advise(self.trials, self.original, self.chance, self.bar, tested, self.purposes)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values, for ``--json``."""
        return {
            "people": self.people,
            "questions": self.questions,
            "target": self.target,
            "accuracy_on_original": self.original,
            "accuracy_by_chance": self.chance,
            "trials": [trial.to_dict() for trial in self.trials],
            "not_tried": self.missing,
            "advice": self.advice,
        }

    def to_html(self, path: str | Path) -> Path:
        """Write a page that needs nothing but a browser: the table, the charts, the advice."""
        return show_comparison(self, Path(path))


def compare(
    data: Microdata,
    methods: Sequence[Method | Refused],
    workload: Questions | int | None = None,
    *,
    folder: str | Path | None = None,
    seed: int = 0,
    belief: Number | None = None,
    promise: Principle | None = None,
    purposes: Sequence[str] = (),
    minutes: float = MINUTES,
    tell: Callable[[str, int, int], None] = lambda *_: None,
) -> Comparison:
    """Try several methods on one table: what each protects, and what it is good for.

    ``workload`` is the questions to ask, or how many to draw. With a ``folder`` every finished
    trial is kept there and taken from there the next time; an interrupt gives what there is.
    ``belief`` is the most that advice may leave anybody's value believed with, else what the
    ``promise`` allows. Advice names only what is good for all of the ``purposes``: of "count",
    "range", "sum", "average" and "own". A trial that takes more than so many ``minutes`` is
    stopped, and tried again the next time. ``tell`` is called with the name of each trial before
    it, its number, and how many there are.

    >>> import discreet as dc
    >>> data = dc.datasets.adult(sensitive="occupation", quasi_identifiers=["age", "sex"]).head(300)
    >>> methods = [dc.Generalization(dc.FrequencyDiversity(l)) for l in (2, 3)]
    >>> compare(data, methods, 40).table["worst belief"].to_list() <= [0.5, 1 / 3]
    True
    """
    if not methods:
        raise SchemaError("There is nothing to compare.", hint="Give at least one method.")
    if belief is not None:
        require_ratio("belief", belief, 0, 1)
    if not 0 < minutes <= MOST_MINUTES:
        raise SchemaError(
            f"A trial cannot be stopped after {minutes:g} minutes.",
            hint=f"Give from 0.001 to {MOST_MINUTES:,} minutes.",
        )
    if workload is None or isinstance(workload, int):
        workload = draw_questions(data, 1000 if workload is None else workload, seed=seed)
    _require_purposes(purposes, workload)
    course = Course.lay(data, workload, seed)
    kept = _Kept(Path(folder) if folder is not None else None, _print(course))
    trials: list[Trial] = []
    try:
        original, chance = kept.guess(course)
        for i, method in enumerate(methods):
            name = method.title if isinstance(method, Refused) else (
                f"{method.title}, {method.principle}")  # fmt: skip
            tell(name, i, len(methods))
            trials.append(kept.take(method, course, minutes))
    except BaseException as error:
        if not is_interrupt(error) or folder is None:
            raise
        # what was kept counts, even if the interrupt came before it was added here
        trials = [trial for method in methods if (trial := kept.find(method)) is not None]
        if not trials:
            raise
    return Comparison(
        trials, data.n, workload.counts, course.target if course.train else None, original, chance,
        len(methods) - len(trials), _set_bar(belief, promise, data.sensitive), tuple(purposes),
    )  # fmt: skip


def _require_purposes(purposes: Sequence[str], asked: Questions) -> None:
    for purpose in purposes:
        if purpose not in asked.counts:
            raise SchemaError(
                f"Nothing is asked about the purpose {purpose!r}.",
                hint=f"Of this table there are questions for: {', '.join(asked.counts)}.",
            )


def _set_bar(belief: Number | None, promise: Principle | None, sensitive: list[str]) -> Bar | None:
    """What releases are compared at: as asked, else what is promised of the sensitive values."""
    if belief is not None:
        return Bar(float(ratio(belief)))
    alone = None if promise is None else part_joins(promise)[0]
    if alone is None or not sensitive:
        return None
    most = dict.fromkeys(sensitive, Fraction(1))
    for part, name in demands(alone, sensitive):
        if name is not None:
            most[name] = min(most[name], part.max_share)
    worst = max(most.values())
    return None if worst == 1 else Bar(float(worst), f"what the plan promises, {worst}")


def _print(course: Course) -> str:
    """Give a number for the table and the questions, to know trials by that were made on them."""
    from discreet import __version__

    made = hashlib.sha256(f"{__version__} {course.seed}".encode())
    for name, codes in course.data.codes.items():
        texts = "\0".join(course.data.domains[name].texts)
        made.update(f"{course.data.schema[name]}\0{texts}".encode() + codes.tobytes())
    for batch in course.questions.batches:
        made.update("\0".join(batch.sql).encode())
    made.update("\0".join(sql for sql, _, _ in course.questions.own).encode())
    return made.hexdigest()


def _print_earlier(method: Method) -> str:
    """Know the earlier releases that a method is about by what they hold."""
    told = []
    for held in method.earlier:
        if isinstance(held, Release):
            tables = held.tables.items()
            told.append(str([(t, int(f.hash_rows(0).sum())) for t, f in tables]))
        else:
            told.append(str(fingerprint(Path(held))))
    return " ".join(told)


def _refuse_public(folder: Path) -> None:
    """Refuse to keep trials where the public, or a ledger, would have them."""
    for place in (folder.absolute(), *folder.absolute().parents):
        if (place / MANIFEST).exists() or (place / "ledger.sqlite").exists():
            raise StoreError(
                f"{folder}: lies inside {place.name}, a release or a ledger.",
                hint="A comparison is yours; keep it elsewhere.",
            )


def _read_kept(path: Path) -> tuple[dict[str, Any], bool]:
    """Give what a file keeps, and whether it was cut off in the middle of a line."""
    try:
        with open_plain(path) as file:
            content = file.read()
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be read ({error.strerror or error}).",
            hint="Choose another folder for the comparison, or remove what lies there.",
        ) from error
    found: dict[str, Any] = {}
    for line in split_lines(content.decode(errors="replace")):
        # cut off in the middle, or damaged: it is made again
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            row = json.loads(line)
            found[row["key"]] = row["value"]
    return found, not content.endswith(b"\n")


class _Kept:
    """Trials that were finished before, and a place for those to come."""

    def __init__(self, folder: Path | None, course: str) -> None:
        self.file = None if folder is None else folder / TRIALS
        self.course = course
        self.found: dict[str, Any] = {}
        self.cut_off = False
        if folder is not None:
            _refuse_public(folder)
        if self.file is not None and self.file.exists():
            self.found, self.cut_off = _read_kept(self.file)

    def take(self, method: Method | Refused, course: Course, minutes: float) -> Trial:
        """Give a trial that was made before, else make it and keep it."""
        if (trial := self.find(method)) is None:
            over: Callable[[], bool] = lambda: False  # noqa: E731
            try:
                with stopping_after(60 * minutes) as over:
                    trial = try_method(method, course)
            except BaseException as error:
                if isinstance(method, Refused) or not (is_interrupt(error) and over()):
                    raise
                if trial is None:  # else it struck when all was done
                    problem = f"it took more than {minutes:g} minutes, and was stopped"
                    return replace(name_trial(method), problem=problem)
            if not isinstance(method, Refused):
                self._keep(self._name(method), trial.to_dict())
        return trial

    def find(self, method: Method | Refused) -> Trial | None:
        """Give a trial that was made before."""
        # what another version kept, or somebody changed, is made again
        with suppress(KeyError, ValueError, RecursionError):
            if not isinstance(method, Refused):
                return Trial.from_dict(self.found[self._name(method)])
        return None

    def guess(self, course: Course) -> tuple[float | None, float | None]:
        """The same for what models learn from the original."""
        key = self._key("original")
        kept: Any = self.found.get(key)
        good = isinstance(kept, list) and len(kept) == 2
        if not good or not all(isinstance(part, float | None) for part in kept):
            kept = list(course.guess())
            self._keep(key, kept)
        return kept[0], kept[1]

    def _name(self, method: Method) -> str:
        setting = name_setting(method)
        return self._key(f"{method.title} {method.principle} {setting} {_print_earlier(method)}")

    def _key(self, text: str) -> str:
        return hashlib.sha256(f"{self.course} {text}".encode()).hexdigest()

    def _keep(self, key: str, value: Any) -> None:
        self.found[key] = json.loads(json.dumps(value))
        if self.file is None:
            return
        try:
            with private_folder(self.file.parent):
                keep_private(self.file)
            with self.file.open("a", encoding="utf-8") as file:
                if self.cut_off:  # the last line has no end: what follows must not join it
                    file.write("\n")
                    self.cut_off = False
                file.write(json.dumps({"key": key, "value": value}, ensure_ascii=False) + "\n")
        except OSError as error:
            raise StoreError(
                f"{self.file}: cannot be written ({error.strerror or error}).",
                hint="Choose a folder that is yours to write to.",
            ) from error


def count_kept(folder: Path) -> int:
    """Count the finished trials that a folder keeps, of whatever table and promise."""
    file = folder / TRIALS
    kept = _read_kept(file)[0] if file.is_file() else {}
    return sum(isinstance(value, dict) for value in kept.values())


def list_files(folder: Path) -> list[Path]:
    """List the files of a comparison."""
    return [folder / TRIALS, folder / TABLE, folder / PAGE]


def write_all(found: Comparison, folder: Path) -> list[Path]:
    """Write the table as JSON, and the page."""
    text = json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n"
    with writing(folder), private_folder(folder):
        table = write_text(folder / TABLE, text)
        return [table, found.to_html(folder / PAGE)]
