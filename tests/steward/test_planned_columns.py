"""Roles of many columns at once: by patterns, matched against the table wherever it lies."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import psycopg
import pytest

import discreet as dc
from commands import discreet_here
from discreet.errors import PlanError
from discreet.steward.plan import Plan, plan_model

ROLES = """
[roles]
quasi-identifier = ["age", "edu*"]
sensitive = ["diag*_1"]
identifier = ["Name"]
other = ["note [*]*"]
"""
REST = """
[columns.age]
type = "integer"
[columns.edu_years]
type = "integer"
role = "quasi-identifier"
[columns.region]
role = "quasi-identifier"
[method]
name = "generalization"
[[method.principles]]
name = "k-anonymity"
k = 3
"""
NAMES = ["region", "edu_years", "diag_1", "age", "education", "Name", "Names", "note [x] y", "EDU"]


def make_table() -> pl.DataFrame:
    row = pl.int_range(60, eager=True)
    cells = {name: row * (7 + i) % (3 + i) for i, name in enumerate(NAMES)}
    return pl.DataFrame(cells | {"Name": row})


def write_plan(folder: Path, source: str, text: str = ROLES + REST) -> Path:
    path = folder / "plan.toml"
    path.write_text(f"[source]\n{source}\n{text}")
    return path


def list_roles(schema: dc.Schema) -> dict[str, str]:
    return {attribute.name: str(attribute.role) for attribute in schema}


GIVEN = {
    "age": "quasi-identifier", "edu_years": "quasi-identifier", "region": "quasi-identifier",
    "Name": "identifier", "education": "quasi-identifier", "diag_1": "sensitive",
    "note [x] y": "other",
}  # fmt: skip


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.xlsx", "folder"])
def test_patterns_are_matched_against_the_columns_of_any_file(tmp_path: Path, name: str) -> None:
    place, table = tmp_path / name, make_table()
    if name == "folder":
        place.mkdir()
        table.write_parquet(place / "part-0.parquet")
    elif name.endswith(".xlsx"):
        table.write_excel(place)
    elif name.endswith(".gz"):
        import gzip

        place.write_bytes(gzip.compress(table.write_csv().encode("utf-16")))
    else:
        (table.write_parquet if name == "t.parquet" else table.write_csv)(place)
    plan = Plan.read(write_plan(tmp_path, f'file = "{name}"'))
    assert list_roles(plan.schema) == GIVEN
    types = {a.name: str(a.type) for a in plan.schema}
    assert (types["age"], types["edu_years"], types["education"]) == (
        "integer", "integer", "category",
    )  # fmt: skip
    data = dc.read(plan.table, plan.schema)
    assert list_roles(dc.read(table, tmp_path / "plan.toml").schema) == GIVEN
    assert set(data.codes) == {
        n for n, role in GIVEN.items() if role not in ("identifier", "other")
    }


def test_patterns_are_matched_against_tables_of_databases(tmp_path: Path, postgres: str) -> None:
    table = make_table()
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.register("given", table.to_arrow())
        database.execute("CREATE TABLE people AS FROM given")
    with psycopg.connect(postgres) as client:
        client.execute('DROP TABLE IF EXISTS "roles"')
        columns = ", ".join(f'"{name}" bigint' for name in NAMES)
        client.execute(f'CREATE TABLE "roles" ({columns})'.encode())
    source = 'database = "t.duckdb"\ntable = "people"\nmissing = ["1"]'
    plan = Plan.read(write_plan(tmp_path, source))
    assert list_roles(plan.schema) == GIVEN
    with pytest.raises(dc.DiscreetError, match="column 'region': 20 of 60 cells are missing"):
        dc.read(plan.table, plan.schema)  # of files and databases alike
    asked = "query = 'SELECT * FROM \"roles\" ORDER BY 1; '"
    plan = write_plan(tmp_path, f'database = "{postgres}"\n{asked}')
    assert list_roles(Plan.read(plan).schema) == GIVEN


def test_a_release_is_the_same_whether_roles_are_listed_or_given_one_by_one(
    tmp_path: Path,
) -> None:
    make_table().write_parquet(tmp_path / "t.parquet")
    write_plan(tmp_path, 'file = "t.parquet"')
    types = {"age": "integer", "edu_years": "integer"}
    single = "".join(
        f'[columns."{name}"]\nrole = "{role}"\ntype = "{types.get(name, "category")}"\n'
        for name, role in GIVEN.items()
    )
    method = REST[REST.index("[method]") :]
    (tmp_path / "single.toml").write_text(f'[source]\nfile = "t.parquet"\n{single}{method}')
    made = []
    for plan, memory in [("plan.toml", "9GB"), ("plan.toml", "1KB"), ("single.toml", "9GB")]:
        out = f"r{len(made)}"
        done = discreet_here("publish", plan, "--out", out, "--memory", memory, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "not published: Name, note [x] y" in done.stdout
        made.append({path.name: path.read_bytes() for path in (tmp_path / out).iterdir()})
    assert made[0].keys() == made[1].keys() == made[2].keys()
    assert made[0]["generalized.parquet"] == made[2]["generalized.parquet"]
    tables = [dc.load(tmp_path / f"r{i}").tables["generalized"] for i in range(2)]
    assert tables[0].drop("class").equals(tables[1].drop("class"))
    done = discreet_here(
        "audit", "r0", "--microdata", "t.parquet", "--plan", "plan.toml", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"edu*"', '"xyz*"', r"roles.quasi-identifier = 'xyz\*' matches no column of the table"),
        ('"edu*"', '"Edu*"', r"'Edu\*' matches no column"),
        ('"edu*"', '"[a-e]*"', r"matches no column"),
        ('"diag*_1"', '"education"', r"roles.quasi-identifier = 'edu\*' and roles.sensitive = "
         r"'education' both take 'education'"),
        ('"diag*_1"', '"reg*"', r"roles.sensitive = 'reg\*' makes 'region' sensitive, and "
         r"columns.region.role makes it quasi-identifier"),
        ('["age", "edu*"]', '["edu*"]', r"columns.age: role is missing"),
        ("sensitive =", "secret =", r"roles: there is no setting 'secret'"),
        ("quasi-identifier =", "quasi_identifier =", r"no setting 'quasi_identifier'"),
        ('"diag*_1"', "1", r"roles.sensitive.entry 1"),
        ('"Name"', '"nome"', r"Column 'nome' is not in t.csv"),
    ],
)  # fmt: skip
def test_every_mistake_is_named_with_its_places(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    make_table().write_csv(tmp_path / "t.csv")
    plan = write_plan(tmp_path, 'file = "t.csv"', (ROLES + REST).replace(old, new, 1))
    with pytest.raises(dc.DiscreetError, match=said):
        dc.read(tmp_path / "t.csv", plan)
    done = discreet_here("publish", "plan.toml", cwd=tmp_path)
    assert done.returncode == 2 and not (tmp_path / "release").exists()


def test_names_alone_need_no_table(tmp_path: Path) -> None:
    plain = ROLES.replace("edu*", "education").replace("diag*_1", "diag_1").replace(
        "note [*]*", "note [x] y")  # fmt: skip
    plan = write_plan(tmp_path, 'file = "nowhere.csv"', plain + REST)
    assert list_roles(Plan.read(plan).schema) == GIVEN
    plan.write_text(plan.read_text().replace('"education"', '"education", "diag_1"'))
    with pytest.raises(PlanError, match="both take 'diag_1'"):
        Plan.read(plan)
    plan.write_text(f'[source]\nfile = "t.csv"\n{REST[REST.index("[method]") :]}')
    with pytest.raises(PlanError, match=r"\[columns\] is missing"):
        Plan.read(plan)


def test_check_and_the_json_schema_know_roles(tmp_path: Path) -> None:
    make_table().write_csv(tmp_path / "t.csv")
    write_plan(tmp_path, 'file = "t.csv"')
    done = discreet_here("plan", "check", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "quasi-identifier: age, edu_years, region, education" in done.stdout
    write_plan(tmp_path, 'file = "gone.csv"')
    done = discreet_here("plan", "check", "plan.toml", cwd=tmp_path)
    assert done.returncode == 2 and "gone.csv: no such file" in done.stderr
    write_plan(tmp_path, 'file = "s3://bucket/people"')
    done = discreet_here("plan", "check", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0 and "where a cluster reads s3://bucket/people" in done.stdout
    with pytest.raises(PlanError, match="only a cluster knows its columns"):
        Plan.read(tmp_path / "plan.toml").schema  # noqa: B018
    assert list_roles(Plan.read(tmp_path / "plan.toml").fit(NAMES)) == GIVEN
    roles = plan_model().model_json_schema()["$defs"]["RolesPlan"]["properties"]
    assert [*roles] == ["identifier", "quasi-identifier", "sensitive", "other"]
