"""The experiments on sequential releases: Wang and Fung, KDD 2006, section 6.

Adult, complete rows. T1 (the tax office): six categorical attributes, in Set B six numbers as well,
and the class, income. T2 (the immigration office), published before as it is: marital status,
relationship and sex, which both have, race and native country. A pruned decision tree learns income
from the generalized rows of the training part and is tried on those of the testing part. A file of
trees, one per attribute, takes the place of the embedded taxonomies, which are not the paper's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial

import numpy as np
import polars as pl

from discreet.datasets import adult_frame, adult_taxonomies
from discreet.errors import PromiseError
from discreet.evaluate.mining import classify
from discreet.experiments.claims import PERCENT, Claim, Inequality, rising
from discreet.experiments.outcome import Experiment, Outcome, Settings
from discreet.principles import KAnonymity, Principle, XYAnonymity, XYLinkability
from discreet.publishing import publish
from discreet.publishing.methods.generalization import Generalization
from discreet.publishing.methods.sequential import Sequential
from discreet.publishing.methods.x_groups import Link
from discreet.publishing.partitioners.specialization import Specialized
from discreet.release import Release
from discreet.table.microdata import Microdata, read
from discreet.table.schema import Schema
from discreet.table.taxonomy import Taxonomy

COMMON = ["marital-status", "relationship", "sex"]
TAX = [*COMMON, "education", "occupation", "workclass"]
TOP_B = ["capital-gain", "age", "marital-status", "education-num", "relationship",
         "hours-per-week", "sex"]  # fmt: skip
NUMBERS = ["age", "capital-gain", "capital-loss", "education-num", "fnlwgt", "hours-per-week"]
THERE = [*COMMON, "race", "native-country"]
CLASS, TRAINING = "income", 32_561
OTHER_TREES = "The embedded taxonomies are not the paper's; give its trees by --data."
OTHER_CUTS = "Numbers are split in other places here."
SETS = {"a": TAX, "b": [*NUMBERS, *TAX]}


@cache
def load_people(names: tuple[str, ...], settings: Settings) -> tuple[Microdata, int]:
    """Take the complete rows of Adult, the training part first; say how many that has."""
    train, test = split_adult(settings)
    both = pl.concat([train, test]).select(*names, CLASS)
    return read_adult(both, list(names), [CLASS], settings), train.height


def split_adult(settings: Settings) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Take the complete rows of both parts of Adult."""
    frame = adult_frame()
    train, test = frame.head(TRAINING).drop_nulls(), frame.slice(TRAINING).drop_nulls()
    return (train.head(4000), test.head(2000)) if settings.quick else (train, test)


def read_adult(
    frame: pl.DataFrame, known: list[str], sensitive: list[str], settings: Settings
) -> Microdata:
    """Read a table with the embedded taxonomies, or with those of a file."""
    trees = adult_taxonomies()
    if settings.source is not None:
        trees = {
            name: Taxonomy.read(settings.source, attribute=name.replace("-", "_"))
            for name in trees
            if name in known
        }
    schema = Schema.infer(frame, quasi_identifiers=known, sensitive=sensitive)
    return read(frame, schema.changed(*(replace(a, taxonomy=trees.get(a.name)) for a in schema)))


@cache
def publish_before(settings: Settings) -> Release:
    """T2, as it is."""
    there = read_adult(pl.concat(split_adult(settings)).select(THERE), THERE, [], settings)
    return publish(there, Generalization(KAnonymity(1)))


def learn(frame: pl.DataFrame, training: int) -> float:
    """The error, in percent, of a tree trained on the first rows and tried on the rest."""
    found = classify(frame[:training], frame[training:], CLASS, ("pruned tree",))
    return 100 * (1 - found["pruned tree"])


def show_cut(data: Microdata, found: Specialized, names: Sequence[str]) -> pl.DataFrame:
    """Everyone's row as the cut shows it; intervals by their lower end."""
    frame = data.to_polars()
    hierarchies = found.hierarchies
    for a, name in enumerate(names):
        low = np.array(hierarchies.low)[found.nodes[:, a]]
        if hierarchies.names[hierarchies.roots[a]] is None:
            frame = frame.with_columns(data.domains[name].series().gather(low).alias(name))
        else:
            frame = frame.with_columns(pl.Series(name, found.nodes[:, a].astype(str)))
    return frame


def distort(data: Microdata, found: Specialized, names: Sequence[str]) -> tuple[float, float]:
    """Units of distortion per record: steps up taxonomies, and widths of intervals."""
    steps, widths = 0.0, 0.0
    hierarchies = found.hierarchies
    for a, name in enumerate(names):
        node, domain = found.nodes[:, a], data.domains[name]
        low, high = np.array(hierarchies.low)[node], np.array(hierarchies.high)[node]
        if domain.taxonomy is None:
            values = np.asarray(domain.values, dtype=np.float64)
            widths += float(((values[high] - values[low]) / (values[-1] - values[0])).mean())
            continue
        depth = {(n.low, n.high - 1): n.depth for n in domain.taxonomy.nodes}
        leaf = np.array([depth[code, code] for code in range(domain.size)])
        up = leaf[data.codes[name]] - [depth[run] for run in zip(low, high, strict=True)]
        steps += float(np.mean(up))
    return steps, widths


class SequentialTrial:
    """One set, with what does not depend on the promise."""

    def __init__(self, kind: str, settings: Settings) -> None:
        self.kind, self.names, self.quick = kind, SETS[kind], settings.quick
        self.data, self.training = load_people(tuple(self.names), settings)
        self.before = publish_before(settings)
        frame = self.data.to_polars()
        self.baseline = learn(frame, self.training)
        self.unjoined = learn(frame.drop(COMMON), self.training)
        self.sizes = (40, 200) if settings.quick else (40, 80, 120, 160, 200)

    def about(self) -> str:
        """On which data."""
        return f"Adult (Set {self.kind.upper()}), {self.data.n:,} people"

    def run(self, *principles: Principle) -> tuple[float, float, float]:
        """Give error and both distortions under a promise."""
        method = Sequential(principles=principles, earlier=[self.before], target=CLASS)
        found = method.specialize(self.data)
        names = method.generalized(self.data)
        error = learn(show_cut(self.data, found, names), self.training)
        return error, *distort(self.data, found, names)

    def top(self, n: int) -> list[str]:
        """X with the n attributes that tell most about income, and all that T2 has."""
        ranked = TAX if self.kind == "a" else TOP_B
        return list(dict.fromkeys([*ranked[:n], *THERE]))

    def average(self, make: Callable[[int], Principle]) -> tuple[float, float, float]:
        """The mean over the thresholds k."""
        found = np.array([self.run(make(k)) for k in self.sizes])
        error, steps, widths = found.mean(axis=0)
        return float(error), float(steps), float(widths)


@cache
def _measure(kind: str, settings: Settings) -> tuple[SequentialTrial, pl.DataFrame]:
    trial = SequentialTrial(kind, settings)
    ranks = (3, 6) if trial.quick else (3, 4, 5, 6) if trial.kind == "a" else (3, 5, 7)
    everything = trial.average(KAnonymity)
    rows = []
    for n in ranks:
        known = trial.top(n)
        people, pairs = (
            trial.average(partial(XYAnonymity, known, kind)) for kind in ("people", "pairs")
        )
        rows.append({"top": n, "BLE": trial.baseline, "RJE": trial.unjoined, "KAE": everything[0],
                     "XYE": people[0], "XYE(row)": pairs[0], "KAD": everything[1],
                     "XYD": people[1], "KAD numbers": everything[2],
                     "XYD numbers": people[2]})  # fmt: skip
    return trial, pl.DataFrame(rows)


def _differences(table: pl.DataFrame, one: str, other: str) -> list[float]:
    return [float(x) for x in (table[one] - table[other]).to_list()]


def errors(
    settings: Settings, kind: str, figure: str, paper: tuple[float, float, float, float]
) -> Outcome:
    """Figures 2 and 4: errors under (X,Y)-anonymity, mean over k."""
    trial, table = _measure(kind, settings)
    ble, rje, kae, more = paper
    lost = _differences(table, "XYE", "BLE")
    above, said = (max(lost), "at most") if kind == "a" else (float(np.mean(lost)), "on average")
    rows = max(_differences(table, "XYE", "XYE(row)"))
    small = "Few people: errors vary by a percent." if settings.quick else ""
    return Outcome(
        f"{figure}: error of a tree that learns income, by what X has",
        trial.about() + ", mean over k",
        table.select("top", "BLE", "RJE", "KAE", "XYE", "XYE(row)"), "error, %",
        (
            *(
                Claim(f"{line} = {printed}", (
                    Inequality("found", table[line][0], "≈", printed, within=0.5),
                ), small or _why_other_trees(settings))
                for line, printed in (("BLE", ble), ("RJE", rje), ("KAE", kae))
            ),
            Claim(f"XYE - BLE is {said} {more}", (Inequality(said, above, "≤", more),),
                  small or _why_other_trees(settings)),
            Claim("XYE - XYE(row) is small (here: no more than 0.5)", (
                Inequality("at most", rows, "≤", 0.5),
            ), "Counting rows of the join allows finer tables here."),
        ),
    )  # fmt: skip


def _why_other_trees(settings: Settings) -> str:
    return OTHER_TREES if settings.source is None else OTHER_CUTS


def distortions(settings: Settings, kind: str, figure: str) -> Outcome:
    """Figures 1 and 3: distortion under (X,Y)-anonymity, mean over k."""
    trial, table = _measure(kind, settings)
    lines = ["KAD", "XYD"] if kind == "a" else ["KAD", "XYD", "KAD numbers", "XYD numbers"]
    gains = [round(gain, 9) for gain in _differences(table, "KAD", "XYD")]
    less = [Inequality("KAD − XYD at least", min(gains), "≥", 0, unit="units")]
    if kind == "b":
        widths = min(_differences(table, "KAD numbers", "XYD numbers"))
        less.append(Inequality("of numbers at least", widths, "≥", 0, unit="widths"))
    claims = [Claim("no more distortion than under k-anonymity", tuple(less))]
    if kind == "a":
        claims += [
            Claim("KAD = 9.23", (
                Inequality("found", table["KAD"][0], "≈", 9.23, within=0.5),
            ), _why_other_trees(settings)),
            Claim("KAD - XYD is 7.16 at most", (
                Inequality("found", max(gains), "≈", 7.16, within=0.5),
            ), _why_other_trees(settings)),
            Claim("KAD - XYD is 1 with all six attributes in X", (
                Inequality("found", gains[-1], "≈", 1, within=0.1),
            ), "With Y = K1 and all of T1 in X this is k-anonymity of T1 by definition, so the "
               "same table comes out; the paper's own figures differ."),
        ]  # fmt: skip
    return Outcome(
        f"{figure}: distortion by what X has",
        trial.about() + ", mean over k", table.select("top", *lines), "units per record",
        tuple(claims),
    )  # fmt: skip


def misjudge(trial: SequentialTrial, known: list[str], k: int) -> float:
    """Of X-groups with k rows of the join, how many, in percent, have fewer people than that."""
    rows, people = (XYAnonymity(x=known, y=kind, k=k) for kind in ("pairs", "people"))
    method = Sequential(principles=[rows], earlier=[trial.before], target=CLASS)
    history = method.read_earlier(trial.data)
    found, names = method.specialize(trial.data, history), method.generalized(trial.data)
    tree = found.hierarchies
    runs = np.array(tree.low)[found.nodes], np.array(tree.high)[found.nodes]
    counted, alone = (
        Link(part, trial.data, history, tuple(names)).list_groups(*runs) for part in (rows, people)
    )
    return 100 * float((alone.sizes < k)[counted.sizes >= k].mean())


def row_counts(settings: Settings) -> Outcome:
    """Section 6.1: X-groups that are safe by rows of the join, and not by people, Set A."""
    trial = SequentialTrial("a", settings)
    lines = {"all of T2": trial.top(6)}
    lines |= {f"Top{n} and common": TAX[:n] for n in ((3, 6) if settings.quick else (3, 4, 6))}
    table = pl.DataFrame(
        [{"k": k, **{line: misjudge(trial, known, k) for line, known in lines.items()}}
         for k in trial.sizes]
    )  # fmt: skip
    here = float(table["all of T2"][-1])
    most = max(float(table[line].max()) for line in lines if line != "all of T2")  # type: ignore[arg-type]
    return Outcome(
        "Section 6.1: X-groups of k rows or more that have fewer than k people, by what X has",
        trial.about(), table, "of X-groups, %",
        (
            Claim("5.5 % with Top6, k = 200 and all of T2 in X", (
                Inequality("found", here / 100, "≈", 0.055, unit=PERCENT, within=0.01),
            ), "Every partition of T1 meets some combination of T2 that one record has: as many "
               "rows as people, so that the fewest rows are the fewest people."),
            Claim("k rows do not mean k people", (
                Inequality("where X has of T2 only what both have, at most", most / 100, ">", 0,
                           unit=PERCENT),
            ), "Few people."),
        ),
    )  # fmt: skip


def linkability(
    settings: Settings, kind: str, figure: str, more: float, said: str, better: str
) -> Outcome:
    """Errors under (X,Y)-linkability, mean over k; of the paper, XYE - BLE and RSE - XYE."""
    trial = SequentialTrial(kind, settings)
    rows = []
    for n in (1, 2) if settings.quick else (1, 2, 3, 4):
        told = TAX[:n]
        known = [name for name in trial.names if name not in told]
        scores = []
        for k in ("0.3", "0.9") if settings.quick else ("0.1", "0.3", "0.5", "0.7", "0.9"):
            parts = [
                XYLinkability(x=known, y=[name], k=k, values=list_rare(trial.data, name))
                for name in told
            ]
            with suppress(PromiseError):
                scores.append(trial.run(*parts)[0])
        removed = learn(trial.data.to_polars().drop(told), trial.training)
        if scores:
            rows.append({"top": n, "BLE": trial.baseline, "RJE": trial.unjoined, "RSE": removed,
                         "XYE": float(np.mean(scores))})  # fmt: skip
    table = pl.DataFrame(rows)
    gaps = _differences(table, "XYE", "BLE")
    above = max(gaps) if said == "at most" else float(np.mean(gaps))
    saved = _differences(table, "RSE", "XYE")
    claims = [
        Claim(f"XYE - BLE is {said} {more}", (Inequality(said, above, "≤", more),),
              _why_other_trees(settings)),
        Claim("better than removing the join attributes", (
            Inequality("RJE − XYE at least", min(_differences(table, "RJE", "XYE")), ">", 0),
        ), "Rare values of several attributes together leave less."),
    ]  # fmt: skip
    if kind == "a":
        claims.append(Claim(f"better than removing Y: {better}", (
            rising("RSE − XYE", saved), Inequality("at the end", saved[-1], ">", 0),
        )))  # fmt: skip
    else:
        claims.append(Claim(f"better than removing Y: {better}", (
            Inequality("RSE − XYE at least", min(saved), ">", 0),
            Inequality("at most", max(saved), ">", 0),
        ), "What one attribute tells, the others tell here, too: it can be removed."))  # fmt: skip
    return Outcome(
        f"{figure}: error of a tree that learns income, by what Y has",
        trial.about() + ", mean over the k that can be kept", table, "error, %", tuple(claims),
    )  # fmt: skip


def list_rare(data: Microdata, name: str) -> list[str]:
    """The half of the values that fewest people have."""
    order = np.argsort(np.bincount(data.codes[name], minlength=data.domains[name].size))
    return [data.domains[name].texts[code] for code in order[: len(order) // 2]]


EXPERIMENTS = [
    Experiment("sequential-distortion-a", distortions,
               "Figure 1: distortion under (X,Y)-anonymity, Set A.", "a", "Figure 1"),
    Experiment("sequential-error-a", errors, "Figure 2: errors under (X,Y)-anonymity, Set A.",
               "a", "Figure 2", (17.5, 22.3, 18.4, 0.9)),
    Experiment("sequential-row-counts", row_counts),
    Experiment("sequential-distortion-b", distortions,
               "Figure 3: distortion under (X,Y)-anonymity, Set B.", "b", "Figure 3"),
    Experiment("sequential-error-b", errors, "Figure 4: errors under (X,Y)-anonymity, Set B.",
               "b", "Figure 4", (14.7, 17.3, 18.2, 0.75)),
    Experiment("sequential-linkability-a", linkability,
               "Figure 6: errors under (X,Y)-linkability, Set A.", "a", "Figure 6",
               0.7, "at most", "the more so the more attributes Y has"),
    Experiment("sequential-linkability-b", linkability,
               "Figure 7: errors under (X,Y)-linkability, Set B.", "b", "Figure 7",
               1.1, "on average", "by 0.1 to 1.9"),
]  # fmt: skip
