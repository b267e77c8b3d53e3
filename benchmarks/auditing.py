"""The audit, measured: what proving a release costs beside making it.

python benchmarks/auditing.py [--quick] [--json FILE]

Each form in a process of its own. Seconds are of the processor, of all threads; the ratio is the
audit to publishing, writing and verifying together. Memory is the most the process held beyond
what it held before the audit, to the microdata's codes.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import discreet as dc
from clock import run

PROMISE = dc.FrequencyDiversity(4)


def _marginals(data: dc.Microdata) -> list[list[str]]:
    names = data.quasi_identifiers
    return [names[:3], names[2:5]]


def _scatter(data: dc.Microdata) -> dc.Slicing:
    """Columns of two attributes each, and nobody in a bucket of their own choosing."""
    names = [*data.quasi_identifiers, *data.sensitive]
    columns = [names[i : i + 3] for i in range(0, len(names), 3)]
    return dc.Slicing(dc.KAnonymity(20), columns=columns, buckets=20)


FORMS: dict[str, tuple[str, Callable[[dc.Microdata], Any]]] = {
    "generalization": ("occupation", lambda _: dc.Generalization(dc.KAnonymity(10))),
    "anatomy": ("occupation", lambda _: dc.Anatomy(PROMISE)),
    "angelization, two marginals": (
        "occupation",
        lambda data: dc.Angelization(PROMISE, k=10, marginals=_marginals(data)),
    ),
    "slicing": ("occupation", lambda _: dc.Slicing(PROMISE)),
    "slicing, random buckets": ("occupation", _scatter),
    "permutation": ("income", lambda _: dc.Permutation(dc.KE(k=5, e=2000))),
    "permutation, wide groups": ("income", lambda _: dc.Permutation(dc.KE(k=5, e=50_000))),
    "proximity": ("income", lambda _: dc.Generalization(dc.Proximity(500, 5))),
    "perturbation": ("income", lambda _: dc.Perturbation(dc.Proximity(500, 3))),
    "rank swapping": ("income", lambda _: dc.RankSwapping(dc.KE(k=5, e=2000))),
}


def measure_form(name: str, n: int) -> list[dict[str, Any]]:
    """Publish, write and audit one form; a small table first, so that nothing is compiled."""
    sensitive, make = FORMS[name]
    for people in (2000, n):
        data = dc.datasets.census(people, seed=1, sensitive=sensitive)
        method = make(data)
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            path = dc.publish(data, method).write(Path(folder) / "release")
            made = time.process_time() - start
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            start = time.process_time()
            dc.audit(path, data)
            span = time.process_time() - start
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    codes = sum(column.nbytes for column in data.codes.values())
    return [
        {"what": f"audit: {name}", "n": n, "seconds": span, "ratio": span / made,
         "against": "publish, write, verify"},
        {"what": f"memory: {name}", "n": n, "ratio": (after - before) / codes,
         "against": "the microdata's codes"},
    ]  # fmt: skip


def measure(quick: bool) -> list[dict[str, Any]]:
    """Measure every form."""
    n = 20_000 if quick else 1_000_000
    rows = []
    for name in FORMS:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            rows += pool.apply(measure_form, (name, n))
    return rows


if __name__ == "__main__":
    run(__doc__, measure)
