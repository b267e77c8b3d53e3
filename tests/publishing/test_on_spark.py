"""On a cluster: the same release as in memory, whoever is lost on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from cluster import QUICK, Cluster
from commands import discreet, discreet_here
from discreet.auditing import AuditReport, windows_on_cluster
from discreet.auditing.in_parts import AskedOfParts
from discreet.cluster import open_session
from discreet.publishing.backends import spark as backend
from discreet.release import table_files
from discreet.release.store import fingerprint
from discreet.steward import on_cluster, worker_memory
from discreet.steward.inspection import inspect_table
from discreet.steward.plan import Plan
from in_parts import (
    odd_table,
    require_same_audit,
    require_same_batches,
    require_same_runs,
    require_same_slices,
    spread,
    write_plan,
)

pytestmark = pytest.mark.spark
CENSUS = dc.datasets.census(6000, sensitive="income")


@pytest.fixture(scope="module")
def held(cluster: Cluster) -> Iterator[str]:
    """Keep a session open, so that not every test waits for one."""
    quick = {"spark.driver.extraJavaOptions": QUICK, "spark.executor.extraJavaOptions": QUICK}
    with open_session(cluster.address, **{"spark.sql.shuffle.partitions": "2"}, **quick):
        yield cluster.address


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cluster, "CAPACITY", 900)
    monkeypatch.setattr(on_cluster, "EXAMINED", 2000)
    monkeypatch.setattr(backend, "PART", 1500)


def publish(plan: Path, address: str, stages: list[str], at: dict[str, object]) -> AuditReport:
    """Publish on a cluster; ``at`` a stage something is done first."""
    found: list[AuditReport] = []

    def tell(stage: str, done: int, total: int) -> None:
        if not stages or stages[-1] != stage:
            stages.append(stage)
            act = at.get(stage)
            if callable(act):
                act()

    def examine(report: AuditReport, intake: object) -> None:
        found.append(report)
        report.require_kept()

    on_cluster.publish_on_cluster(
        Plan.read(plan), address, overwrite=False, examine=examine, progress=tell
    )
    return found[0]


def require_same(made: Path, whole: Path) -> None:
    """Hold the records, and all that is said of them, against those of another release."""
    one, other = dc.load(made), dc.load(whole)
    assert one.recodings == other.recodings
    assert one.promise == other.promise
    text = pl.col(pl.Enum).cast(pl.String)
    (title,) = one.tables
    shown, wanted = (r.tables[title].with_columns(text) for r in (one, other))
    assert shown.equals(wanted)


def test_the_release_is_that_of_one_machine_although_workers_are_lost(
    tmp_path: Path, cluster: Cluster, held: str
) -> None:
    spread(CENSUS.to_polars().select("age", "sex", "income", "region"), tmp_path / "source")
    more = '[columns.region]\nrole = "quasi-identifier"'
    plan = write_plan(tmp_path)
    plan.write_text(plan.read_text().replace("[method]", f"{more}\n[method]"))
    assert discreet_here("publish", plan, "--out", "memory", cwd=tmp_path).returncode == 0

    def lose() -> None:
        cluster.workers[-1].kill()
        cluster.add_workers(1)

    stages: list[str] = []
    during = dict.fromkeys(("Coding", "Counting", "Splitting", "Writing", "Auditing"), lose)
    report = publish(plan, held, stages, dict(during))
    assert set(during) <= set(stages)
    assert report.people == CENSUS.n
    require_same(tmp_path / "release", tmp_path / "memory")
    whole = dc.audit(tmp_path / "release", dc.read(tmp_path / "source", Plan.read(plan).schema))
    assert report.identity == whole.identity
    assert report.worst == whole.worst
    again = on_cluster.audit_by_cluster(
        tmp_path / "release", tmp_path / "source", Plan.read(plan).schema, held,
        asked=AskedOfParts(["cell-11"]), progress=lambda *told: None,
    )  # fmt: skip
    assert again.identity == whole.identity
    assert again.presets == {"cell-11": False}
    assert len(list((tmp_path / "release").glob("generalized-*.parquet"))) > 1
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"source", "t.plan.toml", "memory", "release"}


ROLES = """
[source]
file = "{file}"
missing = ["-9", "NA"]
[roles]
identifier = ["pid*"]
quasi-identifier = ["a*", "s*x"]
[columns.age]
type = "integer"
missing = "value"
[columns.income]
role = "sensitive"
missing = "drop"
[method]
name = "generalization"
[[method.principles]]
name = "k-anonymity"
k = 4
"""


def test_roles_by_patterns_and_what_means_missing_are_known_to_a_cluster(
    tmp_path: Path, held: str
) -> None:
    """Also of a table of which nobody here knows the columns."""
    row = pl.int_range(pl.len())
    people = CENSUS.to_polars().select(
        pl.when(row % 9 > 0).then(row).otherwise(-9).alias("pid"),
        pl.when(row % 50 > 0).then(row.cast(pl.String)).otherwise(pl.lit(" NA ")).alias("pid_2"),
        pl.when(row % 7 > 0).then("age").otherwise(-9).alias("age"),
        "sex",
        pl.when(row % 11 > 0).then(pl.col("income").cast(pl.String)).otherwise(pl.lit("NA"))
        .alias("income"),
    )  # fmt: skip
    spread(people, tmp_path / "source")
    for name, file in [("here", "source"), ("there", (tmp_path / "source").as_uri())]:
        plan = tmp_path / f"{name}.plan.toml"
        plan.write_text(ROLES.format(file=file) + f'[release]\nfolder = "{name}"\n')
        report = publish(plan, held, [], {})
        assert report.people == people.filter(pl.col("income") != "NA").height
    whole = tmp_path / "here.plan.toml"
    done = discreet("publish", whole, "--out", "memory", "--memory", "9GB", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("here", "there"):
        require_same(tmp_path / name, tmp_path / "memory")
    done = discreet_here(
        "publish", "there.plan.toml", "--engine", held, "--overwrite", cwd=tmp_path
    )
    assert done.returncode == 0 and "not published: pid, pid_2" in done.stdout, done.stderr


def test_batches_are_filled_on_a_cluster(tmp_path: Path, held: str) -> None:
    spread(CENSUS.to_polars().select("age", "sex", "income"), tmp_path / "source")
    plan = write_plan(tmp_path, method='name = "angelization"')
    plan.write_text(plan.read_text().replace(
        'name = "k-anonymity"\nk = 4', 'name = "frequency-diversity"\nl = 3'))  # fmt: skip
    report = publish(plan, held, [], {})
    data = dc.read(tmp_path / "source", Plan.read(plan).schema)
    assert len(list((tmp_path / "release").glob("generalized-*.parquet"))) > 1
    require_same_batches(dc.load(tmp_path / "release"), dc.publish(data, Plan.read(plan).method))
    require_same_audit(report, dc.audit(tmp_path / "release", data))


def test_marginals_refer_to_batches_on_a_cluster(tmp_path: Path, held: str) -> None:
    names = ["age", "sex", "region", "income"]
    spread(CENSUS.to_polars().select(names), tmp_path / "source")
    plan = write_plan(
        tmp_path, method='name = "angelization"\nk = 4\nmarginals = [["sex"], ["age", "region"]]'
    )
    text = plan.read_text().replace(
        "[method]", '[columns.region]\nrole = "quasi-identifier"\n[method]'
    )
    plan.write_text(text.replace('"k-anonymity"\nk = 4', '"frequency-diversity"\nl = 3'))
    report = publish(plan, held, [], {})
    data = dc.read(tmp_path / "source", Plan.read(plan).schema)
    assert len(list((tmp_path / "release").glob("generalized_2-*.parquet"))) > 1
    require_same_batches(dc.load(tmp_path / "release"), dc.publish(data, Plan.read(plan).method))
    require_same_audit(report, dc.audit(tmp_path / "release", data))


def test_levels_are_found_on_a_cluster(tmp_path: Path, held: str) -> None:
    spread(CENSUS.to_polars().select("age", "sex", "income"), tmp_path / "source")
    plan = write_plan(tmp_path, method='name = "full-domain"')
    report = publish(plan, held, [], {})
    data = dc.read(tmp_path / "source", Plan.read(plan).schema)
    dc.publish(data, Plan.read(plan).method).write(tmp_path / "memory")
    require_same(tmp_path / "release", tmp_path / "memory")
    require_same_audit(report, dc.audit(tmp_path / "memory", data))


def test_a_release_is_held_against_earlier_ones_on_a_cluster(tmp_path: Path, held: str) -> None:
    people = CENSUS.to_polars().select("sex", "marital", "education", "household")
    old = people.select("sex", "education", "household")
    schema = dc.Schema.infer(old, quasi_identifiers=["sex", "education"], sensitive=["household"])
    dc.publish(dc.read(old, schema), dc.Generalization(dc.KAnonymity(50))).write(tmp_path / "old")
    spread(people.drop("household"), tmp_path / "source")
    plan = write_plan(tmp_path, method='name = "sequential"\nearlier = ["old"]')
    text = plan.read_text().replace(
        'name = "k-anonymity"\nk = 4',
        'name = "xy-anonymity"\nx = ["sex", "marital"]\ny = ["household"]\nk = 3')  # fmt: skip
    columns = '[columns.marital]\nrole = "quasi-identifier"\n[columns.education]\n'
    columns += 'role = "quasi-identifier"\ntype = "integer"\n'
    text = text.replace('[columns.age]\nrole = "quasi-identifier"\ntype = "integer"\n', columns)
    plan.write_text(text.replace('[columns.income]\nrole = "sensitive"\ntype = "integer"\n', ""))
    report = publish(plan, held, [], {})
    wanted = Plan.read(plan)
    data = dc.read(tmp_path / "source", wanted.schema)
    dc.publish(data, wanted.method).write(tmp_path / "memory")
    require_same(tmp_path / "release", tmp_path / "memory")
    whole = dc.audit(tmp_path / "memory", data, earlier=wanted.method.earlier)
    assert [check.principle for check in report.checks] == [wanted.method.principle]
    require_same_audit(report, whole)


def test_numbers_are_shuffled_on_a_cluster_although_a_worker_is_lost(
    tmp_path: Path, cluster: Cluster, held: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows_on_cluster, "AT_ONCE", 2000)
    spread(CENSUS.to_polars().select("age", "sex", "income"), tmp_path / "source")
    plan = write_plan(tmp_path, method='name = "permutation"')
    plan.write_text(plan.read_text().replace(
        'name = "k-anonymity"\nk = 4', 'name = "k-e"\nk = 4\ne = 2000'))  # fmt: skip

    def lose() -> None:
        cluster.workers[-1].kill()
        cluster.add_workers(1)

    report = publish(plan, held, [], {"Grouping": lose})
    data = dc.read(tmp_path / "source", Plan.read(plan).schema)
    assert len(list((tmp_path / "release").glob("permuted-*.parquet"))) > 1
    require_same_runs(dc.load(tmp_path / "release"), dc.publish(data, Plan.read(plan).method))
    require_same_audit(report, dc.audit(tmp_path / "release", data))


def test_columns_are_found_and_broken_up_on_a_cluster(tmp_path: Path, held: str) -> None:
    spread(CENSUS.to_polars().select("age", "sex", "income"), tmp_path / "source")
    plan = write_plan(tmp_path, method='name = "slicing"')
    plan.write_text(plan.read_text().replace(
        'name = "k-anonymity"\nk = 4', 'name = "frequency-diversity"\nl = 3'))  # fmt: skip
    report = publish(plan, held, [], {})
    data = dc.read(tmp_path / "source", Plan.read(plan).schema)
    require_same_slices(dc.load(tmp_path / "release"), dc.publish(data, Plan.read(plan).method))
    require_same_audit(report, dc.audit(tmp_path / "release", data))


@pytest.mark.parametrize(
    ("name", "principle", "require"),
    [
        ("generalization", 'name = "k-anonymity"\nk = 4', None),
        ("angelization", 'name = "frequency-diversity"\nl = 3', require_same_batches),
        ("slicing", 'name = "frequency-diversity"\nl = 3', require_same_slices),
        ("permutation", 'name = "k-e"\nk = 4\ne = 100', require_same_runs),
    ],
)
def test_attributes_may_be_called_on_a_cluster_what_releases_call_their_own_columns(
    tmp_path: Path,
    held: str,
    name: str,
    principle: str,
    require: Callable[[dc.Release, dc.Release], None] | None,
) -> None:
    own = {"generalization": "class", "angelization": "batch", "slicing": "bucket",
           "permutation": "group"}[name]  # fmt: skip
    names = {"age": own.title(), "sex": "value", "income": "count"}
    spread(CENSUS.to_polars().select([*names]).rename(names), tmp_path / "source")
    plan = write_plan(tmp_path, method=f'name = "{name}"')
    text = plan.read_text().replace('name = "k-anonymity"\nk = 4', principle)
    for plain, other in names.items():
        text = text.replace(f"[columns.{plain}]", f"[columns.{other}]")
    plan.write_text(text)
    report = publish(plan, held, [], {})
    data, made = dc.read(tmp_path / "source", Plan.read(plan).schema), tmp_path / "release"
    whole = dc.publish(data, Plan.read(plan).method)
    assert f"{own}_" in dc.load(made).tables[next(iter(whole.shown))].columns
    if require is None:
        require_same(made, whole.write(tmp_path / "memory"))
    else:
        require(dc.load(made), whole)
    require_same_audit(report, dc.audit(made, data))


def test_people_are_dealt_on_a_cluster_and_all_their_classes_are_in_one_file(
    tmp_path: Path, held: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spread(CENSUS.to_polars().select("age", "sex", "income", "region"), tmp_path / "source")
    more = '[columns.region]\nrole = "quasi-identifier"'
    near = '[[method.principles]]\nname = "proximity"\nepsilon = 1000\nm = 3'
    plan = write_plan(tmp_path, near)
    plan.write_text(plan.read_text().replace("[method]", f"{more}\n[method]"))
    report = publish(plan, held, [], {})
    schema, method = Plan.read(plan).schema, Plan.read(plan).method
    data = dc.read(tmp_path / "source", schema)
    made = dc.publish(data, method)
    made.write(tmp_path / "memory")
    require_same(tmp_path / "release", tmp_path / "memory")
    assert len(list((tmp_path / "release").glob("generalized-*.parquet"))) > 1
    require_same_audit(report, dc.audit(tmp_path / "release", data))
    scattered = pl.col("class").rank("dense") * 7919 % 100_003
    odd = made.tables["generalized"].with_columns(scattered.cast(pl.Int32).alias("class"))
    made.tables["generalized"] = odd.sort("class", maintain_order=True)
    monkeypatch.setattr(table_files, "PART", 1500)
    made.write(tmp_path / "scattered")
    with pytest.raises(dc.errors.SchemaError, match="covered by classes of several files"):
        on_cluster.audit_by_cluster(
            tmp_path / "scattered", tmp_path / "source", schema, held, asked=AskedOfParts(),
            progress=lambda *told: None,
        )  # fmt: skip


def test_odd_tables_give_the_same_on_a_cluster(tmp_path: Path, held: str) -> None:
    data = odd_table()
    spread(data.to_polars(), tmp_path / "source")
    columns = "\n".join(
        f'[columns."{a.name}"]\nrole = "{a.role}"\ntype = "{a.type}"\nmissing = "value"\n'
        + (f"decimals = {a.decimals}\n" if a.decimals else "")
        + ("keep = true\n" if a.keep else "")
        for a in data.schema
    )
    plan = tmp_path / "t.plan.toml"
    plan.write_text(
        f'[source]\nfile = "source"\n{columns}\n[method]\nname = "generalization"\n'
        '[[method.principles]]\nname = "frequency-diversity"\nl = 3\n'
        '[[method.principles]]\nname = "t-closeness"\nt = 0.4\n'
    )
    assert discreet_here("publish", plan, "--out", "memory", cwd=tmp_path).returncode == 0
    publish(plan, held, [], {})
    require_same(tmp_path / "release", tmp_path / "memory")


def test_a_frame_of_a_notebook_is_published_by_its_own_session(tmp_path: Path, held: str) -> None:
    data = CENSUS.to_polars().select("age", "sex", "income")
    spread(data, tmp_path / "source")
    schema = dc.Schema.infer(data, quasi_identifiers=["age", "sex"], sensitive=["income"])
    method = dc.Generalization(dc.KAnonymity(4))
    with open_session(held) as session:
        frame = session.read.parquet((tmp_path / "source").as_uri())
        before = session.conf.get("spark.sql.caseSensitive")
        found = dc.publish(frame, method, schema=schema, folder=tmp_path / "release")
        assert session.conf.get("spark.sql.caseSensitive") == before
        assert frame.count() == found.people == CENSUS.n  # it goes on
        for wrong, given in (
            (dc.Slicing(dc.DistinctDiversity(2), buckets=200), "new"),
            (method, "release"),
        ):
            with pytest.raises(dc.DiscreetError):
                dc.publish(frame, wrong, schema=schema, folder=tmp_path / given)
    assert {path.name for path in tmp_path.iterdir()} == {"source", "release"}
    dc.publish(dc.read(data, schema), method).write(tmp_path / "memory")
    require_same(tmp_path / "release", tmp_path / "memory")


def test_a_frame_that_is_another_whenever_it_is_read_is_read_once(
    tmp_path: Path, held: str
) -> None:
    def draw(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            drawn = pa.array(np.random.default_rng().integers(0, 90, batch.num_rows))
            yield pa.RecordBatch.from_arrays([drawn, *batch.columns[1:]], names=batch.schema.names)

    data = CENSUS.to_polars().select(pl.col("age").cast(pl.Int64), "sex", "income")
    spread(data, tmp_path / "source")
    schema = dc.Schema.infer(data, quasi_identifiers=["age", "sex"], sensitive=["income"])
    with open_session(held) as session:
        frame = session.read.parquet((tmp_path / "source").as_uri())
        drawn = frame.mapInArrow(draw, frame.schema)
        method = dc.Generalization(dc.KAnonymity(4))
        found = dc.publish(drawn, method, schema=schema, folder=tmp_path / "release")
    assert found.people == CENSUS.n
    assert found.kept


def test_a_table_looks_the_same_on_a_cluster(tmp_path: Path, held: str) -> None:
    n = 600
    height = [row if row >= 500 else row % 90 for row in range(n)]
    odd = pl.DataFrame(
        {
            "patient": [f" p{row % 400}"[row % 2 :] for row in range(n)],
            "height": (pl.Series(height) / 100).cast(pl.Decimal(9, 2)),
            "city": pl.Series(["1", "1.0", "?", "a ", "a", None] * (n // 6)),
            "sort": pl.Series(["a", "b", None] * (n // 3), dtype=pl.Categorical),
            "diagnosis": [f"d{row % 7}" for row in range(n)],
        }
    )
    spread(odd, tmp_path / "source")
    seen = on_cluster.inspect_on_cluster(tmp_path / "source", tmp_path, held, lambda *told: None)
    assert seen == inspect_table(tmp_path / "source", tmp_path)
    assert seen.repeats == {"patient": 400}
    assert seen.unique == 100


def test_a_promise_that_is_not_kept_leaves_nothing(tmp_path: Path, held: str) -> None:
    spread(CENSUS.to_polars().select("age", "sex", "income"), tmp_path / "source")
    plan = write_plan(tmp_path)
    plan.write_text(plan.read_text().replace("k = 4", "k = 60000"))
    with pytest.raises(dc.errors.PromiseError, match="6000"):
        publish(plan, held, [], {})
    assert {path.name for path in tmp_path.iterdir()} == {"source", "t.plan.toml"}


def test_what_a_column_cannot_be_is_said_before_any_work(tmp_path: Path, held: str) -> None:
    frame = CENSUS.to_polars().select("age", "sex", "income")
    odd = pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("?")).otherwise(
        pl.col("income").cast(pl.String))  # fmt: skip
    spread(frame.with_columns(income=odd), tmp_path / "source")
    with pytest.raises(dc.errors.MicrodataError, match="'\\?' is not an integer"):
        publish(write_plan(tmp_path), held, [], {})


def test_the_command_line_publishes_on_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spread(CENSUS.to_polars().select("age", "sex", "income"), tmp_path / "source")
    plan = write_plan(tmp_path)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK)
    made = discreet("publish", plan, "--engine", "local[1]", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "verified from disk" in made.stdout
    before = fingerprint(tmp_path / "release")
    for engine, said in (("spark://127.0.0.1:9", "127.0.0.1:9"), ("spork://x", "spork")):
        refused = discreet_here("publish", plan, "--engine", engine, "--overwrite", cwd=tmp_path)
        assert refused.returncode == 2, refused.stderr
        assert said in refused.stderr
        assert "Traceback" not in refused.stderr
    assert fingerprint(tmp_path / "release") == before


def test_workers_that_could_not_do_the_work_are_refused_first(
    tmp_path: Path, held: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spread(CENSUS.to_polars().select("age", "sex", "income"), tmp_path / "source")
    plan = write_plan(tmp_path)
    with monkeypatch.context() as patch, pytest.raises(dc.errors.ClusterError, match="executor"):
        patch.setattr(worker_memory, "LIBRARIES", 2**50)
        publish(plan, held, [], {})
    monkeypatch.setattr(dc, "__version__", "0.0.7")
    with pytest.raises(dc.errors.ClusterError, match=r"here is 0\.0\.7"):
        publish(plan, held, [], {})
    (tmp_path / "only_here.py").write_text("def tell(batches):\n    yield from batches\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(on_cluster, "_tell_version", import_module("only_here").tell)
    with pytest.raises(dc.errors.ClusterError, match="no package 'only_here'"):
        publish(plan, held, [], {})
    assert not (tmp_path / "release").exists()
