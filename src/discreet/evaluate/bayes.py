"""Naive Bayes: a model that needs no records, only how often values of two attributes go together.

That is what a release stands for (Equation 7 of ANGEL). In a bucket of a sliced one, values of two
columns go together as often as the product of their shares says, and those of one column as often
as they stand side by side. So a model is learned from the release as it is: nothing is drawn, and
its counts are those of records drawn from the release, or relinked, on average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.forms.grouped import PROBABILITY
from discreet.release import Release
from discreet.table.arrays import Floats, Ints

BINS = 10
"""Numbers are seen in so many intervals of equal width."""
UNSEEN = 1.0
"""So often everything counts as seen before it was (Laplace)."""


@dataclass(frozen=True, eq=False)
class LearnedValues:
    """What values of an attribute count as: numbers by interval, all others by themselves."""

    of_numbers: bool
    known: NDArray[Any]
    """The ends of intervals, or the texts that were there to learn from."""

    @staticmethod
    def find(cells: pl.Series) -> LearnedValues:
        """Find them in what is there to learn from."""
        if not cells.dtype.is_numeric():
            return LearnedValues(False, np.unique(read_texts(cells)))
        low, high = (float(end or 0) for end in (cells.min(), cells.max()))  # type: ignore[arg-type]
        return LearnedValues(True, np.linspace(low, high, BINS + 1)[1:-1])

    def number(self, cells: pl.Series) -> Ints:
        """Number values; missing numbers come last, and what was not there to learn from."""
        if self.of_numbers:
            place = np.searchsorted(self.known, cells.cast(pl.Float64), side="right")
            return np.where(cells.is_null(), BINS, place)
        texts = read_texts(cells)
        at = np.minimum(np.searchsorted(self.known, texts), len(self.known) - 1)
        return np.where(self.known[at] == texts, at, len(self.known))


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """How often an attribute's values go with those of each other attribute."""

    target: str
    answers: NDArray[np.str_]
    """The values of the attribute that is told."""
    kinds: dict[str, LearnedValues]
    counts: dict[str, Floats]
    """Per other attribute, how often each answer goes with each kind of its values."""

    @staticmethod
    def learn(target: str, pairs: Mapping[str, tuple[pl.Series, pl.Series, Floats]]) -> NaiveBayes:
        """Learn from pairs of another attribute's value and an answer, and how often each is."""
        if not pairs:
            raise SchemaError(f"There is nothing to tell {target!r} from.")
        texts = {name: read_texts(told) for name, (_, told, _) in pairs.items()}
        answers = np.unique(np.concatenate(list(texts.values())))
        kinds = {name: LearnedValues.find(cells) for name, (cells, _, _) in pairs.items()}
        counts: dict[str, Floats] = {}
        for name, (cells, _, often) in pairs.items():
            number = kinds[name].number(cells)
            many = int(number.max(initial=0)) + 1
            place = np.searchsorted(answers, texts[name]) * many + number
            held = np.bincount(place, weights=often, minlength=len(answers) * many)
            counts[name] = held.reshape(len(answers), many).astype(np.float64)
        return NaiveBayes(target, answers, kinds, counts)

    def predict(self, people: pl.DataFrame) -> NDArray[np.str_]:
        """Give everybody's likeliest answer, as text."""
        own = next(iter(self.counts.values())).sum(axis=1)
        score = np.tile(np.log(own / own.sum()), (people.height, 1))
        for name, held in self.counts.items():
            number = self.kinds[name].number(people[name])
            unseen = max(int(number.max(initial=0)) + 1 - held.shape[1], 0)
            often = np.pad(held, ((0, 0), (0, unseen))) + UNSEEN
            score += np.log(often / often.sum(axis=1, keepdims=True)).T[number]
        return np.asarray(self.answers[score.argmax(axis=1)])

    def score(self, people: pl.DataFrame) -> float:
        """Give the share of people whose answer is right."""
        return float(np.mean(self.predict(people) == read_texts(people[self.target])))


def learn_bayes(release: Release, target: str, names: Sequence[str] | None = None) -> NaiveBayes:
    """Learn from a release itself to tell one attribute from others, by default from all others.

    Of a sliced release, buckets are read as they are: no column is linked with another by chance,
    so the same release gives the same model. Other forms are read in the same way.

    >>> import discreet as dc
    >>> people = dc.datasets.adult(sensitive="occupation")
    >>> release = dc.publish(people.head(900), dc.Slicing(dc.FrequencyDiversity(3), columns=2))
    >>> model = learn_bayes(release, "occupation")
    >>> 0.1 < model.score(people.to_polars().tail(500)) < 0.5
    True
    """
    known = [name for name in release.schema.names if name != target] if names is None else names
    n = max(int(view.people.sum()) for view in release.views)
    pairs = {}
    for name in known:
        found = release.reconstruct([name, target])
        often = found[release.own(PROBABILITY)].to_numpy() * n
        pairs[name] = found[name], found[target], often
    return NaiveBayes.learn(target, pairs)


def read_texts(cells: pl.Series) -> NDArray[np.str_]:
    """Give values as texts; a missing one is empty."""
    return cells.cast(pl.String).fill_null("").to_numpy().astype(str)
