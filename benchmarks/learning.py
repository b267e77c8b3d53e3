"""Learning across groups, measured: what it tells before and after, what that costs, and how long.

python benchmarks/learning.py [--quick] [--json FILE]
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

import discreet as dc
from clock import clock, run
from discreet.errors import PromiseError
from discreet.evaluate import count_truth, draw_workload, estimate_counts, measure_error
from discreet.publishing.method import Method
from discreet.publishing.partitioners import learning
from discreet.publishing.partitioners.learned_models import learn_from_others

MOST_ATTACKED = 100_000
QUESTIONS, VOLUME = 500, 0.05


class Watched:
    """What models say first and last of the people of groups, while these are changed."""

    def __init__(self) -> None:
        self.told: list[tuple[float, float]] = []

    def learn(self, *given: Any) -> Any:
        """Learn as ever, and keep the share of people of whom too much is told."""
        judged, models = learn_from_others(*given)
        shown = given[0]
        self.told.append(
            (float((judged.worst > 1).mean()), float((judged.likeliest == shown.codes).mean()))
        )
        return judged, models

    def publish(self, data: dc.Microdata, method: Method) -> dc.Release:
        """Publish under watch."""
        learners = learning.LEARNERS
        learning.LEARNERS = [(self.learn, 0), *learners[1:]]
        try:
            return dc.publish(data, method)
        finally:
            learning.LEARNERS = learners


def attack(release: dc.Release, data: dc.Microdata) -> dict[str, float]:
    """Give the share of people whom the audit's learners guess right."""
    found = dc.audit(release, data, attacks=True).attacks
    return {one.name: one.success for one in found if one.name in ("deFinetti", "learning")}


def measure_table(data: dc.Microdata, method: Method, what: str) -> Iterator[dict[str, Any]]:
    """Publish a table both ways, and compare."""
    resisting = replace(method, resist="learning")
    watched, name = Watched(), data.sensitive[0]
    few = data.taken(np.arange(500))
    dc.publish(few, method)
    with suppress(PromiseError):  # what is compiled is compiled before
        dc.publish(few, resisting)
    plain = clock(lambda: dc.publish(data, method), 1)
    made: list[dc.Release] = []
    start = time.perf_counter()
    try:
        made.append(watched.publish(data, resisting))
        refused = ""
    except PromiseError as error:
        refused = str(error)
    span = time.perf_counter() - start
    row = {
        "what": f"{method.title}, {what}, {name}, {method.principle}",
        "n": data.n,
        "seconds": span,
        "against": "without resist",
        "ratio": span / plain,
    }
    if refused:
        yield {**row, "told_too_much": [watched.told[0][0], None], "refused": refused}
        return
    row |= {
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
        half, adult = dc.FrequencyDiversity(2), dc.datasets.adult(sensitive="occupation")
        yield from measure_table(adult, dc.Anatomy(third), "Adult")
        yield from measure_table(adult, dc.Anatomy(half), "Adult")
        fewer = dc.datasets.adult(sensitive="occupation", quasi_identifiers=["age", "sex", "race"])
        yield from measure_table(fewer, dc.Anatomy(half), "Adult by age, sex and race")
        large = dc.datasets.census(1_000_000)
        yield from measure_table(large, dc.Anatomy(third), "census")


if __name__ == "__main__":
    run(__doc__, measure)
