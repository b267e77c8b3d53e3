"""Loss: how much blurrier the published quasi-identifiers are than the true ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.forms import View, find_form
from discreet.release import Release
from discreet.release.labels import read_extents
from discreet.table.arrays import Floats
from discreet.table.microdata import Microdata


@dataclass(frozen=True)
class Loss:
    """Three classic measures; for all of them less is better.

    ``ncp`` is the normalized certainty penalty (Xu et al., KDD 2006), per person and attribute:
    of the other values of the attribute's domain, the share that the published interval or set
    covers as well. 0 is exact, 1 is no information, as of people who are left out. Where people
    have sampling weights, everybody counts by theirs.
    """

    ncp: float
    per_attribute: dict[str, float]
    discernibility: int
    """Sum over people of the size of their group (Bayardo and Agrawal, ICDE 2005)."""
    average_class_size: float


def measure_loss(release: Release, data: Microdata) -> Loss:
    """Measure how blurred the quasi-identifiers are; where they are exact, nothing is lost.

    >>> import discreet as dc
    >>> data = dc.datasets.adult(sensitive="occupation").head(500)
    >>> exact = dc.publish(data, dc.Generalization(dc.KAnonymity(1)))
    >>> measure_loss(exact, data).ncp
    0.0
    """
    return weigh_loss(data, *release.views)


def weigh_loss(data: Microdata, *views: View) -> Loss:
    """Measure the same from groups that were read already: in the table that shows most."""
    view = max(views, key=lambda v: len(v.release.schema.quasi_identifiers))
    if not find_form(view.release.form).shows_people:  # of whom nothing is shown
        nothing = dict.fromkeys(view.release.schema.quasi_identifiers, 1.0)
        return Loss(1.0 if nothing else 0.0, nothing, data.n**2, float(data.n))
    release, sizes = view.release, view.people
    n = len(view.labels) - int(view.counterfeits.sum())
    per_attribute = dict.fromkeys(release.schema.quasi_identifiers, 0.0)
    blurred = [name for name in per_attribute if release.recodings[name].is_blurred]
    shown, records = view.list_shown()
    times: Floats = records.astype(np.float64)
    if data.weights is not None and blurred and len(times) == view.count:
        # everybody counts by their weight; who may be in several groups, in the first of them
        group = view.match(data).group_of
        there = group >= 0
        weights = data.weights.values
        held = np.bincount(group[there], weights=weights[there], minlength=view.count)
        times = held.astype(np.float64)
    total = times.sum()
    for name in blurred:
        extent = read_extents(release, data, shown, [name])[name]
        others = max(data.domains[name].size - 1, 1)
        covered = np.maximum(extent.counts - 1, 0)
        per_attribute[name] = float((covered * times).sum() / (others * total))
    if release.left_out:  # of whom nothing is shown
        for name, share in per_attribute.items():
            per_attribute[name] = (share * n + release.left_out) / (n + release.left_out)
    return Loss(
        ncp=float(np.mean(list(per_attribute.values()))) if per_attribute else 0.0,
        per_attribute=per_attribute,
        discernibility=int((sizes.astype(np.int64) ** 2).sum()),
        average_class_size=n / view.count,
    )
