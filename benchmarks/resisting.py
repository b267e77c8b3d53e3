"""Resisting who knows the method, measured: loss, errors of counts and time, with it and without.

python benchmarks/resisting.py [--quick] [--json FILE] [--survey FILE]

Counts are over all attributes together, of a tenth of the space; their error is the median over
1,000 of them. Pairs are counts over a quasi-identifier and the sensitive attribute, on average over
all of these. ``--survey`` is a file of ACS persons. What is drawn is drawn with a seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from clock import clock, report
from discreet.evaluate import count_truth, draw_workload, estimate_counts, measure_loss
from discreet.experiments.angel import load_people
from discreet.experiments.outcome import Settings
from discreet.publishing.method import Method


def list_tables(rows: int, survey: Path | None) -> Iterator[tuple[str, dc.Microdata, list[Any]]]:
    """Tables, and what is promised of each."""
    shares = [dc.FrequencyDiversity(l) for l in (2, 3, 5)]  # noqa: E741
    yield "Adult, occupation", dc.datasets.adult(sensitive="occupation").head(rows), [
        *shares, dc.DistinctDiversity(3), dc.RecursiveDiversity(3, 2),
    ]  # fmt: skip
    yield "census, occupation", dc.datasets.census(rows, sensitive="occupation"), shares
    yield "census, income", dc.datasets.census(rows, sensitive="income"), [
        dc.FrequencyDiversity(4), dc.Proximity(100, 4), dc.KE(5, 2000),
    ]  # fmt: skip
    if survey is not None:
        people, _ = load_people(Settings(source=survey))
        yield "ACS, occupation", people.head(rows), shares


def list_methods(principle: dc.Principle) -> list[Method]:
    made: list[Method] = [dc.Generalization(principle)]
    if not principle.dealt:
        made += [dc.Angelization(principle), dc.Anatomy(principle)]
    return made


def measure_errors(release: dc.Release, data: dc.Microdata, names: list[str] | None) -> float:
    """Give the median error of counts: of all attributes, or of those named."""
    workload = draw_workload(data, 0.1, names=names)
    truth, made = count_truth(data, workload), estimate_counts(release, data, workload)
    asked = truth > 0
    return float(np.median(np.abs(made[asked] - truth[asked]) / truth[asked]))


def measure_answers(rows: int, survey: Path | None) -> Iterator[dict[str, Any]]:
    for table, data, promises in list_tables(rows, survey):
        for principle, kind in product(promises, range(3)):
            plain = list_methods(principle)[kind:][:1]
            for method in [*plain, *(replace(m, resist="method") for m in plain)]:  # type: ignore[call-arg]
                how = "" if method in plain else ", method known"
                what = f"{table}, {principle}, {method.title}{how}"
                try:
                    release = dc.publish(data, method, insecure_seed=1)
                except dc.DiscreetError as error:
                    yield {"what": f"{what}: {error.message}"}
                    continue
                loss, off = measure_loss(release, data), measure_errors(release, data, None)
                pairs = float(np.mean([measure_errors(release, data, [known, *data.sensitive])
                                       for known in data.quasi_identifiers]))  # fmt: skip
                yield {"what": f"{what}: {off:.1%} off, pairs {pairs:.1%}", "n": data.n,
                       "ncp": loss.ncp, "off": off, "pairs": pairs,
                       "size": loss.average_class_size}  # fmt: skip


def measure_time(n: int, times: int) -> Iterator[dict[str, Any]]:
    for name in ("occupation", "income"):
        data = dc.datasets.census(n, sensitive=name)
        for plain in list_methods(dc.FrequencyDiversity(4)):
            known = replace(plain, resist="method")  # type: ignore[call-arg]
            dc.publish(data, known)
            one = clock(lambda: dc.publish(data, plain), times)  # noqa: B023
            two = clock(lambda: dc.publish(data, known), times)  # noqa: B023
            yield {"what": f"{plain.title}, {name}, method known", "n": n, "seconds": two,
                   "against": "without", "ratio": two / one}  # fmt: skip


def measure(quick: bool, survey: Path | None) -> Iterator[dict[str, Any]]:
    yield from measure_answers(5_000 if quick else 50_000, survey)
    yield from measure_time(20_000 if quick else 1_000_000, 3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--survey", type=Path, help="a file of ACS persons")
    chosen = parser.parse_args()
    report(measure(chosen.quick, chosen.survey), chosen.json)
