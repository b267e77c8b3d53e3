"""Reproductions: every experiment runs, says what the paper says, and what was found."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from commands import discreet_here
from discreet import experiments
from discreet.experiments import (
    REGISTRY,
    Experiment,
    Outcome,
    Settings,
    find_experiments,
    list_runs,
)
from discreet.experiments.bounded import Grouped, SwappedColumn, choose_any
from discreet.experiments.losses import LOSS, generalize, losses
from discreet.experiments.permutation import group_all
from discreet.experiments.sequential_time import vary

SHORT = [
    "angel-count-volume",
    "permutation-arbitrary",
    "permutation-overhead",
    "permutation-scaling",
    "proximity-m",
    "proximity-scaling",
    "slicing-columns",
    "sequential-scaling",
]
"""Experiments of every file; ``discreet reproduce --all --quick`` runs all of them."""


@pytest.mark.parametrize("name", SHORT)
def test_an_experiment_gives_a_table_a_chart_and_claims(name: str, tmp_path: Path) -> None:
    outcome = REGISTRY[name](Settings(quick=True))
    assert outcome.name == name
    assert outcome.claims
    assert outcome.table.height > 1
    assert all(dtype.is_numeric() for dtype in outcome.table.dtypes)
    json_file, chart = outcome.write(tmp_path)
    assert json.loads(json_file.read_text())["claims"][0]["paper"]
    assert "<svg" in chart.read_text()
    if not {"overhead", "scaling"} & set(name.split("-")):  # those two read a clock
        for claim in outcome.claims:
            assert claim.holds or claim.why, claim


def test_bounds_of_the_experiments_are_those_of_the_release() -> None:
    """The same groups, once as a release asked in SQL, once as the experiments bound them."""
    data = losses(["age", "sex"])
    release = dc.publish(data, dc.Permutation(dc.KE(4, 100), objective="sum"), insecure_seed=5)
    table = release.tables["permuted"]
    made = Grouped.by(table["group"].to_numpy(), table[LOSS].to_numpy().astype(np.int64))
    chosen = (table["age"] > 40).to_numpy()
    answer = release.query("SELECT AVG(capital_loss) FROM release WHERE age > 40")
    assert answer.high is not None
    assert answer.low is not None
    assert made.error(chosen, 1.0) == pytest.approx(answer.high - answer.low)


def test_swapped_numbers_are_bounded_as_their_release_bounds_them() -> None:
    data = losses(["age", "sex"])
    release = dc.publish(data, dc.RankSwapping(dc.KE(4, 100)), insecure_seed=5)
    table = release.tables["swapped"].join(
        release.tables["windows"], left_on=LOSS, right_on="value", how="left"
    )
    answer = release.query("SELECT AVG(capital_loss) FROM release")
    assert answer.high is not None
    assert answer.low is not None
    everyone = np.ones(data.n, dtype=bool)
    made = SwappedColumn(*(table[end].to_numpy().astype(np.int64) for end in ("low", "high")))
    assert made.error(everyone, 1.0) == pytest.approx(answer.high - answer.low)
    assert group_all(data, dc.KE(4, 100))["rank swapping"].error(everyone, 1.0) == pytest.approx(
        answer.high - answer.low
    )


def test_full_domains_are_generalized_into_diverse_groups_that_keep_ages_apart() -> None:
    data = losses(["age", "sex", "race"], oldest=79)
    release, groups = generalize(data)
    people = data.to_polars().with_columns(group=pl.Series(groups))
    parts = people.group_by("group").agg(pl.col(LOSS).n_unique(), pl.col("age", "sex").n_unique())
    assert parts[LOSS].min() >= 4  # type: ignore[operator]
    assert release.tables["generalized"]["age"].n_unique() > 1
    assert parts.height == release.tables["generalized"].select("age", "sex", "race").n_unique()


def test_variations_differ_in_few_attributes_and_nothing_else() -> None:
    frame = pl.DataFrame({name: [f"{name}{i}" for i in range(50)] for name in "abcd"})
    varied = vary(frame, ["a", "b", "c"], 3, seed=1)
    assert varied.height == 150 and varied.head(50).equals(frame)
    again = pl.concat([frame] * 3)
    changed = sum((varied[n] != again[n]).cast(pl.Int8) for n in "abc")
    assert 0 < changed.max() <= 2  # type: ignore[union-attr]
    assert varied["d"].equals(again["d"])


def test_the_papers_data_is_the_1427_people_with_a_loss() -> None:
    data = losses()
    values = data.to_polars()[LOSS]
    assert (data.n, values.n_unique(), values.min(), values.max()) == (1427, 89, 155, 4356)
    assert [int(chosen.sum()) for chosen in choose_any(data.n, 50, 3)] == [50, 50, 50]


def test_a_paper_stands_for_all_its_experiments() -> None:
    assert find_experiments("permutation") == [n for n in REGISTRY if n.startswith("permutation-")]
    with pytest.raises(dc.DiscreetError, match="no experiment 'permutation-z'"):
        find_experiments("permutation-z")


def test_the_command_line_lists_and_runs_them(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return discreet_here("reproduce", *arguments, cwd=tmp_path)

    assert "permutation-range" in run().stdout
    found = run("permutation-e", "--quick")
    assert "the paper says" in found.stdout
    assert (tmp_path / "reproduction" / "permutation-e.svg").exists()
    outcome = json.loads(run("permutation-e", "--quick", "--json").stdout)[0]
    assert pl.DataFrame(outcome["rows"]).columns[0] == "e"
    refused = run("permutation-z")
    assert refused.returncode == 2 and "no experiment" in refused.stderr
    (tmp_path / "file").write_text("")
    refused = run("permutation-e", "--quick", "--out", "file")
    assert refused.returncode == 2 and "not a folder" in refused.stderr


def test_all_of_all_papers_is_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Settings) -> Outcome:
        raise dc.DiscreetError("It needs what is not there.")

    few = {name: REGISTRY[name] for name in ("permutation-k", "proximity-dealing")}
    few["slicing-none"] = Experiment("slicing-none", refuse, "Figure 0: nothing.")
    monkeypatch.setattr(experiments, "REGISTRY", few)
    found = discreet_here("reproduce", "--all", "--quick", cwd=tmp_path)
    assert found.returncode == 1  # one of them could not run; the others are told
    assert re.search(r"figure +the paper +here +holds +why not", found.stdout)
    assert "permutation, Figure 13" in found.stdout
    assert "claims hold." in found.stdout
    assert "slicing-none could not run. It needs what is not there." in found.stdout
    assert (tmp_path / "reproduction" / "proximity-dealing.json").exists()
    refused = discreet_here("reproduce", "permutation-k", "--all", cwd=tmp_path)
    assert refused.returncode == 2 and "--all is about all papers" in refused.stderr


def test_what_is_long_says_so_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = next(list_runs("proximity-dealing"))
    monkeypatch.setattr(experiments, "find_run", lambda *_: replace(run, minutes=7))
    quick = {"proximity-dealing": lambda _: REGISTRY["proximity-dealing"](Settings(quick=True))}
    monkeypatch.setattr(experiments, "REGISTRY", quick)
    assert (
        "took at most 7 minutes"
        in discreet_here("reproduce", "proximity-dealing", cwd=tmp_path).stderr
    )
