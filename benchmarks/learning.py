"""Learning across groups, measured: what it tells before and after, what that costs, and how long.

python benchmarks/learning.py [--quick] [--json FILE]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import discreet as dc
from clock import clock, run
from discreet.evaluate import count_truth, draw_workload, estimate_counts, measure_error
from discreet.publishing.method import Method
from discreet.publishing.partitioners import learning

MOST_ATTACKED = 100_000
QUESTIONS, VOLUME = 500, 0.05


class Watched:
    """What models say first and last of the people of groups, while these are changed."""

    def __init__(self) -> None:
        self.told: list[tuple[float, float]] = []

    def learn(self, *given: Any) -> Any:
        """Learn as ever, and keep the share of people of whom too much is told."""
        judged, models = self.inner(*given)
        shown = given[0]
        self.told.append(
            (float((judged.worst > 1).mean()), float((judged.likeliest == shown.codes).mean()))
        )
        return judged, models

    def publish(self, data: dc.Microdata, method: Method) -> dc.Release:
        """Publish under watch."""
        self.inner = learning.learn_from_others
        learning.learn_from_others = self.learn
        try:
            return dc.publish(data, method)
        finally:
            learning.learn_from_others = self.inner


def attack(release: dc.Release, data: dc.Microdata) -> dict[str, float]:
    """Give the share of people whom the audit's learners guess right."""
    found = dc.audit(release, data, attacks=True).attacks
    return {one.name: one.success for one in found if one.name in ("deFinetti", "learning")}


def measure_table(data: dc.Microdata, method: Method, what: str) -> Iterator[dict[str, Any]]:
    """Publish a table both ways, and compare."""
    resisting = replace(method, resist="learning")
    watched, name = Watched(), data.sensitive[0]
    dc.publish(data.taken(np.arange(500)), method)
    plain = clock(lambda: dc.publish(data, method), 1)
    made = []
    span = clock(lambda: made.append(watched.publish(data, resisting)), 1)
    row = {
        "what": f"{method.title}, {what}, {name}, {method.principle}", "n": data.n,
        "seconds": span, "against": "without resist", "ratio": span / plain,
        "told_too_much": [watched.told[0][0], watched.told[-1][0]],
        "guessed": [watched.told[0][1], watched.told[-1][1]],
        "groups": int(max(view.bags(name).count for view in made[0].views)),
    }  # fmt: skip
    if data.n <= MOST_ATTACKED:
        both = dc.publish(data, method), made[0]
        row["attacked"] = [attack(release, data) for release in both]
        asked = draw_workload(data, VOLUME, QUESTIONS, names=[*data.quasi_identifiers[:2], name])
        truth = count_truth(data, asked)
        row["counts_off"] = [
            measure_error(truth, estimate_counts(release, data, asked)) for release in both
        ]
    yield row


def measure(quick: bool) -> Iterator[dict[str, Any]]:
    third, quarter = dc.FrequencyDiversity(3), dc.FrequencyDiversity(4)
    small = 5_000 if quick else 50_000
    census, pay = (dc.datasets.census(small, sensitive=s) for s in ("occupation", "income"))
    yield from measure_table(census, dc.Anatomy(third), "census")
    yield from measure_table(census, dc.Anatomy(third, batches="anatomize"), "census, anatomized")
    yield from measure_table(census, dc.Angelization(third), "census")
    yield from measure_table(pay, dc.Permutation(quarter), "census")
    if not quick:
        adult = dc.datasets.adult(sensitive="occupation")
        yield from measure_table(adult, dc.Anatomy(third), "Adult")
        large = dc.datasets.census(1_000_000)
        yield from measure_table(large, dc.Anatomy(third), "census")


if __name__ == "__main__":
    run(__doc__, measure)
