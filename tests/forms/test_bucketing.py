"""Sliced tables that were tampered with: is there any parting of the people that shows them?"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import polars as pl

import discreet as dc
from samples import microdata


def is_possible(people: pl.DataFrame, table: pl.DataFrame, columns: list[list[str]]) -> bool:
    """Try every parting of the people into buckets."""
    buckets = table["bucket"].to_list()
    shown = [sorted(zip(buckets, table.select(c).rows(), strict=True)) for c in columns]
    rows = [people.select(c).rows() for c in columns]
    return any(
        all(
            sorted(zip(parting, own, strict=True)) == there
            for own, there in zip(rows, shown, strict=True)
        )
        for parting in set(permutations(buckets))
    )


def test_rows_of_a_column_moved_to_another_bucket_are_found_where_no_world_has_them() -> None:
    """With three columns of few values, also where every column by itself could be so."""
    rng = np.random.default_rng(8)
    columns = [["a"], ["b"], ["s"]]
    impossible = missed = wrong = joint = 0
    for _ in range(40):
        n = 6
        frame = pl.DataFrame({name: rng.choice(list("xyz"), n) for name in "abs"})
        data = microdata(frame, ["a", "b"], ["s"])
        method = dc.Slicing(dc.KAnonymity(2), columns=columns, buckets=2)
        release = dc.publish(data, method)
        table = release.tables["sliced"]
        for _ in range(5):
            name = str(rng.choice(["a", "b", "s"]))
            i, j = rng.choice(n, 2, replace=False)
            cells = table[name].to_list()
            cells[i], cells[j] = cells[j], cells[i]
            moved = table.with_columns(pl.Series(name, cells))
            forged = replace(release, tables={"sliced": moved})
            (view,) = forged.views
            found = [text for text in view.find_inconsistencies(view.match(data), data)
                     if "shuffled, it would be" not in text]  # fmt: skip
            possible = is_possible(frame, moved, columns)
            impossible += not possible
            missed += not possible and not found
            wrong += possible and bool(found)
            joint += any("shows all columns" in text for text in found)
    assert impossible > 20 and joint > 5
    assert missed == 0 and wrong == 0
