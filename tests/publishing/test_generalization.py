"""Generalization: labels, boxes and names, beyond what the contracts draw at random."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.publishing.partitioners.mondrian import mondrian
from discreet.table.schema import Attribute, Role, Schema, Type
from samples import microdata

QI, SENSITIVE = Role.QUASI_IDENTIFIER, Role.SENSITIVE


def test_nodes_of_one_name_get_labels_of_their_own() -> None:
    tree = dc.Taxonomy.from_paths(
        [
            ["a", "x", "P", "R"], ["b", "x", "P", "R"], ["c", "q", "x", "S"],
            ["d", "r", "x", "S"], ["e", "i", "k", "x"], ["f", "j", "m", "x"],
        ]
    )  # fmt: skip
    frame = pl.DataFrame({"a": [*"ab"] * 2 + [*"cd"] * 2 + [*"ef"] * 2, "s": ["k", "l"] * 6})
    schema = Schema(
        (Attribute("a", QI, Type.CATEGORY, taxonomy=tree), Attribute("s", SENSITIVE, Type.CATEGORY))
    )
    data = dc.read(frame, schema)
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(3), categories="ancestor"))
    assert sorted(release.recodings["a"].labels.values()) == [[*"ab"], [*"cd"], [*"ef"]]
    assert dc.audit(release, data).kept


def test_intervals_that_read_alike_get_labels_of_their_own() -> None:
    order = ("a", "b, c", "a, b", "c")
    frame = pl.DataFrame({"o": [*order] * 3, "s": ["k", "l"] * 6})
    schema = Schema(
        (Attribute("o", QI, Type.ORDINAL, order=order), Attribute("s", SENSITIVE, Type.CATEGORY))
    )
    release = dc.publish(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(6)))
    assert release.tables["generalized"]["o"].cast(pl.String).unique().len() == 2


def test_names_of_the_ends_of_intervals_are_refused() -> None:
    frame = pl.DataFrame({"age": [1, 2], "age_low": [1, 2]})
    with pytest.raises(dc.DiscreetError, match="a name that the release needs"):
        dc.publish(microdata(frame, ["age", "age_low"], []), dc.Generalization(dc.KAnonymity(1)))


def test_a_column_may_be_called_path(tmp_path: Path) -> None:
    data = microdata(pl.DataFrame({"path": [1, 2, 1, 2], "s": [*"xyxy"]}), ["path"], ["s"])
    folder = dc.publish(data, dc.Generalization(dc.KAnonymity(2))).write(tmp_path / "r")
    assert dc.audit(folder, data).kept


def test_a_taxonomy_built_by_a_rule_travels_with_the_release(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "s": ["11", "12", "21", "11"]})
    schema = Schema(
        (
            Attribute("a", QI, Type.INTEGER),
            Attribute("s", SENSITIVE, Type.CATEGORY, taxonomy=dc.Prefixes((1,))),
        )
    )
    method = dc.Generalization(dc.TCloseness(0.9, "hierarchical"))
    folder = dc.publish(dc.read(frame, schema), method).write(tmp_path / "r")
    assert dc.load(folder).schema["s"].taxonomy is not None


def test_values_crowded_in_one_place_of_a_wide_range_are_split_all_the_same() -> None:
    """Wide extents are scanned in bins; a crowd inside one bin must not stay together."""
    n = 60_000
    crowd = np.repeat(np.arange(100), 20)
    frame = pl.DataFrame(
        {
            "b": ["u"] * n + ["v"] * len(crowd),
            "a": [*range(100, 100 + n), *crowd],
        }
    )
    groups = mondrian(microdata(frame, ["b", "a"], []), dc.KAnonymity(5))
    assert len(np.unique(groups.labels[n:])) == 100
    lonely = pl.DataFrame({"a": [*crowd, 10**6, 2 * 10**6, *range(10**7, 10**7 + 3)]})
    groups = mondrian(microdata(lonely, ["a"], []), dc.KAnonymity(10))
    assert groups.count >= 90


def test_large_domains_of_categories_are_published_and_audited(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    codes = [f"{z:05}" for z in rng.integers(0, 3000, 6000)]
    frame = pl.DataFrame({"zip": codes, "s": rng.integers(0, 4, 6000)})
    data = microdata(frame, ["zip"], ["s"])
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(100)))
    folder = release.write(tmp_path / "r", format="csv")
    report = dc.audit(folder, data)
    assert report.kept and report.loss.ncp < 0.05
    assert any("…" in label for label in release.recodings["zip"].labels)


def test_a_seed_changes_nothing_where_nothing_is_drawn() -> None:
    data = microdata(pl.DataFrame({"a": [1, 2, 3, 4], "s": [*"xyxy"]}), ["a"], ["s"])
    method = dc.Generalization(dc.KAnonymity(2))
    one, two = (
        dc.publish(data, method, insecure_seed=seed).tables["generalized"] for seed in (1, None)
    )
    assert one.equals(two)
