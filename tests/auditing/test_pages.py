"""The page of an audit: what it warns of, what it is about, and where beliefs are counted."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from commands import discreet_here as discreet
from discreet.auditing.before import measure_before
from discreet.auditing.report import Subject, _belief_bars
from discreet.release.store import digest_release
from discreet.table.people_key import PeopleKey


@pytest.fixture(scope="module")
def people() -> dc.Microdata:
    frame = pl.DataFrame({
        "age": [20, 21, 30, 31, 40, 41, 50, 51],
        "sex": ["f", "m"] * 4,
        "ill": ["flu", "flu", "gout", "flu", "gout", "cold", "cold", "flu"],
    })  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["age", "sex"], sensitive=["ill"])
    return dc.read(frame, schema)


def test_tenths_are_counted_where_they_belong() -> None:
    tenths = [Fraction(i, 10) for i in range(1, 11)]
    beliefs = np.array([float(belief) for belief in tenths for _ in range(belief.numerator)])
    bars = _belief_bars(beliefs, None)
    told = [bar["text"].split()[0] for bar in bars]
    # up to 10 %, 10 to 20 %, …: promises say at most; nobody is above 90 % but not certain
    assert told == [str(belief.numerator) for belief in tenths[:-1]] + ["0", "1"]
    assert bars[-1]["label"] == "certain"
    near = _belief_bars(np.array([0.1 + 0.2, 1 - 1e-9]), np.array([3, 4]))
    assert (near[2]["text"], near[9]["text"]) == ("3 (42.9%)", "4 (57.1%)")


def test_a_kept_promise_with_certain_values_is_amber(people: dc.Microdata, tmp_path: Path) -> None:
    release = dc.publish(people, dc.Generalization(dc.KAnonymity(2)))
    found = dc.audit(release, people)
    assert found.kept and found.max_belief == 1
    certain = int((found.beliefs["ill"] == 1).sum())
    assert found.cautions == [
        f"the ill of {certain} people is certain: the promise does not bound that"
    ]
    page = found.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'class="verdict amber"' in page and 'class="verdict good"' not in page
    assert f"The ill of {certain} people is certain" in page
    assert found.to_dict()["cautions"] == found.cautions


def test_a_likely_value_is_no_caution_where_the_promise_bounds_it(people: dc.Microdata) -> None:
    bounded = dc.AlphaK("3/4", 2)
    found = dc.audit(dc.publish(people, dc.Generalization(bounded)), people)
    assert found.kept and not found.cautions
    judged = dc.audit(
        dc.publish(people, dc.Generalization(bounded)), people, principle=dc.KAnonymity(2)
    )
    assert judged.max_belief is not None
    assert bool(judged.cautions) == (judged.max_belief > 0.5)


def test_values_that_are_not_sensitive_raise_no_caution(people: dc.Microdata) -> None:
    some = dc.FrequencyDiversity(2, values={"flu": None})
    found = dc.audit(dc.publish(people, dc.Anatomy(some)), people)
    assert found.kept and not found.cautions


def test_a_page_says_what_it_is_about(people: dc.Microdata, tmp_path: Path) -> None:
    release = dc.publish(people, dc.Generalization(dc.KAnonymity(2) & dc.DistinctDiversity(2)))
    release.write(tmp_path / "release")
    subject = Subject.of(tmp_path / "release", Path("people.csv"))
    page = dc.audit(tmp_path / "release", people).to_html(tmp_path / "p.html", subject=subject)
    text = page.read_text(encoding="utf-8")
    digest = digest_release(tmp_path / "release")
    for said in ("people.csv", digest, "generalization", f"discreet {dc.__version__}",
                 "names removed only: 1", "Before and after", "UTC"):  # fmt: skip
        assert said in text
    assert "Some people, before and after" not in text  # rows only if asked for


def test_the_digest_of_a_release_is_what_other_tools_compute(
    people: dc.Microdata, tmp_path: Path
) -> None:
    dc.publish(people, dc.Anatomy(dc.DistinctDiversity(2))).write(tmp_path / "release")
    told = subprocess.run(
        "sha256sum * | sha256sum", shell=True, cwd=tmp_path / "release", check=True,
        capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    ).stdout.split()[0]  # fmt: skip
    assert digest_release(tmp_path / "release") == told
    assert len(told) == len(hashlib.sha256().hexdigest())


def test_rows_are_shown_only_to_who_asks(people: dc.Microdata, tmp_path: Path) -> None:
    people.to_polars().write_csv(tmp_path / "people.csv")
    dc.publish(people, dc.Generalization(dc.KAnonymity(2))).write(tmp_path / "release")
    asked = ("audit", "release", "--microdata", "people.csv")
    done = discreet(*asked, "--rows", "2", cwd=tmp_path)
    assert done.returncode == 2 and "--report" in done.stderr
    done = discreet(*asked, "--report", "page.html", "--rows", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "CAUTION: the ill of" in done.stdout
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    part = page[page.index("Some people, before and after") :]
    assert part.count("<h3>age ") == 2
    assert "keep this page as you keep the microdata" in part


def test_both_pages_call_measures_by_the_same_names(people: dc.Microdata, tmp_path: Path) -> None:
    people.to_polars().write_csv(tmp_path / "people.csv")
    dc.publish(people, dc.Generalization(dc.KAnonymity(2))).write(tmp_path / "release")
    done = discreet("audit", "release", "--microdata", "people.csv", "--attacks",
                    "--report", "page.html", "--evidence", "evidence", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    pages = [tmp_path / "page.html", tmp_path / "evidence" / "evidence.html"]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    for text in texts:
        assert "reading alone" in text and "by chance" not in text
        assert "in a wrong cell" in text
        assert digest_release(tmp_path / "release") in text


def test_before_is_about_people_where_they_have_several_rows() -> None:
    """Two people of an age have both values: of each, either is certain to be among theirs."""
    frame = pl.DataFrame({
        "pid": [1, 1, 2, 2, 3, 3], "age": [20] * 4 + [30] * 2, "ill": ["a", "b"] * 3
    })  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["ill"])
    data = dc.read(frame, replace(schema, people=PeopleKey("pid")))
    found = measure_before(data)
    assert (found.worst["ill"], found.mean["ill"]) == (1.0, 1.0)
    assert (found.smallest, found.alone) == (1, 1)
