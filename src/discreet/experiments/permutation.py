"""The experiments of the permutation paper: Zhang, Koudas, Srivastava, Yu, ICDE 2007, section 7.1.

Figures 10 to 14: partition algorithms against each other. Error is the width of the bounds of an
average over its true value. Arbitrary queries select any set of people; range queries an interval
of ages.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from discreet.experiments.bounded import (
    SEED,
    Grouped,
    SwappedColumn,
    choose_ages,
    choose_any,
    mean_error,
)
from discreet.experiments.claims import PERCENT, Claim, Inequality, falling
from discreet.experiments.losses import LOSS, draw_people, generalize, losses, part_locally
from discreet.experiments.outcome import Experiment, Outcome, Settings
from discreet.experiments.permutation_tables import SIZES, SPANS
from discreet.forms.swapped.rank_windows import RankWindows
from discreet.principles import KE
from discreet.publishing.draws import SeededDraws
from discreet.publishing.partitioners.histograms import histogram
from discreet.publishing.partitioners.sorted_runs import Objective, partition_runs
from discreet.table.arrays import Bools
from discreet.table.microdata import Microdata

LINES: dict[str, Objective] = {
    "min sum": "sum",
    "min max": "max",
    "overlapping": "max-overlapping",
    "max groups": "groups",
    "random": "random",
}
OPTIMIZED = list(LINES)[:4]
SWAPPING, DIVERSE, LOCAL = "rank swapping", "4-diverse", "4-diverse, Mondrian"
FEW, MANY, COARSE = 1_427, 10_000, 89
"""People of Adult with a loss, people of the paper's section 7.2, and how many losses Adult has."""


def group_all(
    data: Microdata, ke: KE, *, diverse: bool = False
) -> dict[str, Grouped | SwappedColumn]:
    """Partition the same people by every algorithm; on request also into 4-diverse groups."""
    values = data.domains[LOSS].numbers[data.codes[LOSS]]
    made: dict[str, Grouped | SwappedColumn] = {}
    for line, objective in LINES.items():
        runs = partition_runs(data, LOSS, ke, objective, SeededDraws(SEED))
        made[line] = Grouped.by(runs.labels, values)
    numbers = data.domains[LOSS].numbers
    windows = RankWindows.around(histogram(data, LOSS), ke)
    # who shows whose number does not change how wide the windows are on average
    made[SWAPPING] = SwappedColumn(
        numbers[windows.low][data.codes[LOSS]], numbers[windows.high][data.codes[LOSS]]
    )
    if diverse:
        made[DIVERSE] = Grouped.by(generalize(data)[1], values)
        made[LOCAL] = Grouped.by(part_locally(data), values)
    return made


def _compare(
    x: str,
    cases: Iterable[tuple[float, Microdata, KE, list[Bools]]],
    *,
    diverse: bool = False,
) -> pl.DataFrame:
    """Error of every algorithm in several cases."""
    rows = []
    for at, data, ke, chosen in cases:
        values = data.domains[LOSS].numbers[data.codes[LOSS]]
        made = group_all(data, ke, diverse=diverse)
        rows.append({x: at, **{n: mean_error(g, values, chosen) for n, g in made.items()}})
    return pl.DataFrame(rows)


def _state_far_below(table: pl.DataFrame, *others: str) -> Claim:
    means = {line: _mean(table, line) for line in [*OPTIMIZED, *others]}
    best = max(means[line] for line in OPTIMIZED)
    return Claim(
        f"the optimizing algorithms are far below {' and '.join(others)} (here: below half)",
        tuple(
            Inequality("at most", best, "<", means[line] / 2, by=f"half of {line}", unit=PERCENT)
            for line in others
        ),
        "Bounds of swapped numbers add up person by person and do not narrow as a query takes "
        "more of a group; how the paper bounds them it does not say.",
    )


def _mean(table: pl.DataFrame, line: str) -> float:
    return float(table[line].mean())  # type: ignore[arg-type]


def partitions(settings: Settings) -> Outcome:
    """Figure 10: the partition algorithms against each other on arbitrary queries."""
    data, count = losses(), 20 if settings.quick else 100
    cases = ((size, data, KE(4, 100), choose_any(data.n, size, count)) for size in SIZES)
    table = _compare("people selected", cases, diverse=True)
    chance, diverse, local = (_mean(table, line) for line in ("random", DIVERSE, LOCAL))
    return Outcome(
        "Figure 10: error of arbitrary queries by partition algorithm",
        f"Adult, {data.n:,} people, (4,100), {count} queries per size",
        table, "(upper - lower) / truth",
        (
            _state_far_below(table, "random", SWAPPING, DIVERSE),
            Claim("the l-diverse partition is worse than the random one", (
                Inequality("full-domain", diverse, ">", chance, by="random", unit=PERCENT),
            )),
            Claim("rank swapping is better than the l-diverse partition", (
                Inequality(SWAPPING, _mean(table, SWAPPING), "<", diverse, by="full-domain",
                           unit=PERCENT),
            ), "How the paper bounds swapped numbers it does not say."),
            Claim("the error falls with the number of people selected", (
                falling("min sum", table["min sum"].to_list(), PERCENT),
            )),
            Claim("groups that are cut locally are no better than random ones, either", (
                Inequality("Mondrian", local, ">", chance, by="random", unit=PERCENT),
            ), "They are as small as the random ones.", beyond=True),
        ),
    )  # fmt: skip


def partitions_range(settings: Settings) -> Outcome:
    """Figure 11: the partition algorithms against each other on range queries."""
    data, count = losses(), 10 if settings.quick else 40
    cases = ((span, data, KE(4, 100), _choose_span(data, span, count)) for span in SPANS)
    table = _compare("span of ages", cases)
    return Outcome(
        "Figure 11: error of range queries by partition algorithm",
        f"Adult, {data.n:,} people, (4,100), up to {count} ranges per span",
        table, "(upper - lower) / truth",
        (_state_far_below(table, "random", SWAPPING),),
    )  # fmt: skip


def _choose_span(data: Microdata, span: int = 30, count: int = 30) -> list[Bools]:
    return [chosen for *_, chosen in choose_ages(data, span, count)]


def correlation(settings: Settings) -> Outcome:
    """Figure 12: the stronger loss follows age, the more l-diverse groups lose or gain."""
    n = 2_000 if settings.quick else MANY
    drawn = ((noise, draw_people(n, noise, COARSE)) for noise in (0.1, 1, 5, 10, 15, 20, 30))
    cases = ((noise, people, KE(4, 100), _choose_span(people)) for noise, people in drawn)
    table = _compare("noise in years", cases, diverse=True)
    diverse = table[DIVERSE].to_list()
    return Outcome(
        "Figure 12: error of range queries by how closely the loss follows age",
        f"{n:,} people drawn, {COARSE} different losses, spans of 30 years, (4,100); the paper "
        "does not say the unit of its variance, here it is years of age",
        table, "(upper - lower) / truth",
        (
            _state_far_below(table, "random", SWAPPING),
            Claim("l-diverse groups lose much where the loss follows age closely", (
                Inequality("4-diverse, noise of a year or less, at most", max(diverse[:2]), ">",
                           max(diverse[2:]), by="more noise, at most", unit=PERCENT),
                Inequality("4-diverse at its worst", max(diverse[:2]), ">", table["min sum"][0],
                           by="min sum", unit=PERCENT),
            ), "Where the loss follows age, those of a group of some years are near each other."),
            Claim("and else are as good as the optimizing algorithms", (
                Inequality("4-diverse, noise of 10 years or more, at most", max(diverse[3:]), "≤",
                           max(table["min sum"][3:]), by="min sum at most", unit=PERCENT),
            )),
        ),
    )  # fmt: skip


def by_k(_: Settings) -> Outcome:
    """Figure 13: k from 4 to 40."""
    promises = {k: KE(k, 50) for k in (4, 10, 16, 22, 28, 34, 40)}
    people = {f"{n:,} people": draw_people(n) for n in (FEW, 5_000, MANY)}
    data = f"{MANY:,} people drawn evenly, as many as in section 7.2; spans of 30 years, e = 50"
    few = (
        "Of 1,427 evenly spread people some 19 have numbers over e = 50; from there on k decides "
        "how wide a group is."
    )
    return _sweep("Figure 13", "k", promises, people, data, few)


def by_e(_: Settings) -> Outcome:
    """Figure 14: e from 40 to 200."""
    promises = {e: KE(10, e) for e in (40, 80, 120, 160, 200)}
    people = {
        **{f"{d} different losses": draw_people(MANY, distinct=d) for d in (400, 200)},
        f"{FEW:,} people, {COARSE} losses": draw_people(FEW, distinct=COARSE),
        "any losses": draw_people(MANY),
        f"{COARSE} different losses": draw_people(MANY, distinct=COARSE),
    }
    data = (
        f"{MANY:,} people drawn, {COARSE} different losses, as many as in Adult; spans of 30 "
        "years, k = 10"
    )
    fine = "Where losses are spread finely, a group is about e wide, and so are its bounds."
    return _sweep("Figure 14", "e", promises, people, data, fine)


def _sweep(
    figure: str, letter: str, promises: dict[int, KE],
    people: dict[str, Microdata], about: str, why: str,
) -> Outcome:  # fmt: skip
    """Every algorithm on the last of the tables, and one of them on the others."""
    *others, main = people
    lines = {}
    for name, data in people.items():
        chosen = _choose_span(data)
        cases = ((at, data, ke, chosen) for at, ke in promises.items())
        lines[name] = _compare(letter, cases)
    table = lines[main]
    for name in others:
        table = table.with_columns(lines[name]["min sum"].alias(f"min sum, {name}"))
    grown = {name: each["min sum"][-1] / each["min sum"][0] for name, each in lines.items()}
    first, last = min(promises), max(promises)
    swapped, chance = (table[line][-1] / table[line][0] for line in (SWAPPING, "random"))
    alike = table.select(pl.max_horizontal(OPTIMIZED) / pl.min_horizontal(OPTIMIZED)).to_series()
    return Outcome(
        f"{figure}: error of range queries by {letter}", about,
        table, "(upper - lower) / truth",
        (
            _state_far_below(table, "random"),
            Claim(f"the optimizing algorithms hardly lose with larger {letter} (here: not half)", (
                Inequality(f"min sum at {last} over {first}", grown[main], "<", 1.5,
                           unit="times"),
            )),
            Claim("the optimizing algorithms are alike (here: within a half)", (
                Inequality("the worst over the best at most", float(alike.max()), "<", 1.5,  # type: ignore[arg-type]
                           unit="times"),
            ), "They minimize different things, which agree where groups come out the same."),
            *(
                [Claim("rank swapping loses significantly with larger k (here: over half)", (
                    Inequality(f"at {last} over {first}", swapped, ">", 1.5, unit="times"),
                ), "Among so many people windows are as wide as e, whatever k is. How the paper "
                   "swaps by k and e it does not say.")] if letter == "k" else
                [Claim("random groups are hardly affected by e", (
                    Inequality(f"at {last} over {first}", chance, "<", 1.1, unit="times"),
                ))]
            ),
            Claim(f"they hardly lose on other tables, either, as {letter} grows", tuple(
                Inequality(name, grown[name], "<", 1.5, unit="times")
                for name in others
            ), why, beyond=True),
        ),
    )  # fmt: skip


EXPERIMENTS = [
    Experiment("permutation-partitions", partitions),
    Experiment("permutation-partitions-range", partitions_range),
    Experiment("permutation-correlation", correlation),
    Experiment("permutation-k", by_k),
    Experiment("permutation-e", by_e),
]
