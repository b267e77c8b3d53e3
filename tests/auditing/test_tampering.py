"""Tampering: a field of a manifest or a cell of a table is changed, and the release sealed anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from samples import angel_table_1a, reseal
from tampering import CASES, HARMLESS, forge


@pytest.mark.parametrize("case", CASES)
def test_what_was_changed_in_a_release_is_noticed(case: str, tmp_path: Path) -> None:
    """But for what says the same, or what some world says: ``HARMLESS`` gives the reasons."""
    passed = [what for what, became in forge(case, tmp_path, cells=3, fields=8, people=60)
              if became not in ("found", "refused")]  # fmt: skip
    assert [what for what in passed if what not in HARMLESS] == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m["promise"].update(guarantee="Nobody learns anything."),
         "its guarantee does not say what it promises: "),
        (lambda m: m["promise"]["leaves_open"].pop(), "it does not say what it leaves open: "),
        (lambda m: m["promise"]["leaves_open"].append("Nothing else."),
         "it says besides that it leaves open: Nothing else."),
        (lambda m: m["promise"]["principles"][1].update(l=1),
         "its guarantee does not say what it promises: "),
        (lambda m: m["promise"]["principles"][1].update(paper="mine"),
         "datapackage.json: discreet.promise.principles[1].paper is not what is written"),
        (lambda m: m.update(suppressed="all outliers"),
         "datapackage.json: discreet.suppressed is not what is written for such a release"),
        (lambda m: m.update(method="full-domain"), "full-domain has no parameter 'categories'"),
        (lambda m: m["parameters"].update(categories="x"), "categories = 'x' is no choice it has"),
        (lambda m: m["parameters"].pop("categories"), "categories = None is no choice it has"),
        (lambda m: m["attributes"][0].update(domain=["0", "99"]),
         "age goes from 21 to 60 in the microdata"),
        (lambda m: m["attributes"][0].update(missing="drop"),
         "empty cells of age were not read as the release says"),
        (lambda m: m["attributes"][2].update(taxonomy=[["pneumonia", "lung"],
                                                       ["bronchitis", "lung"]]),
         "the taxonomy of disease is not that of the microdata"),
    ],
)  # fmt: skip
def test_a_claim_that_was_changed_is_named(
    change: Callable[[Any], object], says: str, tmp_path: Path
) -> None:
    data = angel_table_1a()
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(2) & dc.FrequencyDiversity(2)))
    folder = release.write(tmp_path / "r", format="csv")
    path = folder / "datapackage.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest["discreet"])
    path.write_text(json.dumps(manifest), encoding="utf-8")
    problems = dc.audit(reseal(folder), data).problems
    assert any(problem.startswith(says) for problem in problems), problems


def test_a_method_that_the_form_does_not_know_may_leave_more_open() -> None:
    data = angel_table_1a()
    made = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    more = replace(made.promise, leaves_open=(*made.promise.leaves_open, "What we do not know."))
    report = dc.audit(replace(made, method="ours", parameters={"x": 1}, promise=more), data)
    assert report.kept
    assert report.notes == ["it says besides that it leaves open: What we do not know."]
    bold = replace(made.promise, guarantee="Nobody learns anything.")
    assert not dc.audit(replace(made, method="ours", promise=bold), data).kept
