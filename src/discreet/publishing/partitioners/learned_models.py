"""Learned models: what naive Bayes and regressions, learned across groups, tell of people in them.

Both score, for everybody, each value that the person's group holds, and the values of a group are
then shared out among its people. They learn by turns from what is believed already, some groups
from the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.principles.groups import Groups
from discreet.publishing.draws import Draws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.histograms import bag_codes
from discreet.table.arrays import Floats, Ints
from discreet.table.microdata import Microdata, row_ids

FOLDS, HALVES = 8, 2
"""People of a group are judged by what groups of other folds teach; a regression has fewer."""
FEW = 8
"""Of so few groups per fold, folds have equally many."""
TURNS, REFITS = 5, 2
"""So often naive Bayes learns, and a regression."""
SEEN = 1.0
"""So often everything counts as seen, and as expected, before it was (Laplace)."""
MOST_LABELS, MOST_KINDS = 64, 32
"""Numbers are seen in so many intervals that as many people are in, and told by so many."""
MANY, SAMPLE = 200_000, 15_000
"""Naive Bayes and a regression learn from groups of so many people before they judge all."""
STEPS, PULL = 30, 0.05
"""So many steps a fit takes, and how far slopes may be from 0 (inverse of the penalty)."""
NARROWEST = 1e-6
"""Errors are never taken to vary less than that, beside the numbers themselves."""


class VisibleLabels(NamedTuple):
    """What is shown of everybody in one column: numbers of labels, and whether in their order."""

    labels: NDArray[np.integer]
    ordered: bool


def show_exactly(data: Microdata, names: Sequence[str]) -> list[VisibleLabels]:
    """Say of attributes that they are shown as they are."""
    return [VisibleLabels(data.codes[n], data.domains[n].attribute.type.ordered) for n in names]


class Models(NamedTuple):
    """What people are scored by."""

    scores: Floats
    """Per fold, thing that is shown, and kind of value."""
    kind: Ints
    weight: Floats
    """Per value its kind, and how many times the score counts."""


class Judged(NamedTuple):
    """What is believed of people; see :func:`discreet.kernels.learned.judge_people`."""

    seen: Floats
    worst: Floats
    likeliest: NDArray[np.int32]
    mean: Floats
    square: Floats
    pull: Floats
    expected: Floats


@dataclass(frozen=True, eq=False)
class Shown:
    """What a release shows of everybody, besides which values groups hold."""

    alike: Ints
    """Per person a number of all that is shown."""
    labels: NDArray[np.int32]
    """Per person and column what is shown, numbered through all columns."""
    widths: list[int]
    """How many different things each column shows."""
    ordered: list[bool]
    """Whether these are in an order."""
    codes: NDArray[np.int32]
    whole: Groups
    """The sensitive values."""
    limit: Floats
    """Per value the most that may be believed."""

    @staticmethod
    def read(
        columns: Sequence[VisibleLabels], codes: NDArray[np.int32], whole: Groups, limit: Floats
    ) -> Shown:
        """Number what columns show; of ordered ones with many labels, intervals."""
        parts: list[Ints] = []
        widths: list[int] = []
        for column in columns:
            labels = np.unique(column.labels, return_inverse=True)[1]
            if column.ordered:
                labels = _part_evenly(np.bincount(labels), MOST_LABELS)[labels]
            parts.append(labels + sum(widths))
            widths.append(int(labels.max()) + 1)
        ordered = [column.ordered for column in columns]
        labels = np.stack(parts, axis=1).astype(np.int32)
        alike = row_ids(list(labels.T), len(labels))
        return Shown(alike, labels, widths, ordered, codes, whole, limit)

    @property
    def count(self) -> int:
        """How many different things all columns show."""
        return sum(self.widths)

    def bag(self, groups: Partition) -> Groups:
        """Give what each group holds."""
        return bag_codes(self.codes[groups.order], groups, self.whole)

    def judge(
        self, groups: Partition, fold: Ints, models: Models, row_of: Ints | None = None
    ) -> Judged:
        """Say what is believed of people of groups by what models score, and of rows of them."""
        from discreet.kernels.learned import judge_people

        bags = self.bag(groups)
        if row_of is None:
            row_of = np.full(len(self.codes), -1)
        return Judged(*judge_people(
            groups.offsets, groups.order, bags.offsets, bags.codes, bags.weights, self.labels,
            models.scores, fold, models.kind, models.weight, self.limit, row_of,
            int(row_of.max()) + 1,
        ))  # fmt: skip


def _part_evenly(counts: Ints, most: int) -> Ints:
    """Give each of some ordered things, that so many people have, an interval out of a few.

    >>> _part_evenly(np.array([1, 1, 2, 2, 4]), 2).tolist()
    [0, 0, 0, 1, 1]
    """
    if len(counts) <= most:
        return np.arange(len(counts))
    middle = np.cumsum(counts) - (counts + 1) // 2
    return np.asarray(np.unique(middle * most // max(counts.sum(), 1), return_inverse=True)[1])


def require_regression() -> Any:
    """Give the library that regresses, or say how it is installed."""
    try:
        from sklearn import linear_model
    except ImportError as error:
        raise SchemaError(
            'resist = "learning" needs scikit-learn.',
            hint="Install it: pip install 'discreet[mining]'",
        ) from error
    return linear_model


def learn_from_others(shown: Shown, groups: Partition, draws: Draws) -> tuple[Judged, Models]:
    """Learn by naive Bayes, and judge people of every group by what other groups teach."""
    return learn_by_counting(shown, groups, draws, FOLDS)


def learn_from_all(shown: Shown, groups: Partition, draws: Draws) -> tuple[Judged, Models]:
    """Do so by what all groups teach, their own as well, as the attack was published."""
    return learn_by_counting(shown, groups, draws, 1)


def learn_by_counting(
    shown: Shown, groups: Partition, draws: Draws, folds: int
) -> tuple[Judged, Models]:
    """Learn by naive Bayes how values go with what is shown, by turns, and judge everybody.

    How much likelier a value makes something is how often they go together, beside how often
    they would by chance.
    """
    kind = np.arange(shown.whole.domain.size)
    if shown.whole.domain.attribute.type.numeric:
        kind = _part_evenly(shown.whole.whole, MOST_KINDS)
    scores = np.zeros((folds, shown.count, int(kind.max()) + 1))
    models = Models(scores, kind, np.ones(len(kind)))
    fold, chosen = _deal_groups(groups, folds, MANY, draws)
    some = _take(groups, chosen)
    for _ in range(TURNS):
        seen = shown.judge(some, fold[chosen], models).seen
        taught = seen.sum(axis=0) - seen if folds > 1 else seen
        models = models._replace(scores=_compare(taught, shown.widths))
    return shown.judge(groups, fold, models), models


def _compare(seen: Floats, widths: list[int]) -> Floats:
    """Say how much oftener values go with what each column shows than by chance, as logarithms."""
    scores, start = np.empty_like(seen), 0
    for width in widths:
        here = np.maximum(seen[:, start : start + width], 0)
        own, all_of = here.sum(axis=2, keepdims=True), here.sum(axis=1, keepdims=True)
        chance = own * all_of / np.maximum(all_of.sum(axis=2, keepdims=True), 1)
        scores[:, start : start + width] = np.log((here + SEEN) / (chance + SEEN))
        start += width
    return scores


def _deal_groups(groups: Partition, folds: int, most: int, draws: Draws) -> tuple[Ints, Ints]:
    """Deal groups into folds, and choose those that are learned from: all, or of so many people.

    What was drawn goes with one person of each group: where others are exchanged or put together,
    it stays as it was, or what a few changes do would drown in chance.
    """
    drawn = draws.permutation(len(groups.order))[groups.order[groups.offsets[:-1]]]
    order = np.argsort(drawn)
    if groups.count <= folds * FEW:  # then as many in each
        drawn = np.argsort(order)
    chosen = order[: int(np.searchsorted(np.cumsum(groups.sizes[order]), most)) + 1]
    return drawn % folds, np.sort(chosen)


def _take(groups: Partition, chosen: Ints) -> Partition:
    """Take some groups."""
    if len(chosen) == groups.count:
        return groups
    sizes = groups.sizes[chosen]
    ends = np.cumsum(sizes)
    rows = np.arange(ends[-1]) + np.repeat(groups.offsets[chosen] - ends + sizes, sizes)
    return Partition(groups.order[rows], np.append(0, ends))


def learn_by_regression(shown: Shown, groups: Partition, draws: Draws) -> tuple[Judged, Models]:
    """Learn by regression how values follow from what is shown, by turns, and judge everybody.

    Logistic regression is fitted to how often each value is expected of people, by what is
    believed: nothing is drawn. Of numbers their means are learned, and how far they are from these,
    as if errors were normal.
    """
    domain, numeric = shown.whole.domain, shown.whole.domain.attribute.type.numeric
    kind, weight = np.arange(domain.size), np.ones(domain.size)
    if numeric:
        kind, weight = np.zeros_like(kind), _standardize(shown.whole)
    fold, chosen = _deal_groups(groups, HALVES, SAMPLE, draws)
    some = _take(groups, chosen)
    models = Models(np.zeros((HALVES, shown.count, int(kind.max()) + 1)), kind, weight)
    where = fold[chosen][some.sorted_labels]
    _, first, row = np.unique(
        shown.alike[some.order] * HALVES + where, return_index=True, return_inverse=True
    )
    row_of = np.full(len(shown.codes), -1)
    if not numeric:
        row_of[some.order] = row
    for _ in range(REFITS):
        judged, scores = shown.judge(some, fold[chosen], models, row_of), models.scores.copy()
        for one in range(HALVES):
            if numeric and len(people := some.order[where != one]):
                _fit_numbers(shown, people, judged, scores[one])
            elif len(rows := np.flatnonzero(where[first] != one)):
                _fit_values(shown, some.order[first], rows, judged.expected, scores[one])
        models = models._replace(scores=scores)
    return shown.judge(groups, fold, models), models


def _standardize(whole: Groups) -> Floats:
    """Give the numbers of a table, in deviations from their mean; what is missing is there."""
    numbers = whole.domain.values.astype(np.float64)
    held = whole.whole[: len(numbers)]
    middle = np.average(numbers, weights=held)
    spread = float(np.sqrt(np.average((numbers - middle) ** 2, weights=held))) or 1.0
    return np.append((numbers - middle) / spread, np.zeros(whole.domain.size - len(numbers)))


def _draw_lines(shown: Shown) -> Floats:
    """Give what is shown a place along each column that is in an order, from -1 to 1."""
    ends = np.cumsum(shown.widths)
    along = np.zeros((shown.count, sum(shown.ordered)))
    for place, column in enumerate(np.flatnonzero(shown.ordered)):
        width = shown.widths[column]
        along[ends[column] - width : ends[column], place] = np.linspace(-1, 1, width)
    return along


def _fit_values(
    shown: Shown, people: NDArray[np.int32], rows: Ints, expected: Floats, scores: Floats
) -> None:
    """Fit logistic regression to what is expected of some rows, and put its slopes for scores.

    There is a slope for everything that is shown, and one along each column in an order: what is
    shown in these groups need not be in others.
    """
    from scipy.optimize import minimize

    from discreet.kernels.learned import compare_expected

    along, labels = _draw_lines(shown), shown.labels[people]
    there = np.flatnonzero(expected[rows].any(axis=0))
    held = np.ascontiguousarray(expected[:, there])
    often = held[rows].sum(axis=0)
    ends = np.cumsum([shown.count, along.shape[1], 1])

    def compare(flat: Floats) -> tuple[float, Floats]:
        slopes, lines, always = np.split(flat.reshape(ends[-1], len(there)), ends[:2])
        likely, told, added = compare_expected(
            labels, rows, held, slopes + along @ lines, always[0]
        )
        far = np.sum(slopes**2) + np.sum(lines**2)
        by = [slopes - PULL * told, lines - PULL * along.T @ told, -PULL * added[None]]
        return (far / 2 - PULL * likely) / len(rows), np.concatenate(by).ravel() / len(rows)

    start = np.zeros((ends[-1], len(there)))
    start[-1] = np.log(often / often.sum())
    found = minimize(
        compare, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}
    )
    slopes, lines, _ = np.split(found.x.reshape(start.shape), ends[:2])
    scores[:] = 0  # a value that these do not hold is as likely by all that is shown
    scores[:, there] = slopes + along @ lines


def _fit_numbers(shown: Shown, people: NDArray[np.int32], judged: Judged, scores: Floats) -> None:
    """Fit linear regression to the numbers expected of some people, in the same way."""
    models = require_regression()
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    along, labels = _draw_lines(shown), shown.labels[people]
    ends = np.cumsum(shown.widths)
    named = [np.arange(end - width, end) for end, width in zip(ends, shown.widths, strict=True)]
    kept = np.flatnonzero(shown.ordered)
    one_each = ("one each", OneHotEncoder(categories=named), list(range(len(named))))
    lines = ("along", "passthrough", [len(named) + place for place in range(len(kept))])
    both = np.column_stack([labels, *(along[labels[:, c], i] for i, c in enumerate(kept))])
    seen = ColumnTransformer([one_each, lines], sparse_threshold=1).fit_transform(both)
    line = models.Ridge()
    told = line.fit(seen, judged.mean[people]).predict(seen)
    left = judged.square[people] - 2 * judged.mean[people] * told + told**2
    slopes = line.coef_[: shown.count] + along @ line.coef_[shown.count :]
    scores[:, 0] = slopes / max(float(left.mean()), NARROWEST)
