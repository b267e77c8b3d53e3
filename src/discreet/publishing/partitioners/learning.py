"""Learning across groups: what models tell of people in their groups, and groups that withstand it.

A group says which values its people have, and the groups together say how values go with
quasi-identifiers. Who learns that from the release tells people of one group apart (Kifer,
SIGMOD 2009: the deFinetti attack). So groups that were found are held against two who learn:

- *naive Bayes*, by turns: from how likely each value is of each person, how often values go with
  what is shown; from that, how likely they are, in each group at once, as each value of a group is
  somebody's. Nothing but counting.
- *logistic regression*, or *linear regression* of numbers, on how often each value is expected by
  what is believed, by turns as well (scikit-learn). Nothing is drawn, or chance would be chased.

People of a group are judged by what other groups teach: groups are dealt into folds. Where somebody
is told more of than the promise allows, they are exchanged with people of other groups who have the
same value, such that their group is as much alike in what is learned as it takes; then groups hold
what they held before. For whom nobody is found, their group is put together with the nearest in
what is learned, which a monotone principle survives. Then all is learned anew. Models may be surer
than they say: so their guesses may not be right more often than a belief may be, either, which the
publisher can count. Where that leaves but one group of everybody, it is refused: quasi-identifiers
tell too much of values.

**What holds.** The principle: exchanges leave all groups the values they have, and groups that are
put together keep what is closed under union. And that these two models, learned from the groups as
they are published, tell nobody's value with more than is promised; how likely values are is worked
out in floating point, and approximately where a group has more than two people. That is measured,
not proved: another model may tell more. And who knows the method learns from groups that were
changed for what people have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from discreet.errors import PromiseError, SchemaError
from discreet.principles.base import Principle
from discreet.principles.thresholds import bound_shares
from discreet.publishing.draws import Draws, KeyedDraws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.histograms import histogram
from discreet.publishing.partitioners.learned_models import (
    Judged,
    Models,
    Shown,
    VisibleLabels,
    learn_by_regression,
    learn_from_all,
    learn_from_others,
    require_regression,
)
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.coded_table import CodedTable
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata

PATIENCE, HOPE, ROUNDS = 20, 60, 90
"""So often people are exchanged; then groups of whom too much is told are put together, as others
are soon told more of where people go; then all groups are, until it is given up."""
SAFE = 0.9
"""Who is exchanged is told no more of, then, than this share of what is allowed."""
STUCK, FEW = 0.8, 100
"""Where of more than this share of those before too much is told still, more is changed: all
groups, if one of so many people is left."""
DEVIATIONS = 3
"""So many standard deviations are chance."""
TRIED, ROOM = 32, 8
"""So many others are tried to exchange somebody with; one of so many people may be exchanged, of
a group and of all."""
LEAST = 1e-300
"""No limit is taken to be lower, so that beliefs can be held against it."""
DIRECTIONS, DEPTH = 4, 11
"""Groups are compared in so many directions, and halved so often along the widest."""

Learn = Callable[[Shown, Partition, Draws], tuple[Judged, Models]]
LEARNERS: list[tuple[Learn, int]] = [
    (learn_from_others, 0), (learn_from_all, 0), (learn_by_regression, 0),
    (learn_from_others, 1), (learn_by_regression, 1),
]  # fmt: skip
"""Who learns, and by which deal of groups into folds: of one alone, another would tell more."""


def require_limits(principle: Principle) -> None:
    """Refuse principles that limit no belief, and those that groups put together may break."""
    if principle.monotone and any(part.max_share < 1 for part in principle.parts):
        return
    why = "which limits none" if principle.monotone else "which groups put together may break"
    raise SchemaError(
        f'resist = "learning" is about how likely values may be, not about {principle}, {why}.',
        hint="Promise frequency-diversity, alpha-k or recursive-diversity, alone or beside what is "
        "monotone, or leave resist out.",
    )


def limit_beliefs(principle: Principle, domain: Domain) -> Floats:
    """Give the most that may be believed of each value, never rounded up."""
    limit = np.ones(domain.size)
    for part in principle.parts:
        if part.on in (None, domain.attribute.name):
            shares, which = bound_shares(part, domain)
            most = [np.nextafter(float(share), 0) if share < 1 else 1.0 for share in shares]
            limit = np.minimum(limit, np.array(most)[which])
    return np.where(limit < 1, np.maximum(limit, LEAST), np.inf)


def require_one(data: CodedTable) -> str:
    """Give the one sensitive attribute of a table, so that it is known how to exchange people."""
    if len(data.sensitive) > 1:
        raise SchemaError(
            f'resist = "learning" is for one sensitive attribute: {", ".join(data.sensitive)} '
            "given.",
            hint="Leave resist out, or publish them one by one.",
        )
    return data.sensitive[0]


def resist_learning(
    data: Microdata,
    name: str,
    principle: Principle,
    groups: Partition,
    draws: Draws,
    columns: Sequence[VisibleLabels],
    *,
    are_runs: bool = False,
) -> Partition:
    """Change groups until two models that learn across them tell of nobody more than is allowed.

    Told are values of one sensitive attribute, from columns that are shown of everybody. Groups
    that are runs are put together with their neighbours.
    """
    require_regression()
    limit = limit_beliefs(principle, data.domains[name])
    shown = Shown.read(columns, data.codes[name], histogram(data, name), limit)
    before: dict[tuple[Learn, int], int] = {}
    key = draws.words(4).tobytes()  # deals are the same every time, or chance would be chased
    for turn in range(ROUNDS):
        for learn, deal in LEARNERS:
            judged, models = learn(shown, groups, KeyedDraws(key, deal))
            left = int((judged.worst > 1).sum())
            if left or _guesses_well(shown, judged):
                break
        else:
            return groups
        is_stuck = not left or left > STUCK * before.get((learn, deal), left * 2)
        before[learn, deal] = left
        count = groups.count
        groups = _change(
            shown, groups, judged, models, draws,
            are_runs=are_runs, is_stuck=is_stuck, late=turn >= PATIENCE, all_of=turn >= HOPE,
        )  # fmt: skip
        if groups.count == 1:  # nobody tells its people apart, as it says nothing of anybody
            break
    raise PromiseError(
        f"{principle} is not kept against who learns across groups: "
        + (f"of {left:,} people more is told still" if left else "too many guesses are right")
        + (
            f" in {count:,} groups, and one of everybody says nothing."
            if groups.count == 1
            else "."
        ),
        hint="Ask for less (a smaller l), leave out quasi-identifiers that tell most of "
        f"{shown.whole.domain.attribute.name}, or leave resist out.",
        subject=principle,
    )


def _guesses_well(shown: Shown, judged: Judged) -> bool:
    """Whether the likeliest values are right of more people than any belief may be.

    By more than chance: then models are surer than they say.
    """
    most = np.max(shown.limit, initial=0, where=np.isfinite(shown.limit))
    chance = DEVIATIONS * np.sqrt(most * (1 - most) / len(shown.codes))
    return bool(0 < most < (judged.likeliest == shown.codes).mean() - chance)


def _change(
    shown: Shown,
    groups: Partition,
    judged: Judged,
    models: Models,
    draws: Draws,
    *,
    are_runs: bool,
    is_stuck: bool,
    late: bool,
    all_of: bool,
) -> Partition:
    """Exchange people of whom too much is told, and put groups of those who are left together.

    Where that did not help before, those of all of them; or all groups, if these are many or that
    is wanted: what is learned of somebody comes from them all.
    """
    from discreet.kernels.learned import exchange_people

    telling = np.flatnonzero(judged.worst > SAFE)
    telling = telling[draws.permutation(len(telling))]
    labels, bags = groups.labels.astype(np.int64), shown.bag(groups)
    scores = models.scores.mean(axis=0)
    by_own = np.argsort(shown.codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(shown.whole.whole)])
    some = telling[: 0 if late else len(labels) // ROOM + 1]
    first, step = draws.integers(2**30, 2 * len(some)).reshape(2, -1, 1)
    left = np.ones(len(telling), dtype=bool)
    left[: len(some)] = exchange_people(
        some, labels, shown.codes, by_own, starts, first + step * np.arange(TRIED), bags.offsets,
        bags.codes, bags.weights, judged.pull, groups.sizes, shown.labels, scores, models.kind,
        models.weight, shown.limit, SAFE, ROOM,
    )  # fmt: skip
    too_much = judged.worst[telling] > 1
    many = is_stuck and (not too_much.any() or too_much.sum() * FEW > len(labels))
    full = np.full(groups.count, many or all_of)
    full[labels[telling[too_much & (left | is_stuck)]]] = True
    order = np.arange(groups.count)
    if not are_runs and full.any():
        order = _order_alike(shown, labels, scores, groups.count)
    return _put_together(labels, order, full)


def _put_together(labels: Ints, order: Ints, full: Bools) -> Partition:
    """Put every other group of an order together with the next, if either of them is full."""
    count = len(order)
    pair = np.arange(count) // 2
    joined = np.zeros(int(pair[-1]) + 1, dtype=bool)
    joined[pair[full[order]]] = True
    if count % 2 and count > 1 and joined[-1]:  # the last has no other: it goes with those before
        pair[-1] -= 1
        joined[pair[-1]] = True
    made = np.empty(count, dtype=np.int64)
    made[order] = np.where(joined[pair], 2 * pair, np.arange(count))
    return Partition.from_labels(np.unique(made[labels], return_inverse=True)[1])


def _order_alike(shown: Shown, labels: Ints, scores: Floats, count: int) -> Ints:
    """Order groups such that those next to each other are alike in what is learned of them.

    They are halved along the direction in which they differ most, halves as well, and so on.
    """
    often = np.bincount(shown.labels.ravel(), minlength=len(scores))
    middle = scores - np.average(scores, axis=0, weights=np.maximum(often, 1e-9))
    share = np.sqrt(shown.whole.whole / shown.whole.whole.sum())
    if scores.shape[1] == len(share):
        middle = middle * share
    _, ways = np.linalg.eigh((middle * often[:, None]).T @ middle)
    ways = middle @ ways[:, -DIRECTIONS:]
    sizes = np.bincount(labels, minlength=count)
    means = np.stack([
        np.bincount(labels, way[shown.labels].sum(axis=1), minlength=count) / sizes
        for way in ways.T
    ], axis=1)  # fmt: skip
    order, parts = np.arange(count), [(0, count)]
    for _ in range(DEPTH):
        halves = []
        for start, end in parts:
            here = order[start:end]
            widest = int(means[here].var(axis=0).argmax())
            order[start:end] = here[np.argsort(means[here, widest], kind="stable")]
            half = start + (end - start + 1) // 2
            halves += [part for part in ((start, half), (half, end)) if part[1] - part[0] > 2]
        parts = halves
    return order
