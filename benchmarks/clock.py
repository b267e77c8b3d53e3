"""One clock for all benchmarks, and one way to run and report them."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
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


def run(about: str | None, measure: Callable[[bool], Iterable[dict[str, Any]]]) -> None:
    """Run a benchmark from the command line, print its figures and write them where asked."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help="small sizes, no peers")
    parser.add_argument("--json", type=Path, help="write the figures here")
    chosen = parser.parse_args()
    report(measure(chosen.quick), chosen.json)


def report(rows: Iterable[dict[str, Any]], file: Path | None) -> None:
    """Print figures as they are found, and write them to a file if one is given."""
    found = []
    for row in rows:
        found.append(row)
        shown = [f"{row['what']:<50}", f"n = {row['n']:>10,}" if "n" in row else " " * 14]
        shown.append(f"{row['seconds']:9.4f} s" if "seconds" in row else " " * 11)
        if "ratio" in row:
            shown.append(f"{row['ratio']:8.2f} × {row['against']}")
        if "ncp" in row:
            shown.append(f"NCP {row['ncp']:.4f}")
        if "covered" in row:
            shown.append(f"covered {row['covered']:.0%}")
        print("  ".join(shown), flush=True)
    if file is not None:
        file.write_text(json.dumps(found, indent=1) + "\n")
