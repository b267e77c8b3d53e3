"""Projects of ARX: what is taken over, and what is refused before anything is written."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

import discreet as dc
from commands import discreet_here
from discreet.steward.inspection import Inspection, inspect_table
from discreet.steward.plan import Plan
from discreet.table import arx_projects
from discreet.table.arx_projects import read_project
from discreet.table.schema import Role
from discreet.table.taxonomy import Taxonomy

TABLE = [
    ["name", "age", "ward", "place", "note", "illness"],
    ["Ann", "34", "81667", "Graz, \"West\"", "x", "flu"],
    ["Bob", "9", "81675", "Linz", "y", "gout"],
    ["Cid", "45", "81931", "Linz", "", "flu"],
    ["Dan", "66", "81931", "Graz, \"West\"", "x", "ulcer"],
]  # fmt: skip
TYPES = {
    "name": "IDENTIFYING",
    "age": "QUASI_IDENTIFYING",
    "ward": "QUASI_IDENTIFYING",
    "place": "QUASI_IDENTIFYING",
    "note": "INSENSITIVE",
    "illness": "SENSITIVE",
}
HIERARCHIES = {
    "age": [["34", "<50", "*"], ["9", "<50", "*"], ["45", "<50", "*"], ["66", ">=50", "*"]],
    "ward": [["81675", "b", "*"], ["81667", "a", "*"], ["81931", "a", "*"]],
    "place": [["Linz"], ["Graz, \"West\""]],
    "illness": [["flu", "cold", "*"], ["gout", "pain", "*"]],
}  # fmt: skip


def write_csv(rows: list[list[str]], separator: str) -> str:
    def quote(cell: str) -> str:
        return f'"{cell.replace(chr(34), chr(34) * 2)}"' if '"' in cell else cell

    return "".join(separator.join(map(quote, row)) + "\n" for row in rows)


def define(types: dict[str, str]) -> str:
    parts = []
    for name, kind in types.items():
        ref = f"<ref>hierarchies/{name}.csv</ref>\n" if name in HIERARCHIES else ""
        parts.append(
            f"\t<assigment>\n\t\t<name>{name}</name>\n\t\t<type>{kind}_ATTRIBUTE</type>\n"
            f"\t\t<datatype>String</datatype>\n{ref}\t</assigment>\n"
        )
    return f"<definition>\n{''.join(parts)}</definition>\n"


def write_project(
    path: Path, changes: dict[str, str | bytes | None] | None = None, separator: str = ";"
) -> Path:
    parts: dict[str, str | bytes | None] = {
        "metadata.xml": "<metadata><version>3.9.1</version></metadata>",
        "project.dat": b"\xac\xed\x00\x05serialized",
        "project.xml": f"<project><name>p</name><separator>{separator}</separator></project>",
        "data/input.csv": write_csv(TABLE, separator),
        "input/config.dat": b"\xac\xed\x00\x05serialized",
        "input/definition.xml": define(TYPES),
    }
    for name, rows in HIERARCHIES.items():
        parts[f"input/hierarchies/{name}.csv"] = write_csv(rows, separator)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**parts, **(changes or {})}.items():
            if content is not None:
                archive.writestr(name, content)
    return path


def lay_out(found: Inspection, folder: Path) -> Plan:
    for name, text in found.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "p.toml").write_text(found.plan, encoding="utf-8")
    return Plan.read(folder / "p.toml")


@pytest.mark.parametrize("separator", [";", ",", "\t"])
def test_a_project_gives_its_table_roles_and_hierarchies(tmp_path: Path, separator: str) -> None:
    project = read_project(write_project(tmp_path / "p.deid", separator=separator))
    assert project.frame.columns == TABLE[0]
    assert project.frame["place"].to_list() == [row[3] for row in TABLE[1:]]
    assert project.frame["note"].to_list() == ["x", "y", None, "x"]
    assert project.roles == {
        "name": Role.IDENTIFIER,
        "age": Role.QUASI_IDENTIFIER,
        "ward": Role.QUASI_IDENTIFIER,
        "place": Role.QUASI_IDENTIFIER,
        "note": Role.OTHER,
        "illness": Role.SENSITIVE,
    }
    assert set(project.hierarchies) == {"age", "ward", "illness"}  # of place there are no levels


def test_the_plan_of_a_project_runs_with_its_hierarchies(tmp_path: Path) -> None:
    found = inspect_table(write_project(tmp_path / "p.deid"), tmp_path)
    assert set(found.files) == {"p.csv", "p.age.csv", "p.ward.csv", "p.illness.csv"}
    plan = lay_out(found, tmp_path)
    data = dc.read(plan.source, plan.schema)
    assert {a.name: a.role for a in plan.schema} == read_project(tmp_path / "p.deid").roles
    assert data.domains["age"].texts == ["9", "34", "45", "66"]
    tree = data.domains["age"].taxonomy
    assert tree is not None and tree.cover([0, 1, 2]) == "<50"
    release = dc.publish(data, plan.method)
    assert dc.audit(release, data).kept


def test_numbers_that_are_not_grouped_by_their_order_are_categories(tmp_path: Path) -> None:
    found = inspect_table(write_project(tmp_path / "p.deid"), tmp_path)
    assert found.schema["age"].type is dc.Type.INTEGER
    assert found.schema["ward"].type is dc.Type.CATEGORY
    assert "its hierarchy is of no integer" in found.schema["ward"].reason


def test_a_hierarchy_that_lacks_a_value_is_written_but_not_used(tmp_path: Path) -> None:
    found = inspect_table(write_project(tmp_path / "p.deid"), tmp_path)
    assert "cannot be used: column 'illness': value 'ulcer'" in found.schema["illness"].reason
    assert lay_out(found, tmp_path).schema["illness"].taxonomy is None
    assert Taxonomy.read(tmp_path / "p.illness.csv").leaves == ("flu", "gout")


def test_a_column_without_a_type_is_an_identifier(tmp_path: Path) -> None:
    some = {name: kind for name, kind in TYPES.items() if name != "note"}
    path = write_project(tmp_path / "p.deid", {"input/definition.xml": define(some)})
    assert read_project(path).roles["note"] is Role.IDENTIFIER


def test_names_of_attributes_lead_nowhere(tmp_path: Path) -> None:
    table = [["a/b: c", "s"], ["1", "x"], ["2", "y"]]
    changes = {
        "data/input.csv": write_csv(table, ";"),
        "input/definition.xml": define({"a/b: c": "QUASI_IDENTIFYING", "s": "SENSITIVE"}),
        "input/hierarchies/a/b: c.csv": "1;*\n2;*\n",
    }
    found = inspect_table(write_project(tmp_path / "p.deid", changes), tmp_path)
    assert set(found.files) == {"p.csv", "p.a_b_c.csv"}
    assert lay_out(found, tmp_path).schema["a/b: c"].taxonomy is not None


def test_missing_values_in_numbers_stay_missing_under_a_hierarchy(tmp_path: Path) -> None:
    changes: dict[str, str | bytes | None] = {
        "data/input.csv": write_csv([["age", "s"], ["30", "x"], ["NULL", "y"], ["4", "x"]], ";"),
        "input/hierarchies/age.csv": "NULL;NULL;*\n30;old;*\n4;young;*\n",
    }
    found = inspect_table(write_project(tmp_path / "p.deid", changes), tmp_path)
    plan = lay_out(found, tmp_path)
    assert plan.schema["age"].type is dc.Type.INTEGER
    assert dc.read(plan.source, plan.schema).domains["age"].texts == ["4", "30", "(missing)"]


DOCTYPE = '<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]><definition>&e;</definition>'


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metadata.xml": None}, "not a project of ARX"),
        ({"input/definition.xml": None}, "not a project of ARX"),
        ({"data/input.csv": None}, r"data/input\.csv is missing"),
        ({"data/input.csv": "a;b\n"}, "no rows"),
        ({"data/input.csv": "a;b\n1;2\n3\n"}, "row 3 has 1 cells, the first has 2"),
        ({"data/input.csv": "a;a\n1;2\n"}, "repeats the column 'a'"),
        ({"data/input.csv": "ä;b\n1;2\n".encode("latin-1")}, "cannot be read"),
        ({"input/definition.xml": "<definition>"}, r"definition\.xml cannot be read"),
        ({"input/definition.xml": DOCTYPE}, "DOCTYPE"),
        ({"input/definition.xml": DOCTYPE.encode("utf-16")}, "DOCTYPE"),
        ({"input/definition.xml": define({"age": "SECRET"})}, "'SECRET_ATTRIBUTE', which ARX"),
        ({"../../evil.csv": "x"}, "outside of the project"),
        ({"/evil.csv": "x"}, "outside of the project"),
        ({"C:\\evil.csv": "x"}, "outside of the project"),
    ],
)
def test_broken_and_hostile_projects_are_refused(
    tmp_path: Path, changes: dict[str, str | bytes | None], message: str
) -> None:
    with pytest.raises(dc.errors.MicrodataError, match=message):
        read_project(write_project(tmp_path / "p.deid", changes))


def test_a_project_that_unpacks_too_far_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arx_projects, "LARGEST", 1000)
    rows = "a;b\n" + "1;2\n" * 1000
    with pytest.raises(dc.errors.MicrodataError, match="more than 1,000 bytes"):
        arx_projects.unpack(write_project(tmp_path / "p.deid", {"data/input.csv": rows}))


def test_a_project_that_lies_about_its_size_is_not_unpacked_further(tmp_path: Path) -> None:
    table = b"a;b\n" + b"1;2\n" * 1000
    path = write_project(tmp_path / "p.deid", {"data/input.csv": table})
    true, said = len(table).to_bytes(4, "little"), (8).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(true, said))
    with pytest.raises(dc.errors.MicrodataError, match="cannot be read as an ARX project"):
        read_project(path)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.deid"
    with pytest.raises(dc.errors.MicrodataError, match="no such file"):
        read_project(path)
    path.write_text("no zip")
    with pytest.raises(dc.errors.MicrodataError, match="cannot be read as an ARX project"):
        read_project(path)
    whole = write_project(path).read_bytes()
    path.write_bytes(whole[:100] + b"\x00" * 40 + whole[140:])
    with pytest.raises(dc.errors.MicrodataError, match=r"p\.deid"):
        read_project(path)


def test_inspect_writes_the_files_of_a_project_beside_the_plan_or_nothing(tmp_path: Path) -> None:
    def discreet(*arguments: str) -> subprocess.CompletedProcess[str]:
        return discreet_here(*arguments, cwd=tmp_path)

    write_project(tmp_path / "p.deid")
    (tmp_path / "p.ward.csv").write_text("mine")
    done = discreet("inspect", "p.deid")
    assert done.returncode == 2 and "p.ward.csv: exists already" in done.stderr
    assert not (tmp_path / "p.plan.toml").exists() and not (tmp_path / "p.csv").exists()
    done = discreet("inspect", "p.deid", "--plan", "in/my.toml")
    assert done.returncode == 0, done.stderr
    assert {p.name for p in (tmp_path / "in").iterdir()} == {
        "my.toml", "p.csv", "p.age.csv", "p.ward.csv", "p.illness.csv",
    }  # fmt: skip
    assert (tmp_path / "in" / "p.csv").stat().st_mode & 0o077 == 0  # people, for their owner
    assert discreet("publish", "in/my.toml").returncode == 0
