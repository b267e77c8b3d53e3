"""Before: the risks of the microdata itself, published as it is but for names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.auditing.counted import Counted
from discreet.principles.groups import Groups
from discreet.table.microdata import Microdata


@dataclass(frozen=True)
class Before:
    """What anybody would learn who knows everybody's quasi-identifiers."""

    smallest: int
    """So few people look the same."""
    alone: int
    """So many look like nobody else."""
    named: float
    """The share of people who are named rightly by guessing among those who look alike."""
    worst: dict[str, float]
    """Per sensitive attribute the largest belief in a value of anyone."""
    mean: dict[str, float]
    """The same on average over people."""
    counted: dict[str, float]
    """The largest belief in a value that counts, where some do not."""


def measure_before(data: Microdata, counted: Counted | None = None) -> Before:
    """Measure the risks of a table, by the groups of people who look the same in it.

    >>> import discreet as dc
    >>> measure_before(dc.datasets.adult(sensitive="occupation").head(200)).smallest
    1
    """
    names = data.quasi_identifiers
    classes = data.number(names) if names else np.zeros(data.n, dtype=np.int64)
    sizes = data.count_people(classes, int(classes.max()) + 1)
    worst, mean, meant = {}, {}, {}
    persons = data.persons
    rows = 1 if persons is None else persons.most_rows
    for name in data.sensitive:
        bags = Groups.from_labels(classes, data.codes[name], data.domains[name], count=len(sizes))
        belief = (bags.largest / bags.sizes)[classes]
        if persons is not None:  # that any of somebody's rows has it is no likelier than the sum
            belief = np.minimum(persons.fold_sum(belief), 1.0)
        worst[name], mean[name] = float(belief.max()), float(belief.mean())
        if counted is not None and name in counted.left_out:
            out = counted.left_out[name]
            counts = np.array([text not in out for text in bags.domain.texts])[bags.codes]
            shares = (bags.weights / bags.sizes[bags.owners])[counts]
            meant[name] = min(1.0, float(shares.max(initial=0)) * rows)
    return Before(
        int(sizes.min()), int((sizes == 1).sum()), min(1.0, len(sizes) / data.people),
        worst, mean, meant,
    )  # fmt: skip
