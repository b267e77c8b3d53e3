"""Several earlier releases that are never joined with each other, against joins row by row."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.auditing.links import list_x_groups
from discreet.errors import PromiseError, SchemaError
from discreet.principles.groups import Groups
from discreet.publishing.methods.lossy_join import EarlierTables, Inconsistency, read_history
from discreet.publishing.methods.star_joins import find_unmatched
from discreet.publishing.methods.x_groups import Link
from discreet.release import Recoding, Release, Transformation
from discreet.table.arrays import Ints
from oracles.lossy_joins import Row, join_all, list_possible

JOBS = dc.Taxonomy.from_paths(
    [["a", "ab"], ["b", "ab"], ["c", "cde"], ["d", "cde"], ["e", "cde"]]
)  # fmt: skip
SHOWN = [  # of three tables: some share nothing, some what the new one has too, some only more
    [("job", "ill"), ("age", "zip"), ("town", "car")],
    [("job", "zip", "ill"), ("age", "zip"), ("zip", "town")],
    [("job", "age", "ill"), ("job", "age", "zip"), ("age", "town")],
    [("job", "age"), ("age", "ill"), ("job", "ill", "car")],
    [("zip", "ill"), ("job", "town"), ("town", "car", "age")],
]
ASKED: list[tuple[list[str], list[str] | str]] = [
    (["job", "age"], "people"),
    (["age", "town"], "people"),
    (["job", "age", "zip", "car"], "pairs"),
    (["age"], "pairs"),
    (["job", "age"], ["ill"]),
    (["age", "zip"], ["ill", "car"]),
    (["job", "town"], ["pay", "ill"]),
    (["age"], ["job"]),
]
RULE = ("job", ["a", "b"], "ill", ["flu"])
Bags = dict[tuple[Any, ...], Counter[Any]]


def draw(rng: Random, n: int) -> pl.DataFrame:
    return pl.DataFrame({
        "job": rng.choices("abcde", k=n), "age": [rng.randint(20, 25) for _ in range(n)],
        "zip": [rng.randint(0, 3) for _ in range(n)], "town": rng.choices(["Bonn", "Jena"], k=n),
        "ill": rng.choices(["flu", "hiv", "ulcer"], k=n), "car": rng.choices(["old", "new"], k=n),
        "pay": rng.choices(["low", "high"], k=n),
    })  # fmt: skip


def read(frame: pl.DataFrame, known: Sequence[str], told: Sequence[str] = ()) -> dc.Microdata:
    shown = frame.select(*known, *told)
    schema = dc.Schema.infer(shown, quasi_identifiers=[*known], sensitive=[*told])
    if "job" in shown.columns:
        schema = schema.changed(replace(schema["job"], taxonomy=JOBS))
    return dc.read(shown, schema)


def publish_earlier(frame: pl.DataFrame, names: Sequence[str], rng: Random) -> Release:
    """As it is, or in boxes whose labels overlap those of other releases."""
    told = [name for name in names if name in ("ill", "car")]
    known = [name for name in names if name not in told]
    method = dc.Generalization(dc.KAnonymity(rng.randint(1, 3)))
    return dc.publish(read(frame, known, told), method)


def group(
    part: dc.XYAnonymity | dc.XYLinkability,
    tables: Sequence[tuple[Release, Sequence[Row]]],
    joined: Sequence[tuple[Row, ...]],
    weights: dict[int, Fraction] | None = None,
) -> Bags:
    """The X-groups of a join, as what every table shows of X, each with its values of Y."""
    groups: Bags = defaultdict(Counter)
    seen = set()
    for rows in joined:
        x = tuple(
            tuple(row.get(column) for column in release.recodings[name].columns(name))
            for (release, _), row in zip(tables, rows, strict=True)
            for name in part.x if name in release.schema.names
        )  # fmt: skip
        if part.y == "people":
            if (id(rows[0]), x) not in seen:
                groups[x]["people"] += 1
            seen.add((id(rows[0]), x))
        else:
            y = () if part.y == "pairs" else part.y
            told = [next(i for i, (r, _) in enumerate(tables) if n in r.schema.names) for n in y]
            often = prod((weights or {}).get(id(row), 1) for row in rows)
            groups[x][tuple(rows[i][n] for i, n in zip(told, y, strict=True))] += often
    return groups


def flatten(bags: Bags) -> list[list[int]]:
    return sorted(sorted(bag.values()) for bag in bags.values())


def list_bags(groups: Groups | None) -> list[list[int]]:
    if groups is None:
        return []
    return sorted(
        sorted(groups.weights[a:b].tolist())
        for a, b in zip(groups.offsets[:-1], groups.offsets[1:], strict=True)
    )


def show_cut(data: dc.Microdata, names: Sequence[str], rng: Random) -> tuple[Release, Ints, Ints]:
    """Show quasi-identifiers by runs of codes, and say which codes these are."""
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(1)))
    low, high = (np.zeros((data.n, len(names)), dtype=np.int64) for _ in range(2))
    columns = {}
    recodings = {name: Recoding(Transformation.EXACT) for name in release.recodings}
    for a, name in enumerate(names):
        domain = data.domains[name]
        ends = sorted({0, *(rng.randrange(domain.size) for _ in range(rng.randint(0, 3)))})
        run = np.searchsorted(ends, data.codes[name], side="right") - 1
        low[:, a], high[:, a] = np.array(ends)[run], np.array([*ends[1:], domain.size])[run] - 1
        labels = {f"{name} {i}": [domain.texts[c] for c in range(start, end)]
                  for i, (start, end) in enumerate(zip(ends, [*ends[1:], domain.size],
                                                       strict=True))}  # fmt: skip
        columns[name] = [f"{name} {i}" for i in run]
        recodings[name] = Recoding(Transformation.SET, labels)
    told = [name for name in data.schema.published.names if name not in names]
    table = pl.DataFrame({"class": np.arange(data.n), **columns}).with_columns(
        data.to_polars().select(told)
    )
    return replace(release, tables={"generalized": table}, recodings=recodings), low, high


def ask(x: list[str], y: list[str] | str) -> Any:
    return dc.XYAnonymity(x, y, k=2) if isinstance(y, str) else dc.XYLinkability(x, y, k=1)


class Case:
    """A new table that shows runs of codes, and earlier ones that are mostly about its people."""

    def __init__(self, shown: Sequence[Sequence[str]], y: Sequence[str] | str, seed: int) -> None:
        rng = Random(f"{shown} {y} {seed}")
        n = rng.randint(4, 7)
        frame = draw(rng, n)
        others = [frame if rng.random() < 0.6 else pl.concat([frame[1:], draw(rng, 1)])
                  for _ in shown]  # fmt: skip
        self.earlier = [publish_earlier(other, names, rng)
                        for other, names in zip(others, shown, strict=True)]  # fmt: skip
        self.data = read(frame, ["job", "age"], ["pay"])
        self.names = tuple(name for name in ("job", "age") if name not in y)
        self.exact = show_cut(self.data, (), rng)[0]
        self.release, self.low, self.high = show_cut(self.data, self.names, rng)
        self.rules = [RULE] if rng.random() < 0.3 and "ill" in {*sum(map(tuple, shown), ())} else []
        self.release = replace(self.release, parameters={"inconsistent": self.rules})

    def join(self, release: Release) -> tuple[list[Any], list[tuple[Row, ...]]]:
        tables = [(held, held.tables["generalized"].to_dicts())
                  for held in (release, *self.earlier)]  # fmt: skip
        return tables, list(join_all(tables, self.rules))

    def read_history(self, part: Any) -> EarlierTables:
        needed = [*part.x, *(() if isinstance(part.y, str) else part.y)]
        return read_history(
            self.earlier, self.data, needed, [Inconsistency(*rule) for rule in self.rules]
        )

    def link(self, part: Any) -> Link:
        return Link(part, self.data, self.read_history(part), self.names)

    def knows(self, x: Sequence[str], y: Sequence[str] | str) -> bool:
        held = {name for release in (self.release, *self.earlier) for name in release.schema.names}
        return {*x, *(() if isinstance(y, str) else y)} <= held


def count_lost(tables: Sequence[tuple[Release, Sequence[Row]]], joined: Any) -> list[int]:
    """Of each table the rows that are in no row of the join."""
    return [len({id(row) for row in rows} - {id(found[i]) for found in joined})
            for i, (_, rows) in enumerate(tables)]  # fmt: skip


@pytest.mark.parametrize("shown", SHOWN, ids=str)
@pytest.mark.parametrize(("x", "y"), ASKED, ids=str)
def test_publisher_and_auditor_count_what_a_join_row_by_row_has(
    shown: Sequence[Sequence[str]], x: list[str], y: list[str] | str
) -> None:
    compared = 0
    for seed in range(6):
        case = Case(shown[: 2 + seed % 2], y, seed)
        if not case.knows(x, y):
            continue
        part = ask(x, y)
        tables, joined = case.join(case.release)
        by_hand = group(part, tables, joined)
        groups, owners, lost = list_x_groups(
            case.release, case.release.tables["generalized"], np.arange(case.data.n),
            case.earlier, part,
        )  # fmt: skip
        assert list_bags(groups) == flatten(by_hand)
        assert lost == count_lost(tables, joined)
        assert {*owners[:, 1]} == {row["class"] for row, *_ in joined}
        if joined:
            found = case.link(part).list_groups(case.low, case.high)
            assert list_bags(found) == flatten(by_hand)
            judged = case.link(part).judge_groups(case.low, case.high)
            if y == "people":
                assert {*judged.sizes.tolist()} == {*found.sizes.tolist()}
            else:  # of groups with the same shares one is enough
                shares = [{tuple(share_bag(bag)) for bag in list_bags(each)}
                          for each in (judged, found)]  # fmt: skip
                assert shares[0] == shares[1]
            if groups is not None and not isinstance(y, str):
                assert {*found.domain.texts} == {*groups.domain.texts}
            compared += 1
    assert compared or not case.knows(x, y)


@pytest.mark.parametrize("shown", SHOWN, ids=str)
def test_who_matches_nobody_is_found_without_the_join(shown: Sequence[Sequence[str]]) -> None:
    part = dc.XYAnonymity(["job"], "people", k=2)
    lost = 0
    for seed in range(12):
        case = Case(shown, "people", seed)
        tables, joined = case.join(case.exact)
        history = case.read_history(part)
        names = history.joined(case.data.schema.published.names)
        rows = np.stack([case.data.codes[name] for name in names], axis=1).astype(np.int64)
        alone, unmet = find_unmatched(history, case.data, names, rows)
        by_hand = count_lost(tables, joined)
        assert (int(alone.sum()), unmet) == (by_hand[0], sum(by_hand[1:]))
        lost += unmet
    assert lost


LEAST = [
    (["job", "age", "zip", "car"], "pairs"),
    (["job", "age", "town"], ["pay", "ill"]),
    (["job", "age"], ["pay", "ill", "car"]),
]


@pytest.mark.parametrize("shown", SHOWN, ids=str)
@pytest.mark.parametrize(("x", "y"), LEAST, ids=str)
def test_the_least_that_goes_with_a_partition_is_a_product(
    shown: Sequence[Sequence[str]], x: list[str], y: list[str] | str
) -> None:
    """Where X covers what tables are matched by, partitions are judged by a factor."""
    for seed in range(4):
        case = Case(shown, y, seed)
        if not case.knows(x, y):
            continue
        part = dc.XYAnonymity(x, y, k=2)
        by_hand = group(part, *case.join(case.release))
        limit = case.link(part).limit()
        assert limit is not None and limit.times is not None
        rows = case.release.tables["generalized"].to_dicts()
        times = limit.times(case.low, case.high)
        for row, factor in zip(rows, times.tolist(), strict=True):
            place = (row["job"],), (row["age"],)
            alike = [other for other in rows if (other["job"], other["age"]) == (
                row["job"], row["age"])]  # fmt: skip
            here = len(alike) if y == "pairs" else len({other["pay"] for other in alike})
            found = [sum(bag.values()) if y == "pairs" else len(bag)
                     for key, bag in by_hand.items() if key[:2] == place]  # fmt: skip
            assert min(found, default=0) == here * factor


@pytest.mark.parametrize("shown", SHOWN, ids=str)
def test_shares_of_values_that_tables_are_matched_by_are_those_of_the_join(
    shown: Sequence[Sequence[str]],
) -> None:
    """Rows that lead to the same shares are one, whatever they are multiplied by."""
    x = ["age", *(name for name in ("zip", "town", "car") if any(name in s for s in shown))]
    for seed in range(6):
        case = Case(shown, ["job"], seed)
        part = dc.XYLinkability(x, ["job"], k=1)
        by_hand = group(part, *case.join(case.release))
        limit = case.link(part).limit()
        assert limit is not None and limit.weigh is not None and limit.values is not None
        texts = case.data.domains["job"].texts
        jobs = [texts[code] for code in case.data.codes["job"]]
        which, tables = limit.weigh(case.low, case.high)
        ages = case.release.tables["generalized"]["age"].to_list()
        for age, table in zip(ages, which, strict=True):
            here = Counter(limit.values[np.array(ages) == age].tolist())
            word = {int(value): job for value, job in zip(limit.values, jobs, strict=True)}
            found = {share_out({word[v]: n * int(row[v]) for v, n in here.items()})
                     for row in tables[table]}  # fmt: skip
            wanted = {share_out({job: n for (job,), n in bag.items()})
                      for key, bag in by_hand.items() if key[0] == (age,)}  # fmt: skip
            assert found - {()} == wanted


def share_out(bag: dict[str, int]) -> tuple[tuple[str, Fraction], ...]:
    return tuple(sorted((v, Fraction(n, sum(bag.values()))) for v, n in bag.items() if n))


def test_what_is_merely_possible_is_joined_by_how_likely_it_is() -> None:
    compared, dealt = 0, dc.Anatomy(dc.FrequencyDiversity(2))
    for seed in range(12):
        rng = Random(seed)
        frame = draw(rng, 6)
        try:
            earlier = [
                dc.publish(read(frame, ["age", "zip"], ["ill"]), dealt, insecure_seed=1),
                dc.publish(read(frame, ["zip", "age"], []), dc.Generalization(dc.KAnonymity(2))),
                dc.publish(read(frame, ["town", "job"], ["car"]), dealt, insecure_seed=1),
            ]
        except PromiseError:
            continue
        data = read(frame, ["job", "age"], ["pay"])
        release, low, high = show_cut(data, ("job", "age"), rng)
        possible = [[*list_possible(held)] for held in earlier]
        weights = {id(row): weight for rows in possible for row, weight in rows}
        tables = [(release, release.tables["generalized"].to_dicts()),
                  *((held, [row for row, _ in rows])
                    for held, rows in zip(earlier, possible, strict=True))]  # fmt: skip
        joined = [*join_all(tables)]
        for asked in (["ill"], ["ill", "car"]):
            part = dc.XYLinkability(["age", "town"], asked, k=1)
            wanted = sorted(share_bag([*bag.values()])
                            for bag in group(part, tables, joined, weights).values())  # fmt: skip
            groups, _, lost = list_x_groups(
                release, release.tables["generalized"], np.arange(data.n), earlier, part
            )
            history = read_history(earlier, data, [*part.x, *part.y], [])
            found = Link(part, data, history, ("job", "age")).list_groups(low, high)
            for listed in (groups, found):
                assert sorted(share_bag(bag) for bag in list_bags(listed)) == wanted
            assert not any(lost)
            compared += 1
    assert compared > 4


def share_bag(bag: Sequence[Any]) -> list[Fraction]:
    return sorted(Fraction(n) / sum(map(Fraction, bag)) for n in bag)


def test_releases_of_a_hundred_million_combinations_are_joined_with() -> None:
    """Two releases of ten thousand different rows, that share nothing with each other."""
    cells = np.arange(10_000)
    earlier = [
        dc.publish(read(pl.DataFrame({shared: cells // 100, own: cells % 100 + cells % 7 // 6}),
                        [shared, own]), dc.Generalization(dc.KAnonymity(1)))
        for shared, own in (("age", "size"), ("zip", "floor"))
    ]  # fmt: skip
    shown = [release.tables["generalized"].n_unique(subset=None) for release in earlier]
    assert shown[0] * shown[1] > 50_000_000
    frame = pl.DataFrame({"age": cells[:100], "zip": cells[:100]})
    data = read(frame, ["age", "zip"])
    part = dc.XYAnonymity(["age", "zip"], "pairs", k=10_000)
    release = dc.publish(data, dc.Sequential(principles=[part], earlier=earlier))
    groups, _, lost = list_x_groups(
        release, release.tables["generalized"], np.arange(100), earlier, part
    )
    assert groups is not None and not any(lost)
    assert groups.sizes.tolist() == [10_000] * 100  # a hundred rows there, and there


@pytest.mark.parametrize("y", ["pairs", ["pay", "ill"], ["job"]], ids=str)
def test_more_rows_than_64_bits_hold_are_refused_and_never_counted_wrong(
    y: list[str] | str,
) -> None:
    frame = draw(Random(1), 6)
    shown = [("job", "ill"), ("age", "zip"), ("town", "car")]
    earlier = [publish_earlier(frame, names, Random(0)) for names in shown]
    data = read(frame, ["job", "age"], ["pay"])
    part = ask(["age"], y)
    history = read_history(earlier, data, ["age", "pay", "ill", "job"], [])
    many = [replace(table, weights=table.weights * 2**30) for table in history.tables]
    link = Link(part, data, replace(history, tables=many), ("age",))
    runs = data.codes["age"][:, None].astype(np.int64)
    with pytest.raises(SchemaError, match="more rows than can be counted"):
        link.list_groups(runs, runs)
    few = dc.XYAnonymity(["age"], ["pay", "ill"], k=1)
    told = Link(few, data, replace(history, tables=many), ("age",)).judge_groups(runs, runs)
    plain = Link(few, data, history, ("age",)).list_groups(runs, runs)
    assert told.distinct.tolist() == plain.distinct.tolist()  # what only is there has no weight
