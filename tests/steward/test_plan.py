"""Plans: every mistake is named with its place, before anything is read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from commands import discreet_here
from discreet.principles import REGISTRY
from discreet.steward.plan import plan_model

GOOD = """
[source]
file = "t.csv"
[columns.age]
role = "quasi-identifier"
type = "integer"
taxonomy = { intervals = [5, 10] }
[columns.zip]
role = "quasi-identifier"
taxonomy = { prefixes = [3] }
[columns.day]
role = "quasi-identifier"
type = "date"
taxonomy = { dates = ["month", "year"] }
[columns.disease]
role = "sensitive"
taxonomy = { file = "disease.csv" }
[method]
name = "generalization"
categories = "ancestor"
[[method.principles]]
name = "k-anonymity"
k = 2
[[method.principles]]
name = "t-closeness"
t = 0.5
distance = "hierarchical"
on = "disease"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "disease.csv").write_text("flu;lung;*\nasthma;lung;*\nulcer;stomach;*\n")
    (tmp_path / "t.csv").write_text(
        "age,zip,day,disease\n"
        + "".join(
            f"{20 + i % 9},4{i % 3}90{i % 2},2020-0{1 + i % 3}-1{i % 4},"
            f"{('flu', 'asthma', 'ulcer')[i % 3]}\n"
            for i in range(60)
        )
    )
    (tmp_path / "plan.toml").write_text(GOOD)
    return tmp_path


def test_a_plan_becomes_objects_and_runs(folder: Path) -> None:
    plan = dc.Plan.read(folder / "plan.toml")
    assert isinstance(plan.method, dc.Generalization)
    assert [p.title for p in plan.method.principle.parts] == ["k-anonymity", "t-closeness"]
    data = dc.read(plan.source, plan.schema)
    release = dc.publish(data, plan.method)
    labels = set(release.tables["generalized"]["age"].cast(str).unique())
    assert labels & {"[20, 25)", "[25, 30)", "*", "[20, 30)"}
    loaded = dc.load(release.write(folder / "r"))
    assert dc.audit(loaded, dc.read(plan.source, loaded.schema)).kept
    assert dc.read(folder / "t.csv", folder / "plan.toml").n == 60


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('role = "sensitive"', 'role = "secret"', r"columns\.disease\.role"),
        ("k = 2", "k = 0", "k = 0"),
        ("k = 2", "kk = 2", r"method\.principles\.entry 1.*there is no setting 'kk'"),
        ("k = 2", "k = true", "entry 1.*valid integer"),
        ("k = 2", 'k = "2"', "entry 1.*valid integer"),
        ('name = "t-closeness"', 'name = "closeness"', "closeness"),
        ('type = "integer"', 'type = "int"', r"columns\.age\.type"),
        ('file = "t.csv"', 'path = "t.csv"', "source: there is no setting 'path'"),
        ("prefixes = [3]", "prefixes = [3], dates = []", "give one of file"),
        ("[method]", "[release]\ninsecure_seed = -1\n[method]", r"release\.insecure_seed"),
        ("[method]", "[release]\nseed = 1\n[method]", r"release\.seed: .*by no seed.*Leave it out"),
        ('file = "disease.csv"', 'file = "none.csv"', "cannot be read"),
        ("t = 0.5", "t = 7", "from 0 to 1"),
        ("[method]", "[method", "not TOML"),
        ('categories = "ancestor"', 'categories = "tree"', "categories"),
    ],
)
def test_every_mistake_is_named(folder: Path, old: str, new: str, message: str) -> None:
    (folder / "plan.toml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(dc.DiscreetError, match=message):
        dc.Plan.read(folder / "plan.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("intervals = [5, 10]", "intervals = [nan]", "column 'age': Interval widths"),
        ("intervals = [5, 10]", 'dates = ["month"]', "column 'age': Value '20' is not a date"),
        ("prefixes = [3]", "prefixes = []", "column 'zip': Prefix lengths"),
        ('role = "sensitive"', 'role = "sensitive"\ntype = "decimal"\ndecimals = 2', "'flu'"),
    ],
)
def test_what_does_not_fit_the_table_names_its_column(
    folder: Path, old: str, new: str, message: str
) -> None:
    text = GOOD.replace(old, new, 1).replace('file = "disease.csv"', "prefixes = [1]", 1)
    (folder / "plan.toml").write_text(text)
    with pytest.raises(dc.DiscreetError, match=message):
        plan = dc.Plan.read(folder / "plan.toml")
        dc.publish(dc.read(plan.source, plan.schema), plan.method)


def test_the_json_schema_knows_every_principle() -> None:
    schema = str(plan_model().model_json_schema())
    assert all(repr(title) in schema for title in REGISTRY)


PERTURBED = """
[source]
file = "t.csv"
[columns.age]
role = "quasi-identifier"
type = "integer"
[columns.pay]
role = "sensitive"
type = "integer"
[method]
name = "perturbation"
within = [0, 100]
[[method.principles]]
name = "proximity"
epsilon = [0, 1]
m = 3
"""


def test_two_numbers_are_written_as_a_list(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PERTURBED)
    method = dc.Plan.read(tmp_path / "plan.toml").method
    assert method == dc.Perturbation(dc.Proximity((0, 1), 3), within=(0, 100))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0, 100]", "5", "method.within: give two numbers in a list"),
        ("[0, 100]", "[1, 2, 3]", "method.within: give two numbers in a list"),
        ("[0, 100]", '["a", 1]', "within = a: give a number"),
        ("[0, 1]", "{ a = 1 }", "epsilon: give one number, or two in a list"),
        ("[0, 1]", "[1, [2]]", "epsilon: give one number, or two in a list"),
    ],
)
def test_what_is_wrong_with_them_is_said_in_one_sentence(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    (tmp_path / "plan.toml").write_text(PERTURBED.replace(old, new))
    with pytest.raises(dc.DiscreetError) as caught:
        dc.Plan.read(tmp_path / "plan.toml")
    assert message in str(caught.value)
    assert str(caught.value).count("\n") <= 3


def test_a_plan_names_earlier_releases_beside_it(tmp_path: Path) -> None:
    frame = pl.DataFrame({"job": list("aabbcc"), "age": [20, 21] * 3, "ill": list("xyxyxy")})
    old = dc.publish(
        dc.read(frame.select("job", "ill"), dc.Schema.infer(
            frame.select("job", "ill"), quasi_identifiers=["job"], sensitive=["ill"])),
        dc.Generalization(dc.KAnonymity(1)),
    )  # fmt: skip
    old.write(tmp_path / "old")
    frame.select("job", "age").write_csv(tmp_path / "t.csv")
    plan = tmp_path / "plan.toml"
    text = """
[source]
file = "t.csv"
[columns.job]
role = "quasi-identifier"
[columns.age]
role = "quasi-identifier"
type = "integer"
[method]
name = "sequential"
earlier = ["old"]
inconsistent = [["job", ["a"], "ill", ["z"]]]
[[method.principles]]
name = "xy-anonymity"
x = ["job", "age", "ill"]
y = "people"
k = 2
"""
    plan.write_text(text)
    with pytest.raises(dc.DiscreetError, match="'ill' has no value 'z'"):
        dc.publish(dc.read(tmp_path / "t.csv", plan), dc.Plan.read(plan).method)
    plan.write_text(text.replace('inconsistent = [["job", ["a"], "ill", ["z"]]]', ""))
    command = [sys.executable, "-c", "from discreet.cli import main; main()"]
    for asked, code, said in (
        (["publish", "plan.toml", "--out", "new"], 0, "verified from disk"),
        (["audit", "new", "--microdata", "t.csv"], 2, "earlier releases are needed"),
        (["publish", "plan.toml", "--out", "old", "--overwrite"], 2, "will not be written over"),
        (
            [
                "publish",
                "plan.toml",
                "--out",
                "n2",
                "--report",
                "old/datapackage.json",
                "--overwrite",
            ],
            2,
            "will not be written over",
        ),
        (["audit", "new", "--microdata", "t.csv", "--earlier", "old"], 0, "xy-anonymity"),
    ):
        done = subprocess.run(
            [*command, *asked], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == code and said in done.stdout + done.stderr, done.stderr
    plan.write_text(text.replace('["a"], "ill", ["z"]', '"ill"'))
    with pytest.raises(dc.DiscreetError, match="give lists of four"):
        dc.Plan.read(plan)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("m = 3", f"m = 0x{'f' * 5000}", "a whole number has 20,000 bits"),
        ("m = 3", f"m = {'9' * 5000}", "not TOML"),
        ('role = "sensitive"', 'role = "sensitive"\ntaxonomy = { prefixes = [99999999999999] }',
         "prefixes"),
        ("[method]", '[[compare]]\na = "1..100"\nb = "1..100"\nc = "1..100"\n[method]',
         "stands for 1,000,000 methods"),
    ],
)  # fmt: skip
def test_numbers_that_nothing_can_count_are_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    (tmp_path / "plan.toml").write_text(PERTURBED.replace(old, new, 1))
    with pytest.raises(dc.errors.PlanError, match=message):
        dc.Plan.read(tmp_path / "plan.toml")


def test_what_means_missing_is_not_passed_over_beyond_memory(tmp_path: Path) -> None:
    """A code for missing that nobody empties would go out as a value."""
    row = pl.int_range(400, eager=True)
    pl.DataFrame(
        {
            "pid": pl.select(pl.when(row % 50 > 0).then(row).otherwise(-9)).to_series(),
            "age": pl.select(pl.when(row % 7 > 0).then(20 + row % 40).otherwise(-9)).to_series(),
            "ill": (row % 5).replace_strict(range(5), ["flu", "NA", " NA ", "cold", "gout"]),
        }
    ).write_parquet(tmp_path / "t.parquet")
    (tmp_path / "plan.toml").write_text(MISSED)
    tables = []
    for memory in ("9GB", "1KB"):
        done = discreet_here(
            "publish", "plan.toml", "--out", memory, "--memory", memory, "--json", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["intake"] == {"read": 400, "dropped": 160, "missing": {"age": 58, "ill": 160}}
        tables.append(dc.load(tmp_path / memory).tables["generalized"].drop("class"))
    assert tables[0].equals(tables[1])
    assert tables[0]["age_low"].min() == 20 and tables[0]["age_missing"].any()
    assert sorted(tables[0]["ill"].cast(pl.String).unique()) == ["cold", "flu", "gout"]
    again = discreet_here("audit", "1KB", "--microdata", "t.parquet", cwd=tmp_path)
    assert again.returncode == 0, again.stderr  # the release says what means missing


MISSED = """
[source]
file = "t.parquet"
missing = ["-9", "NA"]
[roles]
identifier = ["p*"]
[columns.age]
role = "quasi-identifier"
type = "integer"
missing = "value"
[columns.ill]
role = "sensitive"
missing = "drop"
[method]
name = "generalization"
[[method.principles]]
name = "k-anonymity"
k = 5
"""
