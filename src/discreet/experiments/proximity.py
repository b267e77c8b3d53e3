"""The experiments of the proximity paper: Li, Tao, Xiao, SIGMOD 2008, section 6.

The paper's SAL (500,000 people; Age, Birthplace and Occupation numbered; Income from 1k to 100k) is
not to be had. The same attributes come from a file of the American Community Survey (``--data``) or
from a synthetic census. Places and occupations are numbered in the order of their names.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import polars as pl

from discreet.datasets import census_frame
from discreet.errors import PromiseError
from discreet.evaluate import count_truth, draw_ranges, estimate_counts, measure_error, measure_loss
from discreet.experiments.claims import PERCENT, Claim, Inequality
from discreet.experiments.outcome import Experiment, Outcome, Settings, clock
from discreet.experiments.survey import read_survey
from discreet.principles import Proximity
from discreet.publishing import publish
from discreet.publishing.method import Method
from discreet.publishing.methods.generalization import Generalization
from discreet.publishing.methods.perturbation import Perturbation
from discreet.publishing.partitioners.proximity import split_and_deal
from discreet.release import Release
from discreet.table.microdata import Microdata, read
from discreet.table.schema import Schema

SURVEY = {
    "Age": "age",
    "Place of birth": "birthplace",
    "Occupation": "occupation",
    "Income": "income",
}
KNOWN, SEED, LOW, HIGH = ["age", "birthplace", "occupation"], 20080609, 1_000, 100_000
LOCAL, DEALT = "local dealing", "round robin"
NOISE, SAFE_NOISE = "perturbation, Equation 3", "perturbation, safe"
EPSILON, SHARE, M = 4500, "0.125", 5
SPANS: dict[bool, tuple[int | str, ...]] = {
    False: (1000, 2000, 3000, 4000, 5000, 6000),
    True: ("0.025", "0.05", "0.075", "0.1", "0.125", "0.15", "0.175"),
}
FEW = (
    "Fewer people than the paper's 500,000, and ranges of skewed attributes often hold few of them."
)
DIMENSIONS = ("2D", "3D", "4D")
PAPER_LIMIT = {False: (4000, 0.20), True: (0.15, 0.08)}
"""Up to where perturbation exists in the paper, and the error that (ε,m) stays below over m."""


@cache
def load_salaries(settings: Settings) -> tuple[Microdata, str]:
    """Read the survey's file, or draw a census; people who earn from 1k to 100k."""
    if settings.source is None:
        frame = census_frame(5_000 if settings.quick else 100_000).select(*KNOWN, "income")
        source = "synthetic census"
    else:
        frame = read_survey(settings.source, SURVEY)
        frame = frame.head(5_000) if settings.quick else frame
        source = "ACS 2018"
    numbered = (pl.col(n).cast(pl.String).rank("dense").cast(pl.Int64) for n in KNOWN[1:])
    frame = frame.with_columns(*numbered, pl.col("income").cast(pl.Int64))
    frame = frame.filter(pl.col("income").is_between(LOW, HIGH))
    schema = Schema.infer(frame, quasi_identifiers=KNOWN, sensitive=["income"])
    return read(frame, schema), source


def measure_counts(
    data: Microdata, release: Release, w: int, settings: Settings, volume: float = 0.1
) -> float:
    """Average the relative error of counts over w - 1 quasi-identifiers and Income."""
    sets = list(combinations(KNOWN, w - 1))
    count = -(-(90 if settings.quick else 1000) // len(sets))
    truths, estimates = [], []
    for names in sets:
        workload = draw_ranges(data, volume, count, names=[*names, "income"], seed=SEED)
        truths.append(count_truth(data, workload))
        estimates.append(estimate_counts(release, data, workload))
    return measure_error(np.concatenate(truths), np.concatenate(estimates))


def _promise(relative: bool, m: int = M, epsilon: float | str | None = None) -> Proximity:
    chosen = (SHARE if relative else EPSILON) if epsilon is None else epsilon
    return Proximity(chosen, m, relative)


def _publish(data: Microdata, method: Method) -> Release | None:
    try:
        return publish(data, method, insecure_seed=SEED)
    except PromiseError:
        return None


def _about(data: Microdata, source: str, rest: str) -> str:
    return f"{source}, {data.n:,} people; {rest}"


def _by_epsilon(settings: Settings, relative: bool) -> Outcome:
    """Figure 4: error by ε, beside perturbation under the same promise."""
    data, source = load_salaries(settings)
    rows = []
    for epsilon in SPANS[relative]:
        promise = _promise(relative, epsilon=epsilon)
        row: dict[str, float | None] = {"ε": float(epsilon)}
        for line, method in (
            (LOCAL, Generalization(promise)),
            (DEALT, Generalization(promise, dealing="round-robin")),
            (NOISE, Perturbation(promise, check="paper")),
            (SAFE_NOISE, Perturbation(promise)),
        ):
            made = _publish(data, method)
            row[line] = None if made is None else measure_counts(data, made, 3, settings)
        rows.append(row)
    numbers: dict[str, type[pl.DataType]] = dict.fromkeys(rows[0], pl.Float64)
    table = pl.DataFrame(rows, schema_overrides=numbers)
    worst = float(table[LOCAL].max())  # type: ignore[arg-type]
    both = table.drop_nulls(NOISE)
    last, limit = (float(both["ε"].max()) if both.height else 0, PAPER_LIMIT[relative][0])  # type: ignore[arg-type]
    ratio = (both[NOISE] / both[LOCAL]).to_list()
    far = (
        Inequality("perturbation over (ε,m) at least", min(ratio), ">", 2, unit="times"),
        Inequality("at most", max(ratio), ">", 2, unit="times"),
    ) if ratio else (Inequality("ε for which perturbation is possible", 0, ">", 0),)  # fmt: skip
    kept = (table[LOCAL] / table[DEALT]).drop_nulls().to_list()
    return Outcome(
        f"Figure 4{'b' if relative else 'a'}: error of counts by ε "
        f"({'relative' if relative else 'absolute'})",
        _about(data, source, f"m = {M}, volume 10 %, two quasi-identifiers and Income"),
        table, "average relative error",
        (
            Claim("(ε,m) is below 15 % everywhere", (
                Inequality("at most", worst, "<", 0.15, unit=PERCENT),
            ), FEW),
            Claim("perturbation is far worse (here: at least twice as far off)", far,
                  "With a small ε much is retained." if ratio else "It keeps no such promise."),
            Claim(f"perturbation is impossible beyond ε = {limit:,}", (
                Inequality("possible up to", last, "≤", limit),
            ), "How far it goes depends on how incomes are spread; those of SAL are not to be "
               "had."),
            Claim("keeping people together loses less than round robin", (
                Inequality("error over round robin's, at best", min(kept), "<", 1),
                Inequality("at worst", max(kept), "<", 1),
            ), "Where hardly anybody is dealt, the two are the same.", beyond=True),
        ),
        log=True,
    )  # fmt: skip


def _by_m(settings: Settings, relative: bool) -> Outcome:
    """Figure 5: error by m and by the number of attributes asked about."""
    data, source = load_salaries(settings)
    rows = []
    for m in range(2, 8):
        made = _publish(data, Generalization(_promise(relative, m)))
        if made is not None:
            errors = {f"{w}D": measure_counts(data, made, w, settings) for w in (2, 3, 4)}
            rows.append({"m": m, **errors})
    table = pl.DataFrame(rows)
    most = PAPER_LIMIT[relative][1]
    worst = max(float(table[line].max()) for line in DIMENSIONS)  # type: ignore[arg-type]
    return Outcome(
        f"Figure 5{'b' if relative else 'a'}: error of counts by m",
        _about(data, source, f"ε = {SHARE if relative else EPSILON}, volume 10 %"),
        table, "average relative error",
        (
            Claim("the error grows with m", tuple(
                Inequality(f"{line}: at m = {table['m'][-1]}", table[line][-1], ">",
                           table[line][0], by=f"at m = {table['m'][0]}", unit=PERCENT)
                for line in DIMENSIONS
            ), "With so few people, every m blurs nearly everything."),
            Claim(f"it stays below {most:.0%}", (
                Inequality("at most", worst, "<", most, unit=PERCENT),
            ), FEW),
        ),
    )  # fmt: skip


def _by_volume(settings: Settings, relative: bool) -> Outcome:
    """Figure 6: error by the volume of the questions."""
    data, source = load_salaries(settings)
    made = publish(data, Generalization(_promise(relative)), insecure_seed=SEED)
    rows = [
        {
            "volume": volume,
            **{f"{w}D": measure_counts(data, made, w, settings, volume) for w in (2, 3, 4)},
        }
        for volume in (0.01, 0.05, 0.1, 0.15, 0.2)
    ]
    table = pl.DataFrame(rows)
    return Outcome(
        f"Figure 6{'b' if relative else 'a'}: error of counts by volume",
        _about(data, source, f"ε = {SHARE if relative else EPSILON}, m = {M}"),
        table, "average relative error",
        (
            Claim("the error falls as the volume grows", tuple(
                Inequality(f"{line}: at 20 %", table[line][-1], "<", table[line][0], by="at 1 %",
                           unit=PERCENT)
                for line in DIMENSIONS
            ), "With so few people, chance outweighs it."),
        ),
    )  # fmt: skip


def _scale(settings: Settings, relative: bool) -> Outcome:
    """Figure 7: seconds for the partition alone, best of three, by m or by ε (relative)."""
    data, source = load_salaries(settings)
    cases: list[tuple[float, Proximity]] = (
        [(float(e), _promise(True, epsilon=e)) for e in SPANS[True]]
        if relative
        else [(m, _promise(False, m)) for m in range(2, 8)]
    )
    rows = []
    for at, promise in cases:
        if _publish(data, Generalization(promise)) is not None:
            local = clock(3, split_and_deal, data, promise, dealing="local")
            dealt = clock(3, split_and_deal, data, promise, dealing="round-robin")
            rows.append({"ε" if relative else "m": at, LOCAL: min(local), DEALT: min(dealt)})
    table = pl.DataFrame(rows)
    slowest = max(float(table[line].max()) for line in (LOCAL, DEALT))  # type: ignore[arg-type]
    claims = [Claim("under a minute", (Inequality("at most", slowest, "<", 60, unit="s"),))]
    if not relative:
        claims.append(
            Claim("the cost drops as m grows", (
                Inequality(f"round robin at m = {table['m'][-1]}", table[DEALT][-1], "<",
                           table[DEALT][0], by=f"at m = {table['m'][0]}", unit="s"),
            ), "Too short to tell.")
        )  # fmt: skip
    return Outcome(
        f"Figure 7{'b' if relative else 'a'}: seconds for the partition",
        _about(data, source, f"m = {M}" if relative else f"ε = {EPSILON}"),
        table, "seconds", tuple(claims),
    )  # fmt: skip


def dealing(settings: Settings) -> Outcome:
    """Beyond the paper: what keeping people together saves, by m."""
    data, source = load_salaries(settings)
    rows = []
    for m in range(2, 8):
        promise = _promise(False, m)
        both = {
            LOCAL: _publish(data, Generalization(promise)),
            DEALT: _publish(data, Generalization(promise, dealing="round-robin")),
        }
        if None not in both.values():
            rows.append(
                {"m": m, **{line: measure_loss(r, data).ncp for line, r in both.items() if r}}
            )
    table = pl.DataFrame(rows)
    kept = (table[LOCAL] / table[DEALT]).to_list()
    return Outcome(
        "Not in the paper: loss of precision, people dealt in turn or kept together",
        _about(data, source, f"ε = {EPSILON}"),
        table, "NCP",
        (
            Claim("keeping people together loses less precision than round robin", (
                Inequality("loss over round robin's, at best", min(kept), "<", 1),
                Inequality("at worst", max(kept), "<", 1),
            ), beyond=True),
        ),
    )  # fmt: skip


EXPERIMENTS = [
    Experiment("proximity-epsilon", _by_epsilon, "Figure 4a: error of counts by ε.", False),
    Experiment("proximity-epsilon-relative", _by_epsilon, "Figure 4b: the same, relative.", True),
    Experiment("proximity-m", _by_m, "Figure 5a: error of counts by m.", False),
    Experiment("proximity-m-relative", _by_m, "Figure 5b: the same, relative.", True),
    Experiment("proximity-volume", _by_volume, "Figure 6a: error of counts by volume.", False),
    Experiment("proximity-volume-relative", _by_volume, "Figure 6b: the same, relative.", True),
    Experiment("proximity-scaling", _scale, "Figure 7a: seconds by m.", False),
    Experiment("proximity-scaling-relative", _scale, "Figure 7b: seconds by ε, relative.", True),
    Experiment("proximity-dealing", dealing),
]
