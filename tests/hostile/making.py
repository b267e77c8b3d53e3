"""Honest files of every kind that stewards give, small; mutations begin with them."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import polars as pl

from hostile.walking import Walker

COLUMNS = """\
[columns.age]
role = "quasi-identifier"
type = "integer"
taxonomy = { intervals = [5, 10] }

[columns.sex]
role = "quasi-identifier"
type = "category"

[columns.region]
role = "quasi-identifier"
type = "category"
taxonomy = { file = "region.csv" }

[columns.born]
role = "other"
type = "date"

[columns.illness]
type = "category"
missing = "drop"

[columns.income]
type = "integer"
"""
END = """
[release]
folder = "release"
format = "csv"
"""
METHODS = {
    "slicing": """
[method]
name = "slicing"
columns = 2

[[method.principles]]
name = "frequency-diversity"
l = 2
on = "illness"

[[compare]]
name = "anatomy"
principles = [{ name = "frequency-diversity", l = "2..3", on = "illness" }]

[roles]
sensitive = ["illness", "income"]
""",
    "generalization": """
[method]
name = "generalization"
categories = "ancestor"

[[method.principles]]
name = "k-anonymity"
k = 3

[[method.principles]]
name = "proximity"
m = 2
epsilon = 20
on = "income"

[[compare]]
name = "full-domain"
principles = [{ name = "k-anonymity", k = { try = [2, 5] } }]

[roles]
sensitive = ["illness", "income"]
""",
    "permutation": """
[method]
name = "permutation"

[[method.principles]]
name = "k-e"
k = 3
e = 2
on = "income"

[roles]
sensitive = ["income"]
other = ["ill*"]
""",
}
QUESTIONS = [
    "SELECT COUNT(*) FROM release WHERE age BETWEEN 30 AND 60 AND sex = 'F'",
    "SELECT region, AVG(income) AS mean, COUNT(*) FROM release WHERE age > 25 OR NOT sex IN "
    "('M', 'F') GROUP BY region HAVING COUNT(*) > 2 ORDER BY mean DESC LIMIT 3",
    "SELECT CASE WHEN age < 40 THEN 'young' ELSE 'old' END AS a, SUM(income) / COUNT(*) FROM "
    "release GROUP BY 1",
    "WITH a AS (SELECT sex, COUNT(*) AS n FROM release GROUP BY sex) SELECT sex, n * 100.0 / "
    "(SELECT COUNT(*) FROM release) FROM a WHERE n > (SELECT AVG(n) FROM a)",
    "SELECT illness, MIN(income), MAX(income), MEDIAN(income) FROM release WHERE UPPER(region) "
    "LIKE 'n%' GROUP BY illness UNION ALL SELECT 'all', 1, 2, 3 FROM release",
    "SELECT sex, RANK() OVER (ORDER BY COUNT(*)) FROM release GROUP BY sex",
]
WORDS = [
    "SELECT", "FROM", "release", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION ALL",
    "JOIN", "ON", "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "CASE", "WHEN", "THEN", "END", "AS",
    "NULL", "IS", "DISTINCT", "COUNT(*)", "SUM", "AVG(income)", "MEDIAN", "STDDEV", "OVER",
    "PARTITION BY", "WITH a AS", "EXISTS", "CAST", "DATE '2020-01-01'", "INTERVAL 1 DAY", "age",
    "sex", "region", "illness", "income", "born", "x", "1", "0", "-1", "1e999", "0.1", "9" * 40,
    "'a'", "''", "(", ")", ",", ";", "--", "/*", "*", "/", "%", "=", "<>", "<", "||", "::", "[1]",
    "{'a': 1}", "?", "$1", "@", "\x00", "é", "ROW_NUMBER()", "ROLLUP", "FILTER (WHERE age > 3)",
    "QUANTILE_CONT(age, 0.5)", "LAG(age)", "x -> x + 1", "EXTRACT(YEAR FROM born)", "ALL", "ANY",
    "read_csv('/etc/passwd')", "ATTACH", "PRAGMA", "ROUND(age)", "POWER(age, 1000)", "age ** 99999",
    "REPEAT('x', 1000000000)", "RANGE(1000000000)", "SAMPLE 10%", "QUALIFY", "PIVOT", "LATERAL",
    "REGEXP_MATCHES(sex, '(a*)*b')", "WINDOW", "ROWS BETWEEN", "EXCEPT", "INTERSECT", "USING",
]  # fmt: skip

PEOPLE = "SELECT COUNT(*) FROM release WHERE "
QUESTIONS_TOO_FAR = {
    "conditions": PEOPLE + " AND ".join(f"age > {i}" for i in range(5000)),
    "alternatives": PEOPLE + " OR ".join(f"age > {i} AND sex = 'M'" for i in range(3000)),
    "values": f"{PEOPLE}age IN ({', '.join(map(str, range(20_000)))})",
    "characters": f"{PEOPLE}sex = '{'x' * 300_000}'",
    "digits": PEOPLE + "age > " + "9" * 100_000,
    "parentheses": PEOPLE + "(" * 5000 + "age > 3" + ")" * 5000,
    "negations": PEOPLE + "NOT " * 5000 + "age > 3",
    "aggregates": "SELECT " + ", ".join(f"SUM(age + {i})" for i in range(1000)) + " FROM release",
    "answers": " UNION ALL ".join(["SELECT COUNT(*) FROM release"] * 500),
    "cases": "SELECT CASE "
    + " ".join(f"WHEN age = {i} THEN {i}" for i in range(4000))
    + " END AS a, COUNT(*) FROM release GROUP BY 1",
    "control characters": "SELECT COUNT(*) FROM release\x00",
}
"""What nobody writes by hand, and programs may."""


def make_people(n: int = 60) -> pl.DataFrame:
    """Give a small table about people, with a column of each kind."""
    regions = ["north", "south", "east", "west"]
    return pl.DataFrame(
        {
            "age": [20 + i * 7 % 50 for i in range(n)],
            "sex": ["MF"[i % 2] for i in range(n)],
            "region": [regions[i * 3 % 4] for i in range(n)],
            "born": [f"19{60 + i % 40}-0{1 + i % 9}-1{i % 9}" for i in range(n)],
            "illness": [None if i == 7 else f"ill {i % 5}" for i in range(n)],
            "income": [1000 + i * i * 13 % 4000 for i in range(n)],
        }
    )


def make_ratings() -> pl.DataFrame:
    """Give ratings of a few items by a few people."""
    pairs = [(u, i) for u in range(8) for i in range(5) if (u * i) % 3]
    return pl.DataFrame(
        {
            "user": [u for u, _ in pairs],
            "item": [f"film {i}" for _, i in pairs],
            "rating": [(u + i) % 5 for u, i in pairs],
        }
    )


def write_plan(method: str, table: str = "people.csv") -> str:
    """Write a plan that publishes the people by a method."""
    return f'[source]\nfile = "{table}"\n\n{COLUMNS}{METHODS[method]}{END}'


TAXONOMIES = {
    "region.csv": "north;cold;*\nsouth;warm;*\neast;cold;*\nwest;warm;*\n",
    "region.json": json.dumps(
        {"name": "*", "children": [{"name": "cold", "children": ["north", "east"]},
                                   {"name": "warm", "children": ["south", "west"]}]},
        indent=1,
    ),
    "nested.json": json.dumps({"region": {"*": {"cold": ["north", "east"],
                                                "warm": {"south": {}, "west": {}}}}}, indent=1),
    "amnesia.txt": "distinct\nname region\ntype string\nheight 3\n\n* has cold warm\n"
                   "cold has north east\nwarm has south west\n",
    "range.txt": "range\nname age\ntype int\nheight 2\n\n20,80 has 20,50 50,80\n",
}  # fmt: skip


def write_tables(folder: Path) -> list[Path]:
    """Write the people into a folder in every kind of file that a table may lie in."""
    people = make_people()
    text = people.write_csv()
    (folder / "people.csv").write_text(text, encoding="utf-8")
    (folder / "people.tsv").write_text(people.write_csv(separator="\t"), encoding="utf-16")
    (folder / "people.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    people.write_parquet(folder / "people.parquet")
    people.write_excel(folder / "people.xlsx")
    write_project(folder / "people.deid", text)
    found = ["people.csv", "people.tsv", "people.csv.gz", "people.parquet", "people.xlsx",
             "people.deid"]  # fmt: skip
    import duckdb
    import pyreadstat

    labelled = people.to_pandas()
    labels = {"income": {1000: "low"}}
    pyreadstat.write_sav(labelled, folder / "people.sav", variable_value_labels=labels)
    pyreadstat.write_dta(labelled, folder / "people.dta")
    pyreadstat.write_xport(labelled, folder / "people.xpt")
    with duckdb.connect(str(folder / "people.duckdb")) as database:
        database.register("people", people)
        database.execute("CREATE TABLE t AS SELECT * FROM people")
    return [folder / name for name in (*found, "people.sav", "people.dta", "people.xpt",
                                       "people.duckdb")]  # fmt: skip


def write_project(path: Path, table: str) -> Path:
    """Write a project of ARX about the people."""
    kinds = {"age": "QUASI_IDENTIFYING", "region": "QUASI_IDENTIFYING", "illness": "SENSITIVE"}
    assigned = "".join(
        f"<assigment><name>{name}</name><type>{kind}_ATTRIBUTE</type>"
        f"<ref>hierarchies/{name}.csv</ref></assigment>"
        for name, kind in kinds.items()
    )
    parts = {
        "metadata.xml": "<metadata><version>3.9.1</version></metadata>",
        "project.xml": "<project><name>p</name><separator>;</separator></project>",
        "data/input.csv": table.replace(",", ";"),
        "input/definition.xml": f"<definition>{assigned}</definition>",
        "input/hierarchies/region.csv": TAXONOMIES["region.csv"],
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def lay_out(folder: Path) -> Path:
    """Write the table, its taxonomies and plans into a folder."""
    make_people().write_csv(folder / "people.csv")
    make_ratings().write_csv(folder / "ratings.csv")
    for name, text in TAXONOMIES.items():
        (folder / name).write_text(text, encoding="utf-8")
    for method in METHODS:
        (folder / f"{method}.toml").write_text(write_plan(method), encoding="utf-8")
    return folder


def warm_up(walker: Walker, folder: Path) -> None:
    """Have a walker run what is honest, however long compiling takes."""
    lay_out(folder)
    for arguments in (
        ["publish", "generalization.toml"],
        ["publish", "slicing.toml", "--dry-run"],
        ["publish", "permutation.toml", "--dry-run"],
        ["query", "release", QUESTIONS[0]],
        ["inspect", "people.csv"],
    ):
        outcome = walker.run(*arguments, cwd=folder, seconds=600)
        assert outcome.code == 0, (arguments, outcome.err)
