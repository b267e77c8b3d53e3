"""Choosing, measured: many questions put to a release, methods compared, releases put together.

python benchmarks/choosing.py [--quick] [--json FILE]

Questions are held against DuckDB, which answers the same about the microdata; a comparison against
publishing alone, twice for each trial; the check of a ledger against publishing the second release.
"""

from __future__ import annotations

from typing import Any

import discreet as dc
from clock import clock, run
from discreet.auditing.composition import compose
from discreet.evaluate import Estimator
from discreet.evaluate.questions import draw_questions
from discreet.publishing.method import Method

DIVERSE = dc.FrequencyDiversity(4)


def list_forms() -> dict[str, tuple[str, Method]]:
    """One method of each form, and what is sensitive under it."""
    return {
        "generalization": ("occupation", dc.Generalization(DIVERSE)),
        "angelization": ("occupation", dc.Angelization(DIVERSE)),
        "anatomy": ("occupation", dc.Anatomy(DIVERSE)),
        "slicing": ("occupation", dc.Slicing(DIVERSE)),
        "permutation": ("income", dc.Permutation(dc.KE(5, 1000))),
        "rank swapping": ("income", dc.RankSwapping(dc.KE(5, 1000))),
        "perturbation": ("income", dc.Perturbation(dc.Proximity(epsilon=500, m=5))),
    }


def measure_questions(n: int, asked_of_each: int) -> list[dict[str, Any]]:
    """A thousand counts of every form, from so many questions."""
    rows = []
    for name, (sensitive, method) in list_forms().items():
        data = dc.datasets.census(n, sensitive=sensitive)
        release = dc.publish(data, method, insecure_seed=1)
        asked: list[Any] = []
        truth = clock(
            lambda d=data, a=asked: a.append(draw_questions(d, asked_of_each)),  # type: ignore[misc]
            1,
        )
        batches = [b for b in asked[0].batches if b.kind in ("count", "range")]
        many = sum(len(batch.sql) for batch in batches)

        def answer(release: dc.Release = release, data: dc.Microdata = data) -> None:
            estimator = Estimator(release, data)
            for batch in batches:  # noqa: B023 -- called at once
                estimator.estimate(batch.workload)

        answer()
        seconds = clock(answer, 3) * 1000 / many
        rows.append({"what": f"1,000 counts: {name}", "n": n, "seconds": seconds,
                     "ratio": seconds / (truth * 1000 / asked_of_each),
                     "against": "DuckDB on the microdata"})  # fmt: skip
    return rows


def measure_comparison(quick: bool) -> list[dict[str, Any]]:
    """Six methods with four values each on Adult, a thousand questions and a tree for each."""
    data = dc.datasets.adult(sensitive="occupation")
    if quick:
        data = data.head(300)
    columns = [["age", "workclass", "education", "marital-status", "race", "native-country"],
               ["sex", "occupation"]]  # fmt: skip
    values = (2,) if quick else (2, 3, 4, 5)
    methods: list[Method] = []
    for value in values:
        promise = dc.FrequencyDiversity(value)
        methods += [
            dc.Generalization(promise), dc.Angelization(promise), dc.Anatomy(promise),
            dc.Slicing(promise), dc.Slicing(dc.FrequencyDiversity(min(value, 3)), columns=columns,
                                            check="paper" if value > 3 else "safe"),
            dc.Generalization(promise & dc.KAnonymity(5 * value)),
        ]  # fmt: skip
    dc.compare(data.head(300), methods[:6], 40)  # compile
    plain = clock(lambda: [dc.publish(data, m, insecure_seed=0) for m in methods * 2], 1)
    seconds = clock(lambda: dc.compare(data, methods, 40 if quick else None), 1)
    return [{"what": f"compare {len(methods)} trials, Adult", "n": data.n, "seconds": seconds,
             "ratio": seconds / plain, "against": "publishing each twice"}]  # fmt: skip


def measure_ledger(n: int) -> list[dict[str, Any]]:
    """A second release of another form, held against the first."""
    data = dc.datasets.census(n)
    one = dc.publish(
        data, dc.Generalization(dc.KAnonymity(10) & dc.FrequencyDiversity(3)), insecure_seed=1
    )
    method = dc.Anatomy(DIVERSE)
    two = dc.publish(data, method, insecure_seed=1)
    plain = clock(lambda: dc.publish(data, method, insecure_seed=1), 3)
    seconds = clock(lambda: compose(two, data, [("0001", one)]), 1)
    return [{"what": "anatomy after generalization, put together", "n": n, "seconds": seconds,
             "ratio": seconds / plain, "against": "publishing"}]  # fmt: skip


def measure(quick: bool) -> list[dict[str, Any]]:
    sizes = (600,) if quick else (30_000, 300_000)
    ledgers = (600,) if quick else (10_000, 100_000)
    return [
        *(row for n in sizes for row in measure_questions(n, 40 if quick else 1000)),
        *(row for n in ledgers for row in measure_ledger(n)),
        *measure_comparison(quick),
    ]


if __name__ == "__main__":
    run(__doc__, measure)
