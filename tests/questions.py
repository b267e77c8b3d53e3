"""Random questions in the language that analysts write, and their truth from plain DuckDB."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import duckdb
import numpy as np
import polars as pl

import discreet as dc
from discreet.forms.prepared import Prepared
from discreet.publishing.method import Method

METHODS: dict[str, Method] = {
    "generalization": dc.Generalization(dc.KAnonymity(4)),
    "angelization": dc.Angelization(dc.FrequencyDiversity(2), k=4),
    "slicing": dc.Slicing(dc.FrequencyDiversity(2)),
    "permutation": dc.Permutation(dc.KE(3, 2)),
    "rank-swapping": dc.RankSwapping(dc.KE(3, 2)),
    "perturbation": dc.Perturbation(dc.Proximity(1, 2), check="paper"),
}
"""One method of every form of release that is asked."""
CORRELATION, NOTHING = re.compile(r"CORR\(\w+, \w+\)"), r"NULLIF(\g<0>, 'NaN'::DOUBLE)"
"""Of one person it is nothing by the standard, in PostgreSQL and here; in DuckDB not a number,
and larger than every number."""
Row = dict[str, Any]
REGIONS, LEVELS = ["north", "south", "east", "west"], ["low", "mid", "high"]


def draw_people(rng: np.random.Generator, n: int) -> dc.Microdata:
    """Draw people with attributes of every kind, some of them missing, and a wage."""
    age = rng.integers(18, 90, n)
    level = rng.integers(0, 3, n)
    wage = (20 + level * 15 + rng.gamma(2, 8, n) + age // 5).round().astype(int) * 100
    frame = pl.DataFrame({
        "age": age,
        "sex": rng.choice(["Male", "Female"], n),
        "region": pl.Series([REGIONS[i] if i < 4 else None for i in rng.integers(0, 5, n)]),
        "level": pl.Series([LEVELS[i] for i in level]),
        "born": pl.Series(rng.integers(0, 9000, n)).cast(pl.Int32).cast(pl.Date),
        "rent": (rng.gamma(2, 400, n)).round(1),
        "wage": wage,
    })  # fmt: skip
    known = ["age", "sex", "region", "level", "born", "rent"]
    chosen = sorted(rng.choice(known, rng.integers(3, 6), replace=False).tolist(), key=known.index)
    schema = dc.Schema.infer(frame.select(*chosen, "wage"), quasi_identifiers=chosen,
                             sensitive=["wage"])  # fmt: skip
    for name in chosen:
        if name == "level":
            ordinal = dc.Attribute(name, dc.Role.QUASI_IDENTIFIER, dc.Type.ORDINAL,
                                   order=tuple(LEVELS))  # fmt: skip
            schema = schema.changed(ordinal)
    return dc.read(frame.select(*chosen, "wage"), schema)


@dataclass
class Drawer:
    """Draws questions about some attributes."""

    rng: np.random.Generator
    names: list[str]
    extra: list[str] = field(default_factory=list)

    def one(self, options: list[str]) -> str:
        """Pick one of some texts."""
        return options[self.rng.integers(len(options))]

    def number(self, name: str) -> str:
        """A value of a number."""
        top = {"age": 90, "rent": 2500, "wage": 12000}[name]
        return str(int(self.rng.integers(0, top)))

    def condition(self, depth: int = 1) -> str:
        """A condition, mostly on one attribute."""
        if depth and self.rng.random() < 0.35:
            joined = self.one(["AND", "AND", "AND", "OR"])
            return f"({self.condition(depth - 1)} {joined} {self.condition(depth - 1)})"
        name = self.one(self.names)
        if name in ("age", "wage", "rent"):
            a, b = self.number(name), self.number(name)
            unit = {"age": 10, "wage": 1000, "rent": 100}[name]
            return self.one([
                f"{name} < {a}", f"{name} >= {a}", f"{name} BETWEEN {a} AND {b}",
                f"{name} IN ({a}, {b})", f"NOT {name} > {a}", f"{name} * 2 + 1 < {a}",
                f"FLOOR({name} / {unit}) = {int(a) // unit}",
                f"ROUND({name} / {unit}) > {int(a) // unit}", f"CAST({name} AS INTEGER) % 3 = 1",
                f"CASE WHEN {name} < {a} THEN 1 ELSE 0 END = 1",
                f"ABS({name} - {a}) < {unit}", f"{name} IS DISTINCT FROM {a}",
                f"COALESCE({name}, 0) > {a}", f"CAST({name} AS VARCHAR) LIKE '%{a[-1]}%'",
            ])  # fmt: skip
        if name == "born":
            day = f"DATE '{1970 + self.rng.integers(0, 25)}-0{self.rng.integers(1, 10)}-11'"
            return self.one([
                f"born < {day}", f"EXTRACT(year FROM born) > {1970 + self.rng.integers(0, 25)}",
                f"MONTH(born) = {self.rng.integers(1, 13)}",
                f"born BETWEEN {day} AND DATE '1990-01-01'",
            ])  # fmt: skip
        texts = {"sex": ["Male", "Female", "male"], "region": [*REGIONS, "nowhere"],
                 "level": LEVELS}[name]  # fmt: skip
        a, b = self.one(texts), self.one(texts)
        plain = [f"{name} = '{a}'", f"{name} <> '{a}'", f"{name} IN ('{a}', '{b}')",
                 f"{name} IS NULL", f"{name} IS NOT NULL"]  # fmt: skip
        if name == "level":  # plain DuckDB would order it by the alphabet
            return self.one(plain)
        return self.one([
            *plain, f"LOWER({name}) = '{a.lower()}'", f"SUBSTRING({name}, 1, 1) = '{a[0]}'",
            f"{name} LIKE '{a[:2]}%'", f"regexp_matches({name}, '{a[0]}')",
            f"LENGTH({name}) > {len(a) - 1}", f"{name} IS DISTINCT FROM '{a}'",
        ])  # fmt: skip

    def key(self) -> str:
        """What people are grouped by."""
        name = self.one(self.names)
        if name in ("age", "wage", "rent"):
            unit = {"age": 10, "wage": 2000, "rent": 500}[name]
            cut = self.number(name)
            return self.one([f"FLOOR({name} / {unit})", f"{name} > {cut}",
                             f"CASE WHEN {name} < {cut} THEN 'a' ELSE 'b' END"])  # fmt: skip
        if name == "born":
            return "EXTRACT(year FROM born)"
        return self.one([name, name, f"{name} = '{self.one(REGIONS + LEVELS)}'"])

    def aggregate(self) -> str:
        """An aggregate, or arithmetic between some."""
        numbers = [n for n in self.names if n in ("age", "wage", "rent")]
        name = self.one(numbers)
        other = self.one(numbers)
        plain = [
            "COUNT(*)", f"COUNT({self.one(self.names)})", f"SUM({name})", f"AVG({name})",
            f"MIN({name})", f"MAX({name})", f"MEDIAN({name})", f"QUANTILE_CONT({name}, 0.9)",
            f"COUNT(DISTINCT {self.one(self.names)})", f"SUM({name} * 2 - 7)",
            f"AVG(SQRT({name}))", f"COUNT(*) FILTER (WHERE {self.condition(0)})",
            f"SUM(CASE WHEN {self.condition(0)} THEN {name} ELSE 0 END)",
            f"AVG(CASE WHEN {self.condition(0)} THEN 1.0 ELSE 0.0 END)",
            f"COUNT_IF({self.condition(0)})", f"SUM({name} * {other})",
            f"QUANTILE_DISC({name}, 0.25)", f"AVG({name}) FILTER (WHERE {self.condition(0)})",
            f"MAX({name} % 7)", f"COUNT(DISTINCT {self.key()})",
            f"MIN(CASE WHEN {self.condition(0)} THEN {name} END)",
        ]  # fmt: skip
        composed = [  # each is of many aggregates, and takes long to ask
            f"STDDEV({name})", f"STDDEV_POP({name})", f"VAR_POP({name})",
            f"CORR({name}, {other})", f"COVAR_POP({name}, {other})",
            f"COVAR_SAMP({name}, {other})", f"REGR_SLOPE({name}, {other})",
            f"REGR_INTERCEPT({name}, {other})",
        ]  # fmt: skip
        a = self.one(composed if self.rng.random() < 0.12 else plain)
        shape = self.rng.random()
        if "born" in self.names and shape < 0.03:
            return self.one(["MIN(born)", "MAX(born)"])
        if shape < 0.7:
            return a
        b = self.one(plain[:5])
        return self.one([f"ROUND({a}, 1)", f"{a} * 1.0 / {b}", f"{a} - {b}", f"ABS({a} - {b})",
                         f"CAST({a} AS INTEGER)", f"COALESCE({a}, 0)", f"GREATEST({a}, {b})",
                         f"CASE WHEN {b} > 10 THEN {a} ELSE 0 END"])  # fmt: skip

    def decision(self) -> str:
        """A condition on aggregates."""
        name = self.one([n for n in self.names if n in ("age", "wage", "rent")])
        if "born" in self.names and self.rng.random() < 0.1:
            return f"MIN(born) < DATE '{1970 + self.rng.integers(0, 25)}-05-11'"
        return self.one([
            f"COUNT(*) > {self.rng.integers(1, 60)}", f"AVG({name}) > {self.number(name)}",
            f"MIN({name}) IS NOT NULL", f"NOT MAX({name}) < {self.number(name)}",
            f"SUM({name}) FILTER (WHERE {self.condition(0)}) BETWEEN 0 AND {self.number(name)}",
            f"COALESCE(MIN({name}) FILTER (WHERE {self.condition(0)}), 0) <= {self.number(name)}",
        ])  # fmt: skip

    def draw(self) -> str:
        """A question: about all people, about groups, or about the answer to one about groups."""
        kind = self.rng.random()
        return self.draw_one() if kind < 0.5 else self.draw_groups(2 * kind - 1)

    def draw_one(self) -> str:
        """A question without groups."""
        where, kind = self.where(), self.rng.random()
        if kind < 0.1:
            other = f"SELECT {self.aggregate()} FROM release WHERE {self.condition(0)}"
            sign = self.one(["-", "* 1.0 /", "+"])
            return f"SELECT ({self.aggregate()}) {sign} ({other}) AS d FROM release{where}"
        if kind < 0.2:
            other = f"SELECT 'b' AS part, {self.aggregate()} AS x FROM release"
            return (
                f"SELECT 'a' AS part, {self.aggregate()} AS x FROM release{where} UNION ALL {other}"
            )
        if kind < 0.4:
            inner = f"SELECT * FROM release{where}"
            return (f"WITH chosen AS ({inner}) SELECT {self.aggregates()} FROM chosen "
                    f"WHERE {self.condition(0)}")  # fmt: skip
        return f"SELECT {self.aggregates()} FROM release{where}"

    def draw_groups(self, kind: float) -> str:
        """A question about groups, and what is done with its answer."""
        keys = [self.key() for _ in range(self.rng.integers(1, 3))]
        shown = ", ".join(f"{key} AS k{i}" for i, key in enumerate(keys))
        group = self.one(["ALL", ", ".join(f"k{i}" for i in range(len(keys))),
                          ", ".join(str(i + 1) for i in range(len(keys)))])  # fmt: skip
        if kind > 0.85 and len(keys) == 2:
            group = self.one(["ROLLUP({}, {})", "CUBE({}, {})", "GROUPING SETS (({}), ({}))"])
            group = group.format(*keys)
        if 0.2 <= kind < 0.3:  # plain DuckDB does not read ALL together with QUALIFY
            group = group.replace("ALL", ", ".join(keys))
        text = f"SELECT {shown}, {self.aggregates()} FROM release{self.where()} GROUP BY {group}"
        least, few = self.rng.integers(0, 60), self.rng.integers(1, 4)
        finished = {
            0.65: text,
            0.45: f"{text} HAVING {self.decision()}",
            0.3: f"{text} ORDER BY x0 DESC LIMIT {few}",
            0.23: f"SELECT *, {self.window()} AS w FROM ({text}) t",
            0.2: f"{text} QUALIFY RANK() OVER (ORDER BY x0 DESC) <= {few}",
            0.15: f"WITH g AS ({text}) SELECT AVG(x0) AS m, COUNT(*) AS n FROM g WHERE x0 > 9",
            0.05: f"SELECT MAX(x0) AS m, SUM(x0) AS s, COUNT(*) AS n FROM ({text}) t",
            0.0: f"SELECT * FROM ({text}) t WHERE x0 > {least}",
        }
        return next(question for above, question in finished.items() if kind >= above)

    def where(self) -> str:
        """Whom a question is about."""
        return f" WHERE {self.condition()}" if self.rng.random() < 0.7 else ""

    def aggregates(self) -> str:
        """Some aggregates, with names."""
        count = int(self.rng.integers(1, 4))
        return ", ".join(f"{self.aggregate()} AS x{i}" for i in range(count))

    def window(self) -> str:
        """What is computed over the rows of an answer."""
        return self.one([
            "SUM(x0) OVER ()", "x0 * 100.0 / SUM(x0) OVER ()", "RANK() OVER (ORDER BY x0 DESC)",
            "x0 - AVG(x0) OVER ()", "MAX(x0) OVER (PARTITION BY k0)",
        ])  # fmt: skip


def find_wrong(
    prepared: Prepared, database: duckdb.DuckDBPyConnection, sql: str
) -> list[str] | None:
    """Say where an answer does not hold the truth; ``None`` if the question is refused."""
    try:
        answer = prepared.query(sql)
    except dc.DiscreetError:
        return None
    try:
        truth = pl.DataFrame(database.sql(CORRELATION.sub(NOTHING, sql)).to_arrow_table())
    except duckdb.ConversionException:  # the correlation of one person with itself, as INTEGER
        return None
    truth.columns = list(answer.columns)
    known = [name for name, estimated in answer.columns.items() if not estimated]
    told = [name for name, estimated in answer.columns.items() if estimated]
    rows, true = (_gather(frame, known) for frame in (answer.frame, truth))
    marked = "certain" in answer.frame.columns
    wrong = []
    missing = [key for key in true if key not in rows]
    if len(missing) > (answer.left_out if marked else 0):
        wrong.append(f"rows are missing: {missing[:3]}")
    for key, alike in rows.items():
        if marked and any(row["certain"] for row in alike) and key not in true:
            wrong.append(f"{key} is no row of the truth, yet certain")
    for key in [key for key in true if key in rows]:
        # a total of ROLLUP and people of whom a value is missing have the same key
        for row in true[key]:
            found = [list(_compare(row, other, told)) for other in rows[key]]
            wrong += [f"{key}: {text}" for text in min(found, key=len)]
    return wrong


def _gather(frame: pl.DataFrame, known: list[str]) -> dict[tuple[object, ...], list[Row]]:
    rows: dict[tuple[object, ...], list[Row]] = {}
    for row in frame.to_dicts():
        rows.setdefault(_read_key(row, known), []).append(row)
    return rows


def _compare(true: Row, row: Row, told: list[str]) -> Iterator[str]:
    for name in told:
        value, low, high, estimate = map(_count_days, (
            true[name], row[f"{name}_low"], row[f"{name}_high"], row[name]
        ))  # fmt: skip
        if value is None or np.isnan(float(value)):
            continue
        slack = 1e-6 * max(1.0, abs(float(value)))
        if (low is not None and value < low - slack) or (high is not None and value > high + slack):
            yield f"{name} is {value}, not in [{low}, {high}]"
        if estimate is not None and low is not None and high is not None and not (
            low - slack <= estimate <= high + slack
        ):  # fmt: skip
            yield f"the estimate of {name}, {estimate}, not in [{low}, {high}]"


def _count_days(value: Any) -> Any:
    return value.toordinal() if isinstance(value, date) else value


def _read_key(row: Row, names: list[str]) -> tuple[object, ...]:
    return tuple(float(v) if isinstance(v := row[name], int) and not isinstance(v, bool) else v
                 for name in names)  # fmt: skip


def open_truth(people: dc.Microdata) -> duckdb.DuckDBPyConnection:
    """Open a database that has the microdata as ``release``."""
    database = duckdb.connect()
    frame = people.to_polars()
    database.register("given", frame.to_arrow())
    database.execute("CREATE TABLE release AS SELECT * FROM given")
    return database
