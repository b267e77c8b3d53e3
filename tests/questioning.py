"""Ask every form random questions at full size: ``make questions``. Ends with 1 if a truth is
outside the bounds of its answer, or a row called certain is not there."""

from __future__ import annotations

import argparse
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from multiprocessing import get_context

import numpy as np

import discreet as dc
from questions import METHODS, Drawer, draw_people, find_wrong, open_truth

PER_TABLE = 100
"""Questions asked of one release before another table is drawn."""


@dataclass
class Asked:
    """What came of the questions to releases of one form."""

    answered: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Asked) -> None:
        """Add what came of others."""
        self.answered += other.answered
        self.refused += other.refused
        self.wrong += other.wrong


def ask_table(case: str, seed: int) -> Asked:
    """Draw people, publish them and ask what is drawn; seed and question tell what was wrong."""
    rng = np.random.default_rng(seed)
    people = draw_people(rng, int(np.exp(rng.uniform(np.log(20), np.log(400)))))
    release = dc.publish(people, METHODS[case], insecure_seed=seed)
    drawer = Drawer(rng, people.public_schema.names)
    asked = Asked()
    with open_truth(people) as database, release.prepare() as prepared:
        for _ in range(PER_TABLE):
            sql = drawer.draw()
            try:
                wrong = find_wrong(prepared, database, sql)
            except Exception:
                wrong = [traceback.format_exc(limit=-4)]
            asked.refused += wrong is None
            asked.answered += wrong is not None
            asked.wrong += [f"{case}, seed {seed}: {sql}\n    {found}" for found in wrong or []]
    return asked


def main() -> int:
    """Ask until every form has answered as many as are wanted."""
    parser = argparse.ArgumentParser(prog="questioning", description=__doc__)
    parser.add_argument("--questions", type=int, default=10_000, help="to be answered per form")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="methods that have this in their name")
    parser.add_argument("--first", type=int, default=0, help="the seed to begin with")
    wanted = parser.parse_args()
    found = {}
    with ProcessPoolExecutor(wanted.jobs, mp_context=get_context("spawn")) as pool:
        for case in [case for case in METHODS if wanted.only in case]:
            total = found[case] = Asked()
            for first in count(wanted.first, wanted.jobs):
                for part in pool.map(partial(ask_table, case), range(first, first + wanted.jobs)):
                    total.add(part)
                    print(*part.wrong, sep="\n", end="\n" if part.wrong else "", flush=True)
                print(f"{case}: {total.answered:,} of {wanted.questions:,} answered, "
                      f"{len(total.wrong)} wrong", file=sys.stderr, flush=True)  # fmt: skip
                if total.answered >= wanted.questions:
                    break
    print("| method | answered | refused | wrong |", "|---|---|---|---|", sep="\n")
    for case, total in found.items():
        print(f"| {case} | {total.answered:,} | {total.refused:,} | {len(total.wrong)} |")
    return int(any(total.wrong for total in found.values()))


if __name__ == "__main__":
    sys.exit(main())
