"""One clock for all benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np


def clock(work: Callable[[], Any], times: int) -> float:
    """Give the median of the wall-clock seconds of several runs."""
    spans = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        spans.append(time.perf_counter() - start)
    return float(np.median(spans))
