"""Shadows: who can make releases like one can learn how members look in them.

Shokri, Stronati, Song, Shmatikov: Membership Inference Attacks, S&P 2017. Random halves of the
table are published by the same method. From all but one release it is learned how people who are in
it differ from people who are not, by what of it may be theirs; then these are told apart in that
one.
"""

from __future__ import annotations

import numpy as np

from discreet.auditing.method_known import ShadowAttack
from discreet.errors import DiscreetError
from discreet.forms.exposure import tell_apart
from discreet.forms.matches import Matches, look_up
from discreet.publishing import publish
from discreet.publishing.method import Method
from discreet.release import Release
from discreet.release.labels import read_labels
from discreet.table.arrays import Bools, Floats
from discreet.table.microdata import Microdata, read

SHADOWS = 8
MOST_PEOPLE = 1000
"""People of a shadow release; of larger tables a random part is taken."""
FEWEST_PEOPLE = 20
STUDENT = 2.364624
"""95 % of Student's distribution of 7 degrees of freedom lie within so many deviations."""


def attack_membership(data: Microdata, method: Method) -> ShadowAttack | str:
    """Make shadow releases, learn and tell; or say why that cannot be done."""
    half = min(data.n // 2, MOST_PEOPLE)
    if half < FEWEST_PEOPLE:
        return f"a half of the table has fewer than {FEWEST_PEOPLE} people"
    frame, schema = data.to_polars(), data.schema.published
    seen, members = [], []
    for number in range(SHADOWS):
        rng = np.random.default_rng(number)
        rows = np.sort(rng.permutation(data.n)[: 2 * half])
        inside = np.zeros(len(rows), dtype=bool)
        inside[rng.permutation(len(rows))[:half]] = True
        try:
            half_of = read(frame[rows[inside]], schema).guarding(data, rows[inside])
            release = publish(half_of, method)
        except DiscreetError as error:
            return f"no release can be made of a half of the people: {error.message.rstrip('.')}"
        seen.append(_look(release, data.taken(rows)))
        members.append(inside)
    found = []
    for left in range(SHADOWS):
        others = [i for i in range(SHADOWS) if i != left]
        weights = _learn(
            np.concatenate([seen[i] for i in others]), np.concatenate([members[i] for i in others])
        )
        inside = members[left].astype(float)
        found.append(tell_apart(seen[left] @ weights, inside, 1 - inside))
    auc, spread = float(np.mean(found)), float(np.std(found, ddof=1)) / SHADOWS**0.5
    low, high = max(auc - STUDENT * spread, 0.0), min(auc + STUDENT * spread, 1.0)
    return ShadowAttack(auc, low, high, SHADOWS, half)


def _look(release: Release, people: Microdata) -> Floats:
    """Describe people by what of a release may be theirs: one row each.

    In every table, whether anything may be; how many records and groups, and how much room the
    smallest of these leaves; and how likely the person's own sensitive values are.
    """
    columns = [np.ones(people.n)]
    for found in (view.match(people) for view in release.views):
        covered = found.set_of >= 0
        groups = np.append(found.sizes, 0)[found.set_of]
        records = np.append(found.records, 0)[found.set_of]
        room = np.append(_find_room(found), 0.0)[found.set_of]
        columns += [covered.astype(float), np.log1p(records), np.log1p(groups), room]
        if found.view.holds_values:
            columns += [_find_own(found, people, name) for name in release.schema.sensitive]
    return np.stack(columns, axis=1)


def _find_own(found: Matches, people: Microdata, name: str) -> Floats:
    """Give how likely each person's own value is by the groups that may be theirs.

    As people are in question, nothing may be read from where all of them could be.
    """
    if not found.count:
        return np.zeros(people.n)
    bags = found.pool(name, np.arange(found.count))
    entry = look_up(bags, found.set_of, people.codes_in(name, bags.domain))
    return np.where(entry >= 0, bags.weights[entry] / bags.sizes[bags.owners[entry]], 0.0)


def _find_room(found: Matches) -> Floats:
    """Give, per candidate set, how many values its smallest group leaves open, as a logarithm."""
    view = found.view
    per_record = np.zeros(view.table.height)
    for name in view.release.schema.quasi_identifiers:
        labels, number = read_labels(view.release, view.table, name)
        per_record += np.log(np.maximum(labels.sizes, 1))[number]
    per_group = np.full(view.count, np.inf)
    np.minimum.at(per_group, view.labels, per_record)
    if not found.count:
        return np.zeros(0)
    return np.asarray(np.minimum.reduceat(per_group[found.groups], found.offsets[:-1]))


def _learn(seen: Floats, members: Bools, rounds: int = 20, ridge: float = 1.0) -> Floats:
    """Fit a logistic regression by Newton's method."""
    center, scale = seen.mean(axis=0), seen.std(axis=0)
    center, scale = np.where(scale > 0, center, 0), np.where(scale > 0, scale, 1)
    x, weights = (seen - center) / scale, np.zeros(seen.shape[1])
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        slope = x.T @ (members - p) - ridge * weights
        bend = (x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(len(weights))
        weights = weights + np.linalg.solve(bend, slope)
    return np.asarray(weights / scale)
