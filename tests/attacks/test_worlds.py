"""Attacks on tiny tables: all worlds are enumerated, nothing is estimated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import discreet as dc
from samples import microdata, reseal
from worlds import posteriors

ROW = st.tuples(st.integers(1, 5), st.sampled_from("FM"), st.sampled_from(["flu", "gout", "flu2"]))
TABLE = st.lists(ROW, min_size=2, max_size=6)


def as_data(rows: list[tuple[int, str, str]]) -> dc.Microdata:
    frame = pl.DataFrame(rows, schema=["age", "sex", "disease"], orient="row")
    return microdata(frame, ["age", "sex"], ["disease"])


def published_from_disk(data: dc.Microdata, promise: dc.Principle, folder: Path) -> dc.Release:
    try:
        release = dc.publish(data, dc.Generalization(promise))
    except dc.errors.PromiseError:
        assume(False)
        raise
    return dc.load(release.write(folder / "release", format="csv", overwrite=True))


@settings(max_examples=40, deadline=None)
@given(rows=TABLE)
def test_no_world_gives_a_belief_above_the_promise(
    rows: list[tuple[int, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = as_data(rows)
    release = published_from_disk(data, dc.FrequencyDiversity(2), tmp_path_factory.mktemp("w"))
    for belief in posteriors(release, data.to_polars().to_dicts(), "disease"):
        assert max(belief.values()) <= Fraction(1, 2)


@settings(max_examples=40, deadline=None)
@given(rows=TABLE)
def test_the_auditor_believes_what_the_worlds_say(
    rows: list[tuple[int, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = as_data(rows)
    release = published_from_disk(data, dc.KAnonymity(2), tmp_path_factory.mktemp("w"))
    report = dc.audit(release, data)
    people = data.to_polars().to_dicts()
    beliefs = posteriors(release, people, "disease")
    for person, belief in enumerate(beliefs):
        assert report.beliefs["disease"][person] == pytest.approx(float(max(belief.values())))
        truth = belief.get(people[person]["disease"], Fraction(0))
        assert report.truths["disease"][person] == pytest.approx(float(truth))
    assert report.worst == max(max(belief.values()) for belief in beliefs)


def test_auditing_the_original_reports_certainty() -> None:
    data = as_data([(1, "F", "flu"), (2, "M", "gout"), (3, "F", "flu2"), (3, "M", "flu")])
    original = dc.publish(data, dc.Generalization(dc.KAnonymity(1)))
    report = dc.audit(original, data, principle=dc.KAnonymity(2))
    assert report.max_belief == 1.0
    assert report.breaches == 4
    assert not report.kept
    assert report.identity.prosecutor == 1


def test_homogeneity_is_seen_by_the_auditor_though_k_anonymity_allows_it() -> None:
    data = as_data([(1, "F", "flu"), (1, "F", "flu"), (5, "M", "gout"), (5, "M", "flu")])
    report = dc.audit(dc.publish(data, dc.Generalization(dc.KAnonymity(2))), data)
    assert report.kept
    assert report.max_belief == 1.0
    assert "lets everyone learn it" in report.promise.leaves_open[0]


def test_overlapping_boxes_are_believed_as_one_bag(tmp_path: Path) -> None:
    """A release by someone else, whose boxes overlap: both fit the person aged 3."""
    data = as_data([(1, "F", "flu"), (3, "F", "gout"), (3, "F", "flu"), (5, "F", "gout")])
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(4)))
    folder = release.write(tmp_path / "r", format="csv")
    table = pl.read_csv(folder / "generalized.csv").sort("disease")
    table = table.with_columns(
        pl.Series("class", [0, 0, 1, 1]),
        pl.Series("age", ["[1, 3]"] * 2 + ["[3, 5]"] * 2),
        pl.Series("age_low", [1, 1, 3, 3]),
        pl.Series("age_high", [3, 3, 5, 5]),
    )
    table.write_csv(folder / "generalized.csv")
    report = dc.audit(reseal(folder), data)
    assert report.candidates.tolist() == [2, 4, 4, 2]
    assert report.beliefs["disease"].tolist() == [1.0, 0.5, 0.5, 1.0]
    assert report.breaches == 4
    assert report.findings == ["boxes overlap: 2 people are covered by more than one group"]


def test_minimality_is_a_known_limit_and_is_said_so() -> None:
    """Who knows the algorithm knows that an unsplit table had no admissible split.

    Ages 1..7 with the bag {a,a,a,b,c,d,e} under l = 2. A publisher that tries only the middle
    cut gives itself away: among the worlds in which it must refuse, the first person has `a`
    with 9/17 > 1/2. This one tries every cut, and here that keeps the belief at the promise; in
    general it is no proof, so every release says that it is not one.
    """
    worlds = sorted(set(permutations("aaabcde")))

    def refuses(world: tuple[str, ...], cuts: Sequence[int]) -> bool:
        return not any(
            all(2 * max(Counter(side).values()) <= len(side) for side in (world[:c], world[c:]))
            for c in cuts
        )

    def believe(stuck: list[tuple[str, ...]]) -> list[Fraction]:
        return [Fraction(sum(w[person] == "a" for w in stuck), len(stuck)) for person in range(7)]

    middle = [world for world in worlds if refuses(world, [3])]
    assert believe(middle) == [Fraction(9, 17)] * 3 + [Fraction(6, 17)] * 4
    every = [world for world in worlds if refuses(world, range(2, 6))]
    assert max(believe(every)) == Fraction(1, 2)
    for world in worlds[::40]:
        frame = pl.DataFrame({"age": range(1, 8), "disease": list(world)})
        release = dc.publish(
            microdata(frame, ["age"], ["disease"]), dc.Generalization(dc.FrequencyDiversity(2))
        )
        one_group = release.tables["generalized"]["class"].max() == 0
        assert one_group == refuses(world, range(2, 6))
    assert any("how the groups were chosen" in text for text in release.promise.leaves_open)


def test_composition_of_two_releases_is_a_known_limit_and_is_said_so() -> None:
    data = as_data([(1, "F", "flu"), (2, "F", "gout"), (3, "F", "flu2"), (4, "F", "flu")])
    release = dc.publish(data, dc.Generalization(dc.DistinctDiversity(2)))
    assert any("joining this release" in text for text in release.promise.leaves_open)


class TestMetadata:
    """Nothing of the steward's side may reach the folder."""

    @pytest.fixture
    def written(self, tmp_path: Path) -> tuple[Path, str]:
        rng = np.random.default_rng(5)
        n = 300
        frame = pl.DataFrame(
            {
                "passport": [f"PASS-{i:06}" for i in range(n)],
                "age": rng.integers(20, 80, n),
                "hobby": [f"hobby{i % 7}" for i in range(n)],
                "city": [f"secretville{i % 3}" for i in range(n)],
                "disease": [f"d{i % 5}" for i in range(n)],
            }
        )
        source = tmp_path / "steward_only_path" / "patients_q3.csv"
        source.parent.mkdir()
        frame.write_csv(source)
        plan = source.parent / "plan.toml"
        plan.write_text(
            "\n".join(
                [
                    '[source]\nfile = "patients_q3.csv"',
                    '[columns.passport]\nrole = "identifier"',
                    '[columns.age]\nrole = "quasi-identifier"\ntype = "integer"',
                    '[columns.hobby]\nrole = "other"',
                    '[columns.city]\nrole = "other"',
                    '[columns.disease]\nrole = "sensitive"',
                    '[method]\nname = "generalization"',
                    '[[method.principles]]\nname = "k-anonymity"\nk = 5',
                    "[release]\ninsecure_seed = 424242",
                ]
            )
        )
        wanted = dc.Plan.read(plan)
        data = dc.read(wanted.source, wanted.schema)
        release = dc.publish(data, wanted.method, insecure_seed=wanted.insecure_seed)
        return release.write(tmp_path / "out", insecure=True), "\n".join(frame["passport"])

    def test_no_identifier_path_seed_or_dropped_column_is_in_the_bytes(
        self, written: tuple[Path, str]
    ) -> None:
        folder, _ = written
        for path in folder.iterdir():
            content = path.read_bytes().lower()
            for secret in (b"pass-", b"passport", b"steward_only", b"patients_q3", b"424242",
                           b"hobby", b"secretville", b"city", b"/tmp", b"seed"):  # fmt: skip
                assert secret not in content, (path.name, secret)

    def test_the_manifest_has_only_allowed_fields(self, written: tuple[Path, str]) -> None:
        import json

        manifest = json.loads((written[0] / "datapackage.json").read_text())
        assert set(manifest) == {"profile", "name", "title", "resources", "discreet"}
        assert set(manifest["discreet"]) == {
            "manifest", "form", "method", "parameters", "promise", "attributes", "suppressed",
        }  # fmt: skip
        for attribute in manifest["discreet"]["attributes"]:
            assert set(attribute) <= {
                "name", "role", "type", "missing", "transformation", "missing_is_a_value",
                "decimals", "order", "na", "domain", "taxonomy",
            }  # fmt: skip
        for resource in manifest["resources"]:
            assert set(resource) == {
                "name", "description", "type", "path", "format", "scheme", "encoding", "schema",
                "bytes", "hash",
            }  # fmt: skip

    def test_the_folder_holds_nothing_else(self, written: tuple[Path, str]) -> None:
        names = {path.name for path in written[0].iterdir()}
        assert names == {"README.md", "datapackage.json", "generalized.parquet"}


def test_rows_of_a_group_are_in_an_order_that_tells_nothing() -> None:
    data = as_data([(1, "F", d) for d in ("gout", "flu", "flu2", "gout", "flu")])
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(5)))
    assert release.tables["generalized"]["disease"].to_list() == sorted(
        ["gout", "flu", "flu2", "gout", "flu"]
    )
