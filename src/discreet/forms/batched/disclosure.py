"""What batched tables leave possible about each person, all of them together."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from discreet.forms.batched.held import BATCH, COUNT, find_told, list_told
from discreet.forms.batched.projections import refers_to_batches
from discreet.forms.disclosure import (
    SET,
    WEIGHT,
    Disclosure,
    Observed,
    list_values,
    merge_sets,
    round_weights,
)
from discreet.forms.matches import Matches
from discreet.release.labels import read_codes
from discreet.table.microdata import representatives, row_ids

if TYPE_CHECKING:
    from discreet.forms.batched.view import BatchedView


def disclose_batches(first: BatchedView, found: list[Matches], observed: Observed) -> Disclosure:
    """Find the batches that all tables leave possible, and mix what they hold."""
    of = np.stack([matches.set_of for matches in found], axis=1)
    covered = (of >= 0).all(axis=1)
    number = row_ids(list(of[covered].T), int(covered.sum()))
    cells = of[covered][representatives(number)] if covered.any() else of[:0]
    place = np.full(len(of), -1, dtype=np.int64)
    place[covered] = number
    linked = [c for c, matches in enumerate(found) if refers_to_batches(matches)]
    views = {c: cast("BatchedView", found[c].view) for c in linked}
    rows = [
        view.list_batches(found[c], cells[:, c]).rename({"w": f"w{c}"}) for c, view in views.items()
    ]
    joined = reduce(lambda one, other: one.join(other, on=["set", "batch"]), rows)
    weight = reduce(lambda one, other: one * other, (pl.col(f"w{c}") for c in linked))
    joined = joined.select("set", "batch", weight.alias("w")).sort("set", "batch")
    shown = [m.records[cells[:, c]] for c, m in enumerate(found)]
    records = np.asarray(np.minimum.reduce(shown), dtype=np.int64)
    told = [
        [name for name in names if name in observed.hidden]
        for names in list_told(first.release).values()
    ]
    if not any(told) or not joined.height:
        return Disclosure(place, records, [])
    batch, owner = joined["batch"].to_numpy(), joined["set"].to_numpy()
    several = np.bincount(owner, minlength=len(cells)) > 1
    only = np.full(len(cells), -1, dtype=np.int64)
    only[owner] = np.where(several[owner], -1, batch)
    sets, place, records = merge_sets(place, records, only)
    chosen = np.isin(owner, sets)
    batch, alone = batch[chosen], ~several[owner[chosen]]
    owner = np.argsort(sets)[np.searchsorted(sets, owner[chosen], sorter=np.argsort(sets))]
    likely = joined["w"].to_numpy()[chosen] / first.batch_sizes[batch]
    times, frames = round_weights(likely, alone), []
    for names in (names for names in told if names):
        if len(names) == 1:
            bags = first.held[names[0]].mix(batch, owner, times, len(sets))
            frames.append(list_values(bags, observed.targets[names[0]].domain, names[0]))
        else:
            options = pl.DataFrame({SET: owner, "#batch": batch, "#times": times})
            frames.append(_list_together(first, observed, names, options))
    return Disclosure(place, records, frames)


def _list_together(
    view: BatchedView, observed: Observed, names: list[str], options: pl.DataFrame
) -> pl.DataFrame:
    """List what batches hold of several attributes together, set by set."""
    release = view.release
    table = release.tables[str(find_told(release, names))]
    codes = {n: read_codes(release, table, n, observed.targets[n].domain) for n in names}
    number = table[release.own(BATCH)].rank("dense").cast(pl.Int64) - 1
    held = pl.DataFrame({"#batch": number, "#count": table[release.own(COUNT)], **codes})
    weight = (pl.col("#count") * pl.col("#times")).sum().alias(WEIGHT)
    frame = options.join(held, on="#batch").group_by(SET, *names).agg(weight)
    return frame.filter(*(pl.col(name) >= 0 for name in names))
