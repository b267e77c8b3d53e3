"""Reconstruction: the distribution a release stands for, and records drawn from it.

Tao, Chen, Xiao, Zhou, Zhang, TKDE, section 5: a record is anywhere in its box with the same
probability, and independently has a sensitive value as its batch, group or class has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from discreet.errors import QueryError, name_closest
from discreet.forms.perturbed.randomized_response import Replacement
from discreet.forms.sliced.view import read_columns
from discreet.release import Release
from discreet.sql.cells import MOST_CELLS, list_cells

PROBABILITY = "probability"
OWNER, COUNT, LABEL, VALUE = "#owner", "#count", "#label", "#value"


def reconstruct(release: Release, names: Sequence[str]) -> pl.DataFrame:
    """Give D*(Q, x) (Equation 7) for the named attributes: their values, and a probability.

    Probabilities add up to 1. The table with all these attributes and fewest others is used.

    >>> import discreet as dc
    >>> data = dc.datasets.adult(sensitive="occupation").head(300)
    >>> release = dc.publish(data, dc.Angelization(dc.FrequencyDiversity(3), k=5), seed=1)
    >>> frame = release.reconstruct(["sex", "occupation"])
    >>> frame.columns, round(frame["probability"].sum(), 9)
    (['sex', 'occupation', 'probability'], 1.0)
    """
    wanted = _check_names(release, names)
    if release.form == "sliced":
        return _rebuild_sliced(release, wanted)
    title, owners = _find_table(release, wanted)
    table = release.tables[title]
    sensitive = [name for name in wanted if name in release.schema.sensitive]
    shown = [name for name in wanted if name not in sensitive]
    records = (
        table.rename(owners).group_by([*shown, OWNER] if sensitive else shown).len(COUNT)
        if sensitive or shown
        else table.select(pl.len().alias(COUNT))
    )
    mass = records.with_columns(pl.col(COUNT).alias(PROBABILITY) / table.height)
    for name in shown:
        mass = _spread(release, title, name, mass)
    if sensitive:
        held = _hold(release, sensitive[0], title)
        _refuse_many(mass.height * held.height // max(held[OWNER].n_unique(), 1), wanted)
        mass = mass.join(held, on=OWNER).with_columns(pl.col(PROBABILITY) * pl.col("#share"))
    return _add_up(mass, wanted)


def _add_up(mass: pl.DataFrame, wanted: list[str]) -> pl.DataFrame:
    found = mass.group_by(wanted).agg(pl.col(PROBABILITY).sum())
    return found.sort(wanted).select([*wanted, PROBABILITY])


def _rebuild_sliced(release: Release, wanted: list[str]) -> pl.DataFrame:
    """In every bucket, the product of the columns' shares."""
    table = release.tables["sliced"]
    sizes = table.group_by("bucket").len(COUNT)
    mass = sizes.select("bucket", (pl.col(COUNT) / table.height).alias(PROBABILITY))
    for column in read_columns(release):
        asked = [name for name in column if name in wanted]
        if asked:
            held = table.group_by("bucket", *asked).len("#held").join(sizes, on="bucket")
            _refuse_many(mass.height * held.height // max(sizes.height, 1), wanted)
            share = pl.col(PROBABILITY) * pl.col("#held") / pl.col(COUNT)
            mass = mass.join(held, on="bucket").with_columns(share.alias(PROBABILITY))
            mass = mass.drop("#held", COUNT)
    mass = mass.drop("bucket")
    for name in wanted:
        mass = _spread(release, "sliced", name, mass)
    return _add_up(mass, wanted)


def sample(release: Release, n: int, seed: int | None = None) -> pl.DataFrame:
    """Draw ``n`` synthetic records from what the widest table stands for.

    They are nobody's: a record is drawn, then a place in its box and a sensitive value, each at
    random. They protect and tell as much as the release does, in a form any tool can read.

    >>> import discreet as dc
    >>> data = dc.datasets.adult(sensitive="occupation").head(300)
    >>> release = dc.publish(data, dc.Angelization(dc.FrequencyDiversity(3), k=5), seed=1)
    >>> release.sample(1000, seed=1).shape
    (1000, 8)
    """
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 0:
        raise QueryError(f"n = {n!r}: give the number of records to draw.")
    rng = np.random.default_rng(seed)
    if release.form in DRAWN:
        return DRAWN[release.form](release, n, rng)
    title, shown = max(release.shown.items(), key=lambda item: len(item[1]))
    _, owner = _find_table(release, shown)
    table = release.tables[title].rename(owner)
    drawn = table[rng.integers(0, table.height, n)]
    columns = [_draw_cells(release, title, name, drawn[name], rng) for name in shown]
    for name in release.schema.sensitive:
        held = _hold(release, name, title).sort(OWNER, name)
        columns.append(_draw_values(held, name, drawn[OWNER], rng))
    return pl.DataFrame(columns)


def _relink(release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw rows of a sliced table, and for every column a row of the same bucket."""
    table = release.tables["sliced"].sort("bucket", maintain_order=True)
    _, first, sizes = np.unique(table["bucket"].to_numpy(), return_index=True, return_counts=True)
    bucket = rng.choice(len(sizes), n, p=sizes / sizes.sum())
    columns = [
        table.select(column)[first[bucket] + rng.integers(0, sizes[bucket])]
        for column in map(list, read_columns(release))
    ]
    drawn = pl.concat(columns, how="horizontal")
    return pl.DataFrame(
        [_draw_cells(release, "sliced", n, drawn[n], rng) for n in release.schema.names]
    )


def _take_as_shown(release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw rows of a rank-swapped table: what it shows is read as if it were true."""
    table = release.tables["swapped"].select(release.schema.names)
    return table[rng.integers(0, table.height, n)]


def _undo_perturbation(release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw rows of a perturbed table, and of each a number that may be the person's own.

    How often numbers are people's own is how often they are shown, less what is drawn at random. By
    that, the number shown is kept as often as it is the person's, and else another is drawn.
    """
    (name,) = release.schema.sensitive
    drawn = Replacement.read(release)
    p = float(drawn.retention)
    table = release.tables["perturbed"].select(release.schema.names)
    values = table.group_by(name).len(COUNT).sort(name)
    own = np.maximum(values[COUNT].to_numpy() / table.height - (1 - p) / drawn.size, 0)
    own /= max(own.sum(), 1e-300)
    rows = table[rng.integers(0, table.height, n)]
    at = values[name].search_sorted(rows[name]).to_numpy()
    kept = p * own[at] / (p * own[at] + (1 - p) / drawn.size)
    another = rng.choice(len(own), n, p=own) if own.sum() > 0 else at
    place = np.where(rng.random(n) < kept, at, another)
    return rows.with_columns(values[name].gather(place).alias(name))


DRAWN = {"perturbed": _undo_perturbation, "sliced": _relink, "swapped": _take_as_shown}
"""Forms whose records are not a place in a box and a value of a group."""


def _check_names(release: Release, names: Sequence[str]) -> list[str]:
    known = [*release.schema.quasi_identifiers, *release.schema.sensitive]
    for name in names:
        if name not in known:
            raise QueryError(
                f"There is no {name!r} to rebuild.", hint=name_closest(str(name), known)
            )
        if name == PROBABILITY:
            raise QueryError(
                f"An attribute called {name!r} leaves no name for the result.",
                hint="Rename it before publishing, or draw records: release.sample(n).",
            )
    sensitive = [name for name in names if name in release.schema.sensitive]
    if not names or len(set(names)) < len(names) or len(sensitive) > 1:
        raise QueryError(
            "Give different attributes, at most one of them sensitive.",
            hint=f"Known: {', '.join(known)}.",
        )
    return list(names)


def _find_table(release: Release, wanted: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Give the table to read, and which of its columns tells whose values a record may have."""
    owners = {"batched": "batch", "generalized": "class", "permuted": "group"}
    if release.form not in owners:
        raise QueryError(
            f"A {release.form} release does not say how its values are distributed.",
            hint="Read its tables directly: release.tables.",
        )
    needed = [name for name in wanted if name in release.schema.quasi_identifiers]
    return release.find_table(needed), {owners[release.form]: OWNER}


def _hold(release: Release, name: str, title: str) -> pl.DataFrame:
    """Per batch, group or class the share of each sensitive value."""
    if "batches" in release.tables:
        counts = release.tables["batches"].select(
            pl.col("batch").alias(OWNER), name, pl.col("count").alias(COUNT)
        )
    else:
        _, owner = _find_table(release, [])
        counts = release.tables[title].rename(owner).group_by(OWNER, name).len(COUNT)
    share = (pl.col(COUNT) / pl.col(COUNT).sum().over(OWNER)).alias("#share")
    return counts.select(OWNER, name, share)


def _spread(release: Release, title: str, name: str, mass: pl.DataFrame) -> pl.DataFrame:
    """Replace a label by the values it stands for, each with its part of the probability."""
    if not release.recodings[name].is_blurred:
        return mass
    cells = list_cells(release, title, name).select(
        pl.col("label").cast(pl.String).alias(LABEL),
        pl.col("value").alias(VALUE),
        pl.len().over("label").alias("#cells"),
    )
    mass = mass.rename({name: LABEL}).with_columns(pl.col(LABEL).cast(pl.String))
    sizes = cells.group_by(LABEL).len("#size")
    _refuse_many(int(mass.join(sizes, on=LABEL)["#size"].sum()), [name])
    part = (pl.col(PROBABILITY) / pl.col("#cells")).alias(PROBABILITY)
    spread = mass.join(cells, on=LABEL).with_columns(part).drop(LABEL, "#cells")
    others = [column for column in spread.columns if column != PROBABILITY]
    return spread.group_by(others).agg(pl.col(PROBABILITY).sum()).rename({VALUE: name})


def _refuse_many(cells: int, names: Sequence[str]) -> None:
    if cells > 10 * MOST_CELLS:
        raise QueryError(
            f"The distribution of {', '.join(names)} has {cells:,} cells.",
            hint="Ask for fewer attributes, or draw records: release.sample(n).",
        )


def _draw_cells(
    release: Release, title: str, name: str, labels: pl.Series, rng: np.random.Generator
) -> pl.Series:
    """Draw a value of each record's box."""
    if not release.recodings[name].is_blurred:
        return labels
    cells = list_cells(release, title, name).sort("label", maintain_order=True)
    runs = cells.group_by("label", maintain_order=True).len()
    place = {label: i for i, label in enumerate(runs["label"].cast(pl.String))}
    sizes = runs["len"].to_numpy().astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    which = np.array([place[label] for label in labels.cast(pl.String)], dtype=np.int64)
    picked = starts[which] + rng.integers(0, sizes[which])
    return cells["value"].gather(picked).alias(name)


def _draw_values(
    held: pl.DataFrame, name: str, owners: pl.Series, rng: np.random.Generator
) -> pl.Series:
    """Draw a sensitive value of each record's batch, group or class."""
    owner = held[OWNER].to_numpy()
    ends = np.cumsum(held["#share"].to_numpy())
    starts = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    numbers = owner[starts]
    before = np.concatenate([[0.0], ends])[starts]
    lasts = np.append(starts[1:], len(owner)) - 1
    which = np.searchsorted(numbers, owners.to_numpy())
    drawn = np.searchsorted(ends, before[which] + rng.random(len(which)), side="right")
    return held[name].gather(np.clip(drawn, starts[which], lasts[which])).alias(name)


__all__ = ["reconstruct", "sample"]
