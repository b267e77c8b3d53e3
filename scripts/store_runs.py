"""Run experiments in full, store what they find, and write their rows into the pages of papers.

Usage: python scripts/store_runs.py [OPTIONS] [NAME ...]

Without names, all experiments; with ``--pages`` none runs, and the pages are written from what is
stored. A name may be that of a paper. Fewer folds and relinkings are for slow machines; the rows
say how many there were.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import perf_counter

from discreet.experiments import (
    PAPERS,
    REGISTRY,
    Claim,
    Settings,
    StoredRun,
    find_experiments,
    list_runs,
    store,
)

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "src" / "discreet" / "experiments" / "results"
PAGES = [ROOT / "docs" / "papers.md", *(ROOT / "docs" / "papers" / f"{name}.md" for name in PAPERS)]
PLACE = re.compile(r"(<!-- runs: (\S+) (\S+) -->\n).*?(<!-- end of runs -->\n)", re.DOTALL)
TITLES = {"angel": "ANGEL", "sequential": "Sequential releases"}


def fill_page(text: str) -> str:
    """Write what the stored runs give into every place for it: ``<!-- runs: PAPER KIND -->``."""
    kinds = {"figures": _list_figures, "beyond": _list_beyond, "counts": _count, "not": _list_not}
    return PLACE.sub(lambda m: f"{m[1]}{_join(kinds[m[3]](m[2]))}{m[4]}", text)


def _join(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _list_figures(paper: str) -> Iterator[str]:
    """One section per experiment, with a table of the paper's claims for each data it ran on."""
    for name in find_experiments(paper):
        runs = list(list_runs(name))
        if not any(_claims(run, beyond=False) for run in runs):
            continue
        yield from (f"### `{name}`", "", f"{runs[0].shows}.", "")
        for run in runs:
            file = f"; {run.file}" if run.file else ""
            yield from (f"*{_escape(run.data + file)}*", "")
            yield from _head("the paper", "here", "holds", "why not")
            for claim in _claims(run, beyond=False):
                yield _row(claim.paper, claim.here, claim.verdict, claim.why)
            yield ""


def _list_beyond(paper: str) -> Iterator[str]:
    """What is held against numbers here and is in no paper."""
    yield from _head("experiment", "added here", "found", "why not")
    for name in find_experiments(paper):
        for run in list_runs(name):
            for claim in _claims(run, beyond=True):
                on = f"`{name}` on {_say_data(run)}"
                yield _row(on, claim.paper, f"{claim.verdict}: {claim.here}", claim.why)


def _count(_: str) -> Iterator[str]:
    """How many claims of each paper hold."""
    yield from _head("paper", "experiments", "claims", "hold", "in part", "do not")
    for paper in PAPERS:
        names = find_experiments(paper)
        found = [c.verdict for run in _all_runs(names) for c in _claims(run, beyond=False)]
        counts = (len(names), len(found), *map(found.count, ("yes", "in part", "no")))
        title = TITLES.get(paper, paper.capitalize())
        yield _row(f"[{title}](papers/{paper}.md)", *map(str, counts))


def _list_not(_: str) -> Iterator[str]:
    """The claims that do not hold, or not in all of their parts."""
    yield from _head("experiment", "the paper", "here", "why not")
    for run in _all_runs(list(REGISTRY)):
        for claim in _claims(run, beyond=False):
            if not claim.holds:
                on = f"`{run.experiment}`, {run.figure}, on {_say_data(run)}"
                yield _row(on, claim.paper, f"{claim.verdict}: {claim.here}", claim.why)


def _all_runs(names: list[str]) -> Iterator[StoredRun]:
    return (run for name in names for run in list_runs(name))


def _claims(run: StoredRun, *, beyond: bool) -> list[Claim]:
    return [claim for claim in run.claims if claim.beyond == beyond]


def _say_data(run: StoredRun) -> str:
    """Say in short on what it ran."""
    short = run.data.partition(";")[0]
    return f"{short}; {run.file}" if run.file else short


def _head(*cells: str) -> Iterator[str]:
    yield from (_row(*cells), "|---" * len(cells) + "|")


def _row(*cells: str) -> str:
    return f"| {' | '.join(_escape(cell) for cell in cells)} |"


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def main() -> None:
    """Run, store, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--pages", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--folds", type=int, default=Settings.folds)
    parser.add_argument("--relinkings", type=int, default=Settings.relinkings)
    asked = parser.parse_args()
    settings = Settings(asked.quick, asked.data, asked.folds, asked.relinkings)
    listed = [each for name in asked.names for each in find_experiments(name)]
    for name in [] if asked.pages else listed or REGISTRY:
        start = perf_counter()
        outcome = REGISTRY[name](settings)
        seconds = perf_counter() - start
        store(outcome, settings, seconds, RESULTS)
        print(f"{name}: {seconds:.0f} s", *(f"  {c.verdict}: {c.paper}: {c.here}" for c in
              outcome.claims), sep="\n", flush=True)  # fmt: skip
    for page in PAGES:
        if page.exists():
            page.write_text(fill_page(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
