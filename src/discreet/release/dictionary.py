"""Dictionary: what the labels of sets stand for, as two tables beside those about people.

``domains`` numbers the values of each attribute that is published as sets; ``labels`` gives the
numbers that each of its labels stands for. Runs of numbers are written by their ends, so that a
label for a whole domain, or for a branch of a taxonomy, is as short as one for a single value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from discreet.errors import DAMAGED, StoreError
from discreet.release.release import Recoding, Release, Transformation
from discreet.table.arrays import Ints

DOMAINS, LABELS = "domains", "labels"
COLUMNS = {
    DOMAINS: pl.Schema({"attribute": pl.String, "number": pl.Int64, "value": pl.String}),
    LABELS: pl.Schema({"attribute": pl.String, "label": pl.String, "numbers": pl.String}),
}
ABOUT = {
    DOMAINS: "One row per value of an attribute that is published as sets, under its number; "
    "'(missing)' stands for an empty cell of the source.",
    LABELS: "One row per label of such an attribute, with the numbers of the values it stands for: "
    "'0 4-6' means those that `domains` numbers 0, 4, 5 and 6.",
}
RUN = r"^(\d{1,9})(?:-(\d{1,9}))?$"
"""A number, or the first and the last of several in a row."""


def tabulate(release: Release) -> dict[str, pl.DataFrame]:
    """Write down what labels stand for; nothing if no attribute is published as sets."""
    taken = sorted(set(COLUMNS) & set(release.tables))
    if taken:
        raise StoreError(f"A table cannot be called {taken[0]!r}: it would explain labels.")
    domains, labels = [], []
    for name in _list_sets(release):
        recoding = release.recodings[name]
        members = [text for texts in recoding.labels.values() for text in texts]
        # an older release may spell a value in a label otherwise than in the domain
        values = list(dict.fromkeys([*recoding.domain, *members]))
        number_of = {text: number for number, text in enumerate(values)}
        numbers = np.array([number_of[text] for text in members], dtype=np.int64)
        runs = _write_runs(numbers, [len(texts) for texts in recoding.labels.values()])
        domains += [(name, number, value) for number, value in enumerate(values)]
        labels += [(name, label, run) for label, run in zip(recoding.labels, runs, strict=True)]
    if not domains:
        return {}
    return {
        title: pl.DataFrame(rows, schema=COLUMNS[title], orient="row")
        for title, rows in ((DOMAINS, domains), (LABELS, labels))
    }


def restore(release: Release, tables: Mapping[str, pl.DataFrame]) -> dict[str, Recoding]:
    """Read what labels stand for back into the recodings of a release, which lack it yet."""
    sets = _list_sets(release)
    recodings = dict(release.recodings)
    if sets or tables:
        _refuse_unreadable(tables, sets)
    for name in sets:
        numbered, listed = (tables[title].filter(attribute=name) for title in (DOMAINS, LABELS))
        values, labels = numbered["value"].to_list(), listed["label"].to_list()
        if numbered["number"].to_list() != list(range(len(values))):
            raise StoreError(
                f"{DOMAINS}: the values of {name!r} are not numbered from 0 on.", hint=DAMAGED
            )
        if len(set(values)) < len(values) or len(set(labels)) < len(labels):
            raise StoreError(
                f"{LABELS}: a label or a value of {name!r} is listed twice.", hint=DAMAGED
            )
        numbers, ends = _read_runs(listed["numbers"], len(values), name)
        members = [values[number] for number in numbers.tolist()]
        stands_for = {
            label: members[start:end]
            for label, start, end in zip(labels, [0, *ends[:-1]], ends, strict=True)
        }
        recodings[name] = replace(recodings[name], labels=stands_for, domain=values)
    return recodings


def refuse_unexplained(release: Release) -> None:
    """Refuse a release one of whose tables shows a label that stands for nothing."""
    for name in _list_sets(release):
        for title, table in release.carriers.items():
            if name not in table.columns:
                continue
            shown = table[name].drop_nulls().unique().cast(pl.String).to_list()
            unknown = sorted(set(shown) - set(release.recodings[name].labels))
            if unknown:
                raise StoreError(
                    f"{title}: nothing says what label {unknown[0]!r} of {name!r} stands for.",
                    hint=DAMAGED,
                )


def _list_sets(release: Release) -> list[str]:
    return [
        attribute.name
        for attribute in release.schema
        if release.recodings[attribute.name].transformation is Transformation.SET
    ]


def _refuse_unreadable(tables: Mapping[str, pl.DataFrame], sets: list[str]) -> None:
    for title, columns in COLUMNS.items():
        if title not in tables:
            raise StoreError(
                f"There is no table {title!r}, which says what labels stand for.", hint=DAMAGED
            )
        if tables[title].schema != columns:
            raise StoreError(f"{title}: its columns are not {', '.join(columns)}.", hint=DAMAGED)
        if any(tables[title].null_count().row(0)):
            raise StoreError(f"{title}: a cell is empty.", hint=DAMAGED)
        odd = sorted(set(tables[title]["attribute"].unique()) ^ set(sets))
        if odd:
            how = "not listed" if odd[0] in sets else "listed, but not published as sets"
            raise StoreError(f"{title}: {odd[0]!r} is {how}.", hint=DAMAGED)


def _write_runs(numbers: Ints, sizes: list[int]) -> list[str]:
    """Write lists of numbers, which come one after the other, each as runs."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    begins = np.ones(len(numbers), dtype=bool)
    begins[1:] = (np.diff(numbers) != 1) | (np.diff(owner) != 0)
    at = np.flatnonzero(begins)
    pairs = zip(numbers[at].tolist(), numbers[np.append(at, 0)[1:] - 1].tolist(), strict=True)
    runs = [f"{first}-{last}" if first < last else f"{first}" for first, last in pairs]
    ends = np.cumsum(np.bincount(owner[at], minlength=len(sizes))).tolist()
    return [" ".join(runs[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def _read_runs(written: pl.Series, size: int, name: str) -> tuple[Ints, list[int]]:
    """Read lists of numbers below ``size``, one after the other, and where each list ends."""
    runs = (
        pl.DataFrame({"owner": pl.int_range(len(written), eager=True), "run": written})
        .with_columns(pl.col("run").str.split(" "))
        .explode("run")
        .with_columns(pl.col("run").str.extract_groups(RUN))
        .unnest("run")
        .select("owner", first=pl.col("1").cast(pl.Int64), last=pl.col("2").cast(pl.Int64))
        .with_columns(pl.col("last").fill_null(pl.col("first")))
        .with_columns(length=pl.col("last") - pl.col("first") + 1)
    )
    sizes = runs.group_by("owner", maintain_order=True).agg(pl.col("length").sum())["length"]
    usable = not runs["first"].null_count() and (runs["length"] > 0).all()
    # who lists more numbers than there are lists one twice, and could fill all memory with them
    if not usable or (runs["last"] >= size).any() or (sizes > size).any():
        raise StoreError(
            f"{LABELS}: a label of {name!r} does not list numbers of values.", hint=DAMAGED
        )
    lengths = runs["length"].to_numpy()
    before = np.cumsum(lengths) - lengths
    numbers = np.arange(lengths.sum()) + np.repeat(runs["first"].to_numpy() - before, lengths)
    pairs = pl.Series(np.repeat(runs["owner"].to_numpy(), lengths) * size + numbers)
    if pairs.n_unique() < len(pairs):
        raise StoreError(f"{LABELS}: a label of {name!r} lists a value twice.", hint=DAMAGED)
    return numbers, np.cumsum(sizes.to_numpy()).tolist()
