"""Stored runs: every experiment has one, verdicts follow from its numbers, pages show it."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

import discreet
from discreet.experiments import REGISTRY, Inequality, Settings, list_runs, store
from discreet.experiments.claims import Claim, falling, rising
from discreet.experiments.stored import RESULTS

ROOT = Path(__file__).parents[2]
SAME = [
    "angel-divergence-t",
    "permutation-correlation",
    "permutation-e",
    "permutation-k",
    "permutation-one-attribute-arbitrary",
    "permutation-partitions-range",
    "proximity-dealing",
    "proximity-volume",
    "slicing-fakes",
    "sequential-distortion-b",
]
"""Experiments that take a moment when they are quick, and then say the same as in full."""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    place = ROOT / "scripts" / "store_runs.py"
    spec = importlib.util.spec_from_file_location("store_runs", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_experiment_has_a_stored_run_of_this_version() -> None:
    runs = list(list_runs())
    assert {run.experiment for run in runs if run.file is None} == set(REGISTRY)
    assert {run.version for run in runs} == {discreet.__version__}


def test_what_is_stored_of_a_claim_follows_from_its_numbers() -> None:
    for run in list_runs():
        assert [claim.to_dict() for claim in run.claims] == run.told["claims"], run.experiment
        assert all(claim.holds or claim.why for claim in run.claims), run.experiment


def test_the_pages_are_what_the_stored_runs_give(script: ModuleType) -> None:
    for page in script.PAGES:
        text = page.read_text(encoding="utf-8")
        assert script.fill_page(text) == text, f"{page.name}: python scripts/store_runs.py --pages"


def test_no_row_of_the_pages_is_written_by_hand(script: ModuleType) -> None:
    for page in script.PAGES:
        text = page.read_text(encoding="utf-8")
        by_hand = script.PLACE.sub("", text)
        assert not re.search(r"^\|", by_hand, re.MULTILINE), page.name
        assert "<!--" not in by_hand, page.name


@pytest.mark.parametrize("name", SAME)
def test_a_quick_run_says_the_same_as_the_stored_one(name: str) -> None:
    found = REGISTRY[name](Settings(quick=True))
    (run,) = (run for run in list_runs(name) if run.file is None)
    assert [(claim.paper, claim.verdict) for claim in found.claims] == [
        (claim.paper, claim.verdict) for claim in run.claims
    ]


def test_a_run_is_stored_with_its_version_settings_and_numbers(tmp_path: Path) -> None:
    settings = Settings(quick=True)
    outcome = REGISTRY["permutation-partitions-range"](settings)
    (text, again) = (
        store(outcome, settings, seconds, tmp_path).read_text() for seconds in (61, 119)
    )
    assert text == again
    told = json.loads(text)
    assert told["version"] == discreet.__version__
    assert told["settings"] == {"quick": True, "folds": 10, "relinkings": 5, "file": None}
    assert told["minutes"] == 2
    assert told["rows"][0]["span of ages"] == 5
    assert [Claim.from_dict(each) for each in told["claims"]] == list(outcome.claims)


def test_stored_runs_are_small() -> None:
    assert all(len(entry.read_bytes()) < 30_000 for entry in RESULTS.iterdir())


@pytest.mark.parametrize(
    ("inequality", "said", "holds"),
    [
        (Inequality("error", 0.281, "<", 0.2, unit="%"), "error 28.1 % > 20 %", False),
        (Inequality("error", 0.1, "<", 0.2, by="half", unit="%"), "error 10 % < half 20 %", True),
        (Inequality("ratio", 0.99999, "<", 1), "ratio 0.99999 < 1", True),
        (Inequality("ratio", 1.0, "<", 1), "ratio 1 = 1", False),
        (Inequality("ratio", 1.0, "≥", 1), "ratio 1 = 1", True),
        (Inequality("up to", 5000, "≤", 4000), "up to 5,000 > 4,000", False),
        (Inequality("BLE", 17.7, "≈", 17.5, within=0.5), "BLE 17.7 ≈ 17.5", True),
        (Inequality("KAE", 19.3, "≈", 18.4, within=0.5), "KAE 19.3 ≠ 18.4 (± 0.5)", False),
        (rising("x", [1, 2, 1.5]), "x from 1 to 1.5, smallest step −0.5 < 0", False),
        (falling("x", [3, 2, 1]), "x from 3 to 1, largest step −1 < 0", True),
    ],
)
def test_a_comparison_says_how_numbers_do_compare(
    inequality: Inequality, said: str, holds: bool
) -> None:
    assert (str(inequality), inequality.holds) == (said, holds)


@pytest.mark.parametrize("sign", ["<", "≤", ">", "≥", "≈"])
def test_what_is_no_number_makes_no_claim_true(sign: str) -> None:
    nothing = Inequality("x", float("nan"), sign, 1)  # type: ignore[arg-type]
    assert (nothing.holds, str(nothing)) == (False, "x nan ≠ 1")


def test_a_claim_is_held_against_something_and_may_hold_in_part() -> None:
    good, bad = Inequality("a", 1, "<", 2), Inequality("b", 3, "<", 2)
    assert Claim("both", (good, bad), "b is large").verdict == "in part"
    assert Claim("both", (good, bad), "b is large").why == "b is large"
    assert Claim("one", (good,), "b is large").why == ""
    with pytest.raises(ValueError, match="no number"):
        Claim("nothing", ())
