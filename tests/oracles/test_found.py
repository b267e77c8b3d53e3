"""Tables on which the audit once said less than all worlds do, small enough to check by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.forms.permuted.help_table import build_help
from discreet.publishing import Method
from oracles.all_worlds import Worlds, count_worlds
from oracles.pieces import read_pieces
from samples import microdata

ANYHOW = dc.KAnonymity(1)


def publish_rows(
    frame: pl.DataFrame, known: Sequence[str], told: str, method: Method, **rows: list[Any]
) -> tuple[dc.Microdata, dc.Release]:
    """Publish, and put given rows in the place of what was drawn at random."""
    data = microdata(frame, known, [told])
    release = dc.publish(data, method)
    drawn = {
        title: pl.DataFrame(
            made, schema=release.tables[title].schema, orient="row", strict=False
        )
        for title, made in rows.items()
    }  # fmt: skip
    return data, replace(release, tables={**release.tables, **drawn})


def count(frame: pl.DataFrame, *releases: dc.Release) -> Worlds:
    people = frame.to_dicts()
    return count_worlds(len(people), [read_pieces(release, people) for release in releases])


class TestOverlappingBoxes:
    """Three people fit both boxes, the fourth only the wider: two of three are in the narrow."""

    FRAME = pl.DataFrame({"age": [20, 20, 20, 30], "pay": [21, 26, 25, 8]})

    @pytest.fixture
    def release(self) -> dc.Release:
        promise = dc.Proximity(4, 2, on="pay")
        data = microdata(self.FRAME, ["age"], ["pay"])
        release = dc.publish(data, dc.Generalization(promise))
        narrow, wide = ("20", 20, 20), ("*", 20, 30)
        table = pl.DataFrame(
            [(0, *narrow, 21), (0, *narrow, 26), (1, *wide, 8), (1, *wide, 25)],
            schema=["class", "age", "age_low", "age_high", "pay"],
            orient="row",
        )
        return replace(release, tables={"generalized": table})

    def test_beliefs_are_matched_not_pooled(self, release: dc.Release) -> None:
        beliefs = count(self.FRAME, release).believe("pay")
        third, sixth = Fraction(1, 3), Fraction(1, 6)
        assert beliefs[0] == {21: third, 26: third, 25: sixth, 8: sixth}
        report = dc.audit(release, microdata(self.FRAME, ["age"], ["pay"]))
        assert report.beliefs["pay"].min() >= 1 / 3
        assert report.truths["pay"][:2].min() >= 1 / 3
        assert report.identity.marketer >= Fraction(3, 8)

    def test_nearness_to_who_does_not_know_the_group(self, release: dc.Release) -> None:
        """Within 4 of 25 are both numbers of one box, and of the other 25 itself."""
        report = dc.audit(release, microdata(self.FRAME, ["age"], ["pay"]))
        near = report.proximity["pay"].promised
        assert near is not None
        assert near.mixed >= Fraction(5, 6)


class TestExactRecordsInTwoGroups:
    """Who may be in either of two groups: what is near need not be in one with their own."""

    FRAME = pl.DataFrame({"age": [1, 2, 1, 2], "pay": [10, 50, 9, 11]})

    def check(self, data: dc.Microdata, release: dc.Release) -> None:
        belief = count(self.FRAME, release).believe("pay")[0]
        assert sum(chance for pay, chance in belief.items() if abs(pay - 10) <= 1) == Fraction(3, 4)
        report = dc.audit(release, data, principle=dc.Proximity(1, 2, on="pay"))
        near = report.proximity["pay"].promised
        assert near is not None
        assert near.mixed >= Fraction(3, 4)

    def test_of_batches(self) -> None:
        data, release = publish_rows(
            self.FRAME, ["age"], "pay", dc.Anatomy(dc.DistinctDiversity(2)),
            batches=[(0, 10, 1), (0, 50, 1), (1, 9, 1), (1, 11, 1)],
            generalized=[(1, 0), (1, 1), (2, 0), (2, 1)],
        )  # fmt: skip
        self.check(data, release)

    def test_of_permuted_groups(self) -> None:
        data, release = publish_rows(
            self.FRAME, ["age"], "pay", dc.Permutation(dc.KE(2, 2)),
            permuted=[(0, 1, 10), (0, 2, 50), (1, 1, 9), (1, 2, 11)],
        )  # fmt: skip
        shown = release.tables["permuted"]
        bounds = build_help(shown["group"], shown["pay"], release.schema["pay"])
        self.check(data, replace(release, tables={**release.tables, "help": bounds}))


class TestRandomBuckets:
    """Who is in a bucket follows from what its columns leave to others."""

    FRAME = pl.DataFrame({
        "age": ["high", "low", "high", "low", "high"], "zip": [10, 22, 22, 10, 22],
        "ill": ["flu", "gout", "gout", "hiv", "hiv"],
    })  # fmt: skip

    def test_one_person_is_certain(self) -> None:
        data, release = publish_rows(
            self.FRAME, ["age", "zip"], "ill",
            dc.Slicing(dc.KAnonymity(2), columns=[["age"], ["zip", "ill"]], buckets=2),
            sliced=[(0, "high", 10, "flu"), (0, "high", 22, "gout"), (1, "low", 10, "hiv"),
                    (1, "low", 22, "gout"), (1, "high", 22, "hiv")],
        )  # fmt: skip
        assert count(self.FRAME, release).believe("ill")[0] == {"flu": 1}
        report = dc.audit(release, data)
        assert report.beliefs["ill"][0] == 1
        assert report.truths["ill"][0] == 1
        assert report.max_belief == 1


def test_a_column_that_only_one_person_has_identifies_them() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "sex": list("FMFM"), "ill": list("abab")})
    data = microdata(frame, ["age", "sex"], ["ill"])
    method = dc.Slicing(dc.FrequencyDiversity(2), columns=[["age", "sex"], ["ill"]])
    release = dc.publish(data, method)
    assert count(frame, release).smallest_crowd == 1
    report = dc.audit(release, data, principle=dc.KAnonymity(2))
    assert report.identity.smallest == 1
    assert report.breaches == 4


class TestSeveralMarginals:
    """Who is of age 25 or above is in batch 1; so is person 1, and so person 4 is in batch 0."""

    FRAME = pl.DataFrame({
        "age": [25, 30, 23, 14, 14], "zip": [30, 11, 30, 30, 11], "pay": [5, 11, 8, 21, 21],
    })  # fmt: skip

    @pytest.fixture
    def made(self) -> tuple[dc.Microdata, dc.Release]:
        young, old = ("[14, 23]", 14, 23), ("[25, 30]", 25, 30)
        return publish_rows(
            self.FRAME, ["age", "zip"], "pay",
            dc.Angelization(dc.FrequencyDiversity(2), k=2, marginals=[["age"], ["zip"]]),
            batches=[(0, 8, 1), (0, 21, 1), (1, 5, 1), (1, 11, 1), (1, 21, 1)],
            generalized=[(*young, 0), (*young, 0), (*young, 1), (*old, 1), (*old, 1)],
            generalized_2=[(str(z), z, z, b) for z, b in
                           ((11, 0), (11, 1), (30, 0), (30, 1), (30, 1))],
        )  # fmt: skip

    def test_the_belief_in_the_truth_knows_the_join(
        self, made: tuple[dc.Microdata, dc.Release]
    ) -> None:
        data, release = made
        assert count(self.FRAME, release).believe("pay")[4] == {
            8: Fraction(1, 2),
            21: Fraction(1, 2),
        }
        report = dc.audit(release, data)
        assert report.truths["pay"][4] >= 1 / 2
        assert report.proximity["pay"].risks[4] >= 1 / 2

    def test_identity_is_judged_on_joined_cells(
        self, made: tuple[dc.Microdata, dc.Release]
    ) -> None:
        data, release = made
        assert count(self.FRAME, release).smallest_joined_crowd == 1
        report = dc.audit(release, data)
        assert report.joined is not None and report.joined.smallest == 1
        assert report.identity.smallest == 1


def test_two_releases_are_put_together_to_the_end() -> None:
    """Only people from Bonn can have 29, so that the one of them in batch 0 does; what is left for
    the others of batch 0, and so for the last one, follows."""
    frame = pl.DataFrame({
        "age": [12, 10, 10, 12, 10], "city": ["Jena", "Bonn", "Bonn", "Jena", "Gera"],
        "pay": [16, 29, 16, 23, 23],
    })  # fmt: skip
    promise = dc.FrequencyDiversity("3/2", on="pay")
    _, new = publish_rows(frame.drop("age"), ["city"], "pay", dc.Generalization(promise))
    _, old = publish_rows(
        frame.drop("city"), ["age"], "pay", dc.Anatomy(promise),
        batches=[(0, 16, 1), (0, 23, 1), (0, 29, 1), (1, 16, 1), (1, 23, 1)],
        generalized=[(10, 0), (10, 1), (10, 1), (12, 0), (12, 0)],
    )  # fmt: skip
    assert count(frame, new, old).believe("pay")[4] == {23: 1}
    report = dc.audit(new, microdata(frame, ["age", "city"], ["pay"]), earlier=[old])
    assert max((c.worst or 0 for c in report.composed), default=0) == 1


def test_alpha_k_fails_where_exact_records_tell_people_apart() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "pay": [10, 10, 20, 20]})
    data = microdata(frame, ["age"], ["pay"])
    promise = dc.AlphaK("2/3", 2, on="pay")
    for method in (dc.Anatomy(dc.FrequencyDiversity(2)), dc.Permutation(dc.KE(2, 5))):
        assert dc.audit(dc.publish(data, method), data, principle=promise).breaches == 4


def test_a_sequential_release_with_a_sensitive_number_can_be_audited() -> None:
    frame = pl.DataFrame({"job": list("aabb"), "ill": list("xyxy"), "pay": [1, 2, 3, 4]})
    old = dc.publish(microdata(frame.drop("pay"), ["job"], ["ill"]), dc.Generalization(ANYHOW))
    data = microdata(frame, ["job"], ["ill", "pay"])
    promise = dc.XYAnonymity(x=["job"], y=["ill"], k=2)
    method = dc.Sequential(principles=[promise], earlier=[old])
    new = dc.publish(microdata(frame.drop("ill"), ["job"], ["pay"]), method)
    assert dc.audit(new, data, earlier=[old]).max_belief == 0.5
