"""Trial: one method on a table, measured in every respect a steward may choose by."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from discreet.errors import DiscreetError
from discreet.evaluate.divergence import diverge_in_part
from discreet.evaluate.questions import Errors, Questions, answer_questions
from discreet.files import temporary_folder
from discreet.principles.base import Principle
from discreet.publishing import publish
from discreet.publishing.method import Method
from discreet.publishing.methods import REGISTRY
from discreet.release import Release, Transformation
from discreet.table.microdata import Microdata, read
from discreet.table.schema import Type

TESTED = 0.25
"""The share of people that models are tried on."""


class Refused(NamedTuple):
    """A method that cannot even be asked for a promise, and why."""

    title: str
    principle: Principle
    reason: str


def list_contenders(principle: Principle) -> list[Method | Refused]:
    """Every method there is, under a promise or what is nearest to it of what it can give.

    Those that can give nothing like it come with the reason.
    """
    found: list[Method | Refused] = []
    for title, kind in REGISTRY.items():
        try:
            found += kind.variants(principle)
        except DiscreetError as error:
            found.append(Refused(title, principle, error.message))
    return found


@dataclass(frozen=True)
class Trial:
    """What came out; all plain values."""

    method: str
    promise: str
    setting: str
    """Parameters besides the promise that are not as usual."""
    seconds: float = 0.0
    size: int = 0
    """Bytes on disk."""
    worst_belief: float | None = None
    """The largest belief in a value of anyone, of values that the promise protects."""
    mean_belief: float | None = None
    identity: float | None = None
    """The largest chance to name anybody's record."""
    proximity: dict[str, list[tuple[str, float, float]]] = field(default_factory=dict)
    """Per sensitive number, ε in words, and how likely anybody's is told to within it: at worst,
    and on average."""
    membership: float | None = None
    """How often a member is told from somebody who is none; a half is chance."""
    loss: float | None = None
    """Of the precision of quasi-identifiers."""
    moved: float | None = None
    """Of all people, the share in a wrong cell of two-way tables with a sensitive attribute."""
    divergence: float | None = None
    errors: dict[str, Errors] = field(default_factory=dict)
    """Per kind of question how far answers are off."""
    unanswered: dict[str, str] = field(default_factory=dict)
    """Per kind of question why some could not be answered."""
    accuracy: float | None = None
    """Share of people about whom a decision tree trained on the release is right."""
    exact: bool = False
    """Whether quasi-identifiers are published as they are."""
    leaves_open: tuple[str, ...] = ()
    withstands: dict[str, str] | None = None
    """Against whom the promise holds, each with what that is limited to."""
    problem: str | None = None
    """Why there is no release."""

    @property
    def label(self) -> str:
        """Name it as briefly as tells it from others."""
        return f"{self.method}, {self.promise}" + (f", {self.setting}" if self.setting else "")

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values, for JSON."""
        return asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Trial:
        """Read it back; ``ValueError`` if it is not what was written."""
        from pydantic import TypeAdapter

        return TypeAdapter(Trial).validate_python(values)


def name_setting(method: Method) -> str:
    """Name the parameters of a method that differ from the usual ones."""
    told = []
    for f in fields(method):
        value = getattr(method, f.name)
        usual = f.default if f.default is not MISSING else None
        if f.name not in ("principle", "earlier") and value not in (usual, ()):
            told.append(f"{f.name} = {value}")
    return ", ".join(told)


@dataclass(frozen=True, eq=False)
class Course:
    """What every method is tried on: a table, questions, and a part of the table for models."""

    data: Microdata
    questions: Questions
    train: Microdata | None
    test: pl.DataFrame | None
    seed: int

    @staticmethod
    def lay(data: Microdata, questions: Questions, seed: int) -> Course:
        """Divide the people into those to learn from and those to be tried on."""
        if not data.sensitive or data.n < 20:
            return Course(data, questions, None, None, seed)
        rows = np.random.default_rng(seed).permutation(data.n)
        tested = int(data.n * TESTED)
        frame = data.to_polars()
        learned = np.sort(rows[tested:])
        train = read(frame[learned], data.schema.published).guarding(data, learned)
        return Course(data, questions, train, frame[np.sort(rows[:tested])], seed)

    @property
    def target(self) -> str:
        """What models are to tell."""
        return self.data.sensitive[0]

    def learn(self, records: pl.DataFrame) -> float:
        """Train a decision tree on records; say how often it is right about other people."""
        from discreet.evaluate.mining import classify

        assert self.test is not None
        names = [n for n in self.test.columns if n in records.columns]
        train, test = (self._halve(part.select(names)) for part in (records, self.test))
        return classify(train, test, self.target, ("tree",))["tree"]

    def _halve(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Of a number, ask only whether it is above the middle."""
        if self.data.schema[self.target].type not in (Type.INTEGER, Type.DECIMAL):
            return frame
        middle = self.data.to_polars()[self.target].median()
        above = (pl.col(self.target) > middle).cast(pl.String)
        return frame.with_columns(above.alias(self.target))

    def guess(self) -> tuple[float | None, float | None]:
        """How often a tree trained on the original is right, and always guessing the commonest."""
        if self.train is None or self.test is None:
            return None, None
        shares = self._halve(self.test)[self.target].value_counts(normalize=True)["proportion"]
        try:
            return self.learn(self.train.to_polars()), float(shares.max())  # type: ignore[arg-type]
        except DiscreetError:  # the library for models is not there
            return None, None


def name_trial(method: Method) -> Trial:
    """Give a trial of which nothing is known but what is tried."""
    return Trial(method.title, str(method.principle), name_setting(method))


def try_method(method: Method | Refused, course: Course) -> Trial:
    """Publish by one method and measure what came out; what cannot be had is a reason."""
    if isinstance(method, Refused):
        return Trial(method.title, str(method.principle), "", problem=method.reason)
    named = name_trial(method)
    started = perf_counter()
    try:
        release = publish(course.data, method, insecure_seed=course.seed)
        seconds = perf_counter() - started
        with temporary_folder() as folder:
            # to be weighed, and gone again: nobody gets it
            place = release.write(folder / "release", insecure=True)
            size = sum(path.stat().st_size for path in place.iterdir())
    except DiscreetError as error:
        if isinstance(error.__cause__, OSError):  # the disk's, and nothing about the method
            raise
        return replace(named, problem=error.message)
    examined, used = _examine(release, course), _use(release, method, course)
    return replace(named, seconds=seconds, size=size, **examined, **used)


def _examine(release: Release, course: Course) -> dict[str, Any]:
    """Measure what the release gives away, as an audit does."""
    from discreet.auditing import audit

    found = audit(release, course.data)
    beliefs, counted = list(found.beliefs.values()), found.counted
    return {
        "worst_belief": found.max_belief if counted is None else float(counted.worst),
        "mean_belief": float(np.mean([b.mean() for b in beliefs])) if beliefs else None,
        "identity": float(found.identity.prosecutor),
        "proximity": {
            name: [(reach.said, float(reach.worst), float(reach.mean)) for reach in near.curve]
            for name, near in found.proximity.items()
        },
        "membership": found.membership and found.membership.told,
        "loss": found.loss.ncp,
        "moved": max(
            (lost.moved for lost in found.sensitive_loss.values() if lost.moved is not None),
            default=None,
        ),
        "exact": all(
            release.recodings[name].transformation is Transformation.EXACT
            for name in release.schema.quasi_identifiers
        ),
        "leaves_open": tuple(release.promise.leaves_open),
        "withstands": found.withstands,
        "problem": None if found.kept else f"the audit says: {found.problems[0]}",
    }


def _use(release: Release, method: Method, course: Course) -> dict[str, Any]:
    """Measure what the release is good for."""
    errors, unanswered = answer_questions(release, course.data, course.questions)
    divergence = diverge_in_part(release, course.data)
    accuracy = None
    if course.train is not None:
        try:
            learned = publish(course.train, method, insecure_seed=course.seed)
            accuracy = course.learn(learned.sample(course.train.n, seed=course.seed))
        except DiscreetError as error:
            unanswered = {**unanswered, "model": error.message}
    return {
        "errors": errors, "unanswered": unanswered, "divergence": divergence, "accuracy": accuracy
    }  # fmt: skip
