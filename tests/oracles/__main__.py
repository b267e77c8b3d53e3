"""Run all oracles at full size: ``make oracles``. Ends with 1 if any figure is below the worlds."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count
from multiprocessing import get_context

from oracles.known_batching import run_batches
from oracles.known_method import run_generalization
from oracles.noise import NOISE
from oracles.running import Tally, tally_trials
from oracles.tables import SETUPS, TOGETHER

AT_ONCE = 200
"""Tables that are tried before the next line is printed."""
KNOWN_METHOD = {"generalization": run_generalization, "angelization and anatomy": run_batches}
"""Who knows the method, and not only the release."""
SHOWN = ("belief", "belief in truth", "candidates", "nearness", "breach risk")
"""The figures whose excess is measured: risks of people."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="oracles", description=__doc__)
    parser.add_argument("--tables", type=int, default=2000, help="to publish per form")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="forms that have this in their name")
    asked = parser.parse_args()
    setups = [setup for setup in SETUPS if asked.only in setup]
    setups += [setup for setup in TOGETHER if asked.only == setup]
    found = {}
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        for setup in setups:
            found[setup] = run_setup(pool, setup, asked.tables, asked.jobs)
    print(*tabulate(found), sep="\n")
    for tally in found.values():
        print(*(f"\n{example}" for example in tally.examples), sep="\n", end="")
    wrong = any(tally.under.total() for tally in found.values())
    for form, try_tables in NOISE.items():
        if asked.only in form:
            noise = try_tables(asked.tables, seed=1)
            print(form, *(f"{what}: {many:g}" for what, many in noise.items()), sep="; ")
            wrong |= noise["under"] + noise["broken"] > 0
    for form, try_known in KNOWN_METHOD.items():
        if asked.only in f"{form}, method known":
            known = try_known(asked.tables, seed=1)
            said = (f"{what}: {many}" for what, many in known.items())
            print(f"{form}, method known", *said, sep="; ")
            wrong |= known["broken"] > 0
    return int(wrong)


def run_setup(pool: ProcessPoolExecutor, setup: str, tables: int, jobs: int) -> Tally:
    tally = Tally()
    for first in count(0, AT_ONCE * jobs):
        parts = [range(first + i * AT_ONCE, first + (i + 1) * AT_ONCE) for i in range(jobs)]
        for part in pool.map(partial(tally_trials, setup), parts):
            tally.merge(part)
        under = tally.under.total()
        print(f"{setup}: {tally.tables} of {tables} tables, {under} under-reports",
              file=sys.stderr, flush=True)  # fmt: skip
        if tally.tables >= tables:
            return tally
    raise AssertionError


def tabulate(found: dict[str, Tally]) -> list[str]:
    """Write a table of what was found, and below it which figures are under what the worlds say."""
    lines = ["| form | tables | people | under-reports | over-reports | largest excess | mean |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for setup, tally in found.items():
        over = sum(tally.over[name] for name in SHOWN)
        largest = max((tally.largest.get(name, 0) for name in SHOWN), default=0)
        compared = sum(tally.compared[name] for name in SHOWN)
        mean = sum(tally.excess[name] for name in SHOWN) / max(compared, 1)
        cells = [setup, f"{tally.tables:,}", f"{tally.people:,}", f"{tally.under.total():,}"]
        cells += [f"{over:,} of {compared:,}", f"{float(largest):.3f}", f"{float(mean):.4f}"]
        lines.append(f"| {' | '.join(cells)} |")
    for setup, tally in found.items():
        if tally.under.total():
            kinds = (f"{name} {many:,} of {tally.compared[name]:,}"
                     for name, many in tally.under.most_common() if many)  # fmt: skip
            lines.append(f"under, {setup}: {'; '.join(kinds)}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
