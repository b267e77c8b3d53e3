"""Error bars over boxes: how far the truth lies from an estimate, credibly."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.release.labels import read_labels
from discreet.release.selection import Selection
from discreet.sql.evenness import learn_spread

ASKED = 'COUNT(*) AS c, SUM("hours-per-week") AS s, AVG("hours-per-week") AS a'
QUESTIONS = [
    ("age BETWEEN 31 AND 34", None),
    ("age < 30 AND \"native-country\" = 'Mexico'", None),
    ("age >= 52 AND education IN ('Masters', 'Doctorate')", "marital-status"),
    ("education = 'HS-grad'", "workclass"),
    ("race <> 'White' AND age BETWEEN 20 AND 45", "education"),
    ("race = 'Other' OR education = 'Doctorate'", None),
    ("sex = 'Female' AND \"marital-status\" LIKE 'Married%'", "race"),
]


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return dc.datasets.adult_frame().drop_nulls()


@pytest.fixture(scope="module")
def boxes() -> dc.Release:
    people = dc.datasets.adult(sensitive="hours-per-week")
    return dc.publish(people, dc.Generalization(dc.KAnonymity(10)))


def _write(where: str, key: str | None) -> str:
    shown, by = (f'"{key}", ', f' GROUP BY "{key}"') if key else ("", "")
    return f"SELECT {shown}{ASKED} FROM release WHERE {where}{by}"


def test_nine_of_ten_truths_lie_within_the_width_and_not_within_two_errors(
    boxes: dc.Release, frame: pl.DataFrame
) -> None:
    found: dict[str, list[tuple[bool, bool]]] = {"c": [], "s": [], "a": []}
    with duckdb.cursor() as plain, boxes.prepare() as prepared:
        plain.register("release", frame.to_arrow())
        for where, key in QUESTIONS:
            sql = _write(where, key)
            told = {row.get(key): row for row in plain.sql(sql).pl().to_dicts()}
            for row in prepared.query(sql).frame.to_dicts():
                truth = told.get(row.get(key), {"c": 0, "s": None, "a": None})
                for name, listed in found.items():
                    low, high, error, width = (
                        row[f"{name}_{end}"] for end in ("low", "high", "stderr", "width")
                    )
                    assert 0 <= width <= max(row[name] - low, high - row[name]) + 1e-6
                    if truth[name] is not None and high > low:
                        away = abs(float(truth[name]) - row[name])
                        listed.append((away <= width, away <= 2 * error))
    for listed in found.values():
        within = np.mean(listed, axis=0)
        assert len(listed) > 30 and within[0] >= 0.9 and within[1] < 0.8


def test_what_is_exact_has_no_width(boxes: dc.Release) -> None:
    row = boxes.query(f'SELECT {ASKED} FROM release WHERE "hours-per-week" > 40').frame.row(
        0, named=True
    )
    assert [row[f"{name}_width"] for name in "csa"] == pytest.approx([0, 0, 0], abs=1e-9)
    assert row["c_low"] == row["c_high"]


def test_postgresql_gives_the_same_widths(boxes: dc.Release, postgres: str) -> None:
    with boxes.prepare() as here, boxes.prepare(engine=postgres) as there:
        for where, key in QUESTIONS[2], QUESTIONS[5]:
            sql = _write(where, key)
            one, other = (session.query(sql).frame for session in (here, there))
            for name in (f"{alias}_{end}" for alias in "csa" for end in ("stderr", "width")):
                assert one[name].to_list() == pytest.approx(other[name].cast(float).to_list())


def _publish(origins: list[list[str]]) -> dc.Release:
    """Publish groups that each show where some are from."""
    frame = pl.DataFrame(
        {
            "age": [i for i, group in enumerate(origins) for _ in group],
            "origin": [origin for group in origins for origin in group],
            "pay": [100 + 7 * j for group in origins for j in range(len(group))],
        }
    )
    schema = dc.Schema.infer(frame, quasi_identifiers=["age", "origin"], sensitive=["pay"])
    return dc.publish(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(10)))


def test_a_value_that_is_rare_elsewhere_is_taken_for_rare_in_a_set() -> None:
    made = _publish([["here"] * 30, ["here"] * 30, ["here"] * 19 + ["there"]])
    answer = made.query("SELECT COUNT(*) FROM release WHERE origin = 'there'")
    assert (answer.estimate, answer.low, answer.high) == (10, 0, 20)
    labels, _ = read_labels(made, made.tables["generalized"], "origin")
    none = np.zeros(0, dtype=np.int64)
    asked = Selection(labels.attribute, none, none, frozenset(["there"]), missing=False)
    least, most = learn_spread(made, "generalized", "origin").bound(asked)
    mixed = [len(held) for held in labels.sets or []].index(2)
    assert least[mixed] < 1 / 20 < most[mixed] < 1 / 4
    assert np.delete(most, mixed).max() == 0  # those who are all from here


def test_of_categories_that_are_never_told_apart_any_may_be_everybodys() -> None:
    made = _publish([["north", "south"] * 8])
    row = made.query("SELECT COUNT(*) AS n FROM release WHERE origin = 'north'").frame.row(
        0, named=True
    )
    assert (row["n"], row["n_low"], row["n_high"], row["n_width"]) == (8, 0, 16, 8)


def test_averages_over_boxes_have_the_error_of_people_spread_evenly() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"age": rng.integers(20, 60, 400), "pay": rng.integers(50, 150, 400)})
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["pay"])
    made = dc.publish(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(60)))
    shown = made.tables["generalized"]
    low, high, pay = (shown[c].to_numpy() for c in ("age_low", "age_high", "pay"))
    ages = rng.integers(low, high + 1, (2000, len(pay)))
    averages = [pay[row].mean() for row in (ages >= 33) & (ages <= 45)]
    answer = made.query("SELECT AVG(pay) FROM release WHERE age BETWEEN 33 AND 45")
    assert answer.stderr == pytest.approx(np.std(averages), rel=0.1)


def test_averages_over_batches_have_the_error_of_values_dealt_to_people_spread_evenly() -> None:
    made = dc.publish(
        dc.datasets.census(1000, sensitive="income"),
        dc.Angelization(dc.FrequencyDiversity(5), k=50),
        insecure_seed=4,
    )
    records, bags = made.tables["generalized"], made.tables["batches"]
    low, high = (records[f"age_{end}"].to_numpy() for end in ("low", "high"))
    order = np.argsort(records["batch"].to_numpy(), kind="stable")
    batch = records["batch"].to_numpy()[order]
    bags = bags.sort("batch")
    values = np.repeat(bags["income"].to_numpy(), bags["count"].to_numpy())
    rng = np.random.default_rng(5)
    averages = []
    for _ in range(1500):
        ages = rng.integers(low, high + 1)[order]
        dealt = values[np.lexsort([rng.random(len(values)), batch])]
        averages.append(dealt[(ages >= 30) & (ages <= 40)].mean())
    answer = made.query("SELECT AVG(income) FROM release WHERE age BETWEEN 30 AND 40")
    assert answer.stderr == pytest.approx(np.std(averages), rel=0.1)
    assert answer.frame["avg_income_width"].to_list() == [None]


def test_people_of_batches_have_a_width_where_their_values_do_not_matter() -> None:
    data = dc.datasets.census(2000)
    made = dc.publish(data, dc.Angelization(dc.FrequencyDiversity(4), k=10))
    row = made.query("SELECT COUNT(*) AS n FROM release WHERE age < 40").frame.row(0, named=True)
    truth = data.to_polars().filter(pl.col("age") < 40).height
    assert abs(row["n"] - truth) <= row["n_width"] <= max(row["n"] - row["n_low"],
                                                          row["n_high"] - row["n"])  # fmt: skip
    valued = "SELECT COUNT(*) AS n FROM release WHERE age < 40 AND occupation = 'O03'"
    assert made.query(valued).frame["n_width"].to_list() == [None]
