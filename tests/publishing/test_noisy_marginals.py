"""Noisy marginals: counts of what can be, with noise, under differential privacy."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.forms.noisy.consistency import BITS, bound_little
from discreet.forms.noisy.fitting import fit, make_consistent
from discreet.forms.verify import verify
from discreet.publishing.draws import SeededDraws, SystemDraws
from discreet.publishing.noise import add_noise, find_scale
from samples import reseal

QI, SECRET = dc.Role.QUASI_IDENTIFIER, dc.Role.SENSITIVE
SCHEMA = dc.Schema(
    (
        dc.Attribute("age", QI, dc.Type.INTEGER, low=20, high=59),
        dc.Attribute("sex", QI, dc.Type.CATEGORY, values=("F", "M")),
        dc.Attribute("ill", SECRET, dc.Type.CATEGORY, values=("flu", "gout", "none")),
    )
)
HARDLY = dc.DifferentialPrivacy(100)
"""Noise of scale 1/50 for two tables: of 10^21 draws one is not 0."""


def people(rows: list[tuple[int, str, str]]) -> dc.Microdata:
    return dc.read(pl.DataFrame(rows, schema=["age", "sex", "ill"], orient="row"), SCHEMA)


def some(n: int, seed: int = 0) -> dc.Microdata:
    rng = np.random.default_rng(seed)
    ill = rng.choice(["flu", "gout", "none"], n, p=[0.5, 0.1, 0.4])
    ages = np.where(ill == "gout", rng.integers(45, 60, n), rng.integers(20, 60, n))
    columns = ages.tolist(), rng.choice(["F", "M"], n).tolist(), ill.tolist()
    return people([*zip(*columns, strict=True)])


FEW = people([(20, "F", "flu"), (21, "F", "flu"), (59, "M", "none")])


def test_every_combination_is_counted_whether_anybody_has_it_or_not() -> None:
    release = dc.publish(FEW, dc.NoisyMarginals(HARDLY, bins=4))
    assert release.tables["marginal_2"].select("sex", "ill", "count").rows() == [
        ("F", "flu", 2), ("F", "gout", 0), ("F", "none", 0),
        ("M", "flu", 0), ("M", "gout", 0), ("M", "none", 1),
    ]  # fmt: skip
    ages = release.tables["marginal"].filter(pl.col("ill") == "flu").select("age", "count").rows()
    assert ages == [("20 to 29", 2), ("30 to 39", 0), ("40 to 49", 0), ("50 to 59", 0)]
    assert release.tables["public_cells"].filter(attribute="age").row(1) == (
        "age", "30 to 39", "30", "39",
    )  # fmt: skip


def test_which_cells_there_are_does_not_depend_on_who_is_in_the_table() -> None:
    method = dc.NoisyMarginals(dc.DifferentialPrivacy(1))
    one, other = (dc.publish(data, method) for data in (FEW, some(50)))
    for title, table in one.tables.items():
        told = [c for c in table.columns if c not in ("count", "fitted")]
        assert table.select(told).equals(other.tables[title].select(told))
    assert one.parameters == other.parameters
    assert one.recodings == other.recodings and one.schema == other.schema


def test_a_file_of_a_taxonomy_declares_values_and_does_not_go_out() -> None:
    tree = dc.Taxonomy.from_paths([["flu", "*"], ["gout", "*"], ["none", "*"]])
    schema = SCHEMA.changed(replace(SCHEMA["ill"], values=(), taxonomy=tree))
    data = dc.read(FEW.to_polars(), schema)
    release = dc.publish(data, dc.NoisyMarginals(HARDLY))
    assert release.tables["marginal_2"].height == 6
    assert release.schema["ill"].taxonomy is None
    assert dc.audit(release, data).kept


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_one_person_changes_counts_by_one_per_table(data: st.DataObject) -> None:
    """Over neighbours and outputs of tiny tables no likelihood ratio is beyond e^ε."""
    rows = data.draw(st.lists(st.sampled_from([*product((20, 40), "FM", ("flu", "none"))]),
                              min_size=2, max_size=6))  # fmt: skip
    marginals = data.draw(
        st.sampled_from([None, [["age", "sex", "ill"]], [["age", "ill"], ["sex", "ill"], ["sex"]]])
    )
    epsilon = data.draw(st.fractions(Fraction(1, 50), 10))
    told = dc.publish(people(rows), dc.NoisyMarginals(dc.DifferentialPrivacy(epsilon), marginals))
    scale = Fraction(told.parameters["scale"])  # type: ignore[arg-type]
    without, within = (_count_all(part, marginals) for part in (rows[1:], rows))
    # P(output | table) is proportional to e^(-Σ |output - count| / scale)
    for shift in range(-2, 3):
        output = within + shift
        log_ratio = (np.abs(output - without) - np.abs(output - within)).sum() / scale
        assert abs(log_ratio) <= epsilon
    assert (without != within).sum() / scale > epsilon * Fraction(999_999, 1_000_000)


def _count_all(rows: list[tuple[int, str, str]], marginals: list[list[str]] | None) -> np.ndarray:
    place = {"age": 0, "sex": 1, "ill": 2}
    ends = {"age": range(20), "sex": "FM", "ill": ("flu", "gout", "none")}
    cells = [((age - 20) // 2, sex, ill) for age, sex, ill in rows]
    found: list[int] = []
    for names in marginals or [["age", "ill"], ["sex", "ill"]]:
        shown = [tuple(row[place[name]] for name in names) for row in cells]
        found += [shown.count(cell) for cell in product(*(ends[name] for name in names))]
    return np.array(found)


@settings(max_examples=200, deadline=None)
@given(st.fractions(Fraction(1, 10**6), 100), st.integers(1, 50))
def test_noise_is_never_less_than_epsilon_asks_for(epsilon: Fraction, tables: int) -> None:
    if epsilon:
        assert tables / Fraction(find_scale(epsilon, tables)) <= epsilon


@pytest.mark.parametrize("draws", [SystemDraws(), SeededDraws(1)], ids=["opendp", "seeded"])
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_noise_is_discrete_laplace(draws: Any, scale: float) -> None:
    n, q = 40_000, exp(-1 / scale)
    drawn = add_noise(np.full(n, 7, dtype=np.int64), scale, draws) - 7
    for k in (0, 1, -1, 3):
        p = (1 - q) / (1 + q) * q ** abs(k)
        assert abs((drawn == k).sum() - n * p) <= 8 * (n * p) ** 0.5 + 8


def test_without_opendp_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(dc.DiscreetError, match=r"discreet\[dp\]"):
        dc.publish(FEW, dc.NoisyMarginals(HARDLY))


def test_what_is_not_declared_is_refused() -> None:
    method = dc.NoisyMarginals(HARDLY)

    def refuse(match: str, **changes: dict[str, Any]) -> None:
        attributes = [replace(a, **changes.get(a.name, {})) for a in SCHEMA]
        with pytest.raises(dc.errors.SchemaError, match=match):
            dc.publish(dc.read(FEW.to_polars(), dc.Schema(tuple(attributes))), method)

    refuse("'age' has no public domain", age={"low": None, "high": None})
    refuse("'ill' has no public domain", ill={"values": ()})
    refuse("'age' has a value that is not in its public domain", age={"high": 40})
    refuse("'ill' has a value that is not in its public domain", ill={"values": ("flu",)})
    refuse("'age' was made coarser", age={"round": 5})
    refuse("'sex' is kept", sex={"role": dc.Role.OTHER, "keep": True})


def test_people_with_several_rows_are_refused() -> None:
    frame = FEW.to_polars().with_columns(pid=pl.Series(["a", "a", "b"]))
    key = dc.Attribute("pid", dc.Role.IDENTIFIER, dc.Type.CATEGORY)
    for rows in ("all", "one"):
        schema = dc.Schema((*SCHEMA, key), people=dc.PeopleKey("pid", rows=rows))  # type: ignore[arg-type]
        data = dc.read(frame, schema)
        if rows == "one":
            release = dc.publish(data, dc.NoisyMarginals(HARDLY))
            assert release.tables["marginal_2"]["count"].sum() == 2
            assert dc.audit(release, data).kept
            continue
        with pytest.raises(dc.errors.PromiseError, match="several rows") as refused:
            dc.publish(data, dc.NoisyMarginals(HARDLY))
        assert 'rows = "one"' in str(refused.value.hint)
        assert "most_rows" not in str(refused.value.hint)  # two rows of somebody are too many


def test_the_promise_and_the_method_belong_together() -> None:
    promise = dc.DifferentialPrivacy(1)
    with pytest.raises(dc.errors.SchemaError, match="not k-anonymity"):
        dc.NoisyMarginals(dc.KAnonymity(5))
    for epsilon in (0, -1, 101, "x", 1e-300, "1/" + "1" + "0" * 320, "1/1000001"):
        with pytest.raises(dc.errors.SchemaError, match="epsilon"):
            dc.DifferentialPrivacy(epsilon)
    dc.publish(FEW, dc.NoisyMarginals(dc.DifferentialPrivacy("1/1000000")))
    with pytest.raises(dc.errors.SchemaError, match="a list of lists"):
        dc.NoisyMarginals(promise, marginals="auto")  # type: ignore[arg-type]
    with pytest.raises(dc.errors.SchemaError, match="'town' in marginals"):
        dc.publish(FEW, dc.NoisyMarginals(promise, marginals=[["town"]]))
    with pytest.raises(dc.errors.SchemaError, match="twice") as twice:
        dc.publish(FEW, dc.NoisyMarginals(promise, marginals=[["sex"], ["sex"]]))
    assert twice.value.hint == "Give each table once, as a list of published columns."
    makers: list[Callable[..., Any]] = [dc.Generalization, dc.FullDomain, dc.Slicing, dc.Anatomy]
    for make in makers:
        with pytest.raises(dc.DiscreetError, match="differential-privacy"):
            dc.publish(some(60), make(promise))


MARGINALS = st.sampled_from([
    [("a", "b"), ("b", "c")], [("a", "b"), ("b", "c"), ("a", "c")], [("a",), ("b", "a"), ("c",)],
    [("a", "b", "c"), ("c", "b")],
])  # fmt: skip
SIZES = {"a": 2, "b": 3, "c": 4}


@settings(max_examples=60, deadline=None)
@given(MARGINALS, st.integers(0, 10**6), st.integers(0, 60))
@example([("a", "b"), ("b", "c"), ("a", "c")], 10**6, 0)  # of nobody a float leaves hardly anybody
def test_fitted_tables_are_never_negative_and_nearly_agree(
    names: list[tuple[str, ...]], seed: int, people_there: int
) -> None:
    rng = np.random.default_rng(seed)
    whole = rng.multinomial(people_there, np.full(24, 1 / 24)).reshape(2, 3, 4)
    tables, drawn = [], []
    for own in names:
        counts = whole.sum(axis=tuple(i for i, n in enumerate("abc") if n not in own))
        truth = counts.transpose([sorted(own).index(n) for n in own])
        drawn.append(np.round(rng.laplace(0, 2, truth.shape)))
        tables.append((own, truth + drawn[-1]))
    made = make_consistent(tables)
    totals = [m.sum() for m in made]
    assert all((m >= 0).all() for m in made)
    assert max(totals) - min(totals) <= 0.02 * max(totals) + 1
    exact = [
        (own, np.round(counts - noise)) for (own, counts), noise in zip(tables, drawn, strict=True)
    ]
    for (_, truth), m in zip(exact, make_consistent(exact), strict=True):
        np.testing.assert_allclose(m, truth, atol=1e-6)  # without noise nothing is changed


def test_what_no_table_counts_follows_from_what_they_share() -> None:
    """n(age, sex) is the sum over ill of n(age, ill) n(sex, ill) / n(ill)."""
    data = some(500)
    release = dc.publish(data, dc.NoisyMarginals(HARDLY))
    frame = data.to_polars()
    expected = sum(
        frame.filter((pl.col("age") < 40) & (pl.col("ill") == ill)).height
        * frame.filter((pl.col("sex") == "F") & (pl.col("ill") == ill)).height
        / frame.filter(pl.col("ill") == ill).height
        for ill in ("flu", "gout", "none")
    )
    answer = release.query("SELECT COUNT(*) FROM release WHERE age < 40 AND sex = 'F'")
    assert answer.estimate == pytest.approx(expected)
    assert answer.stderr is None and "put together" in answer.coverage
    made = fit(("a", "b"), (2, 2), [(("a",), np.array([3.0, 1.0])), (("b",), np.array([2.0, 2.0]))])
    assert made.tolist() == [[1.5, 1.5], [0.5, 0.5]]


def test_the_standard_error_is_that_of_the_noise() -> None:
    release = dc.publish(FEW, dc.NoisyMarginals(dc.DifferentialPrivacy(1), [["sex", "ill"]]))
    q = exp(-1)
    variance = 2 * q / (1 - q) ** 2
    counts = dict(release.tables["marginal"].select(pl.concat_str("sex", "ill"), "count").rows())
    answer = release.query("SELECT COUNT(*) FROM release WHERE ill <> 'gout' AND sex = 'F'")
    assert answer.estimate == max(counts["Fflu"] + counts["Fnone"], 0)
    assert answer.stderr == pytest.approx((2 * variance) ** 0.5)
    assert (answer.low, answer.high) == (0, None)
    assert "no limits" in answer.coverage


def test_truths_are_as_far_from_estimates_as_standard_errors_say() -> None:
    data = some(400, seed=3)
    asked = {
        "SELECT COUNT(*) FROM release WHERE ill = 'flu'": "ill = 'flu'",
        "SELECT COUNT(*) FROM release WHERE age BETWEEN 30 AND 49 AND ill <> 'flu'":
            "age BETWEEN 30 AND 49 AND ill <> 'flu'",
    }  # fmt: skip
    off = []
    for seed in range(60):
        release = dc.publish(data, dc.NoisyMarginals(dc.DifferentialPrivacy(1), bins=4),
                             insecure_seed=seed)  # fmt: skip
        for sql, condition in asked.items():
            answer = release.query(sql)
            truth = data.to_polars().filter(pl.sql_expr(condition)).height
            assert answer.estimate is not None and answer.stderr is not None
            off.append((answer.estimate - truth) / answer.stderr)
    assert 0.6 < np.mean(np.square(off)) < 1.5 and abs(np.mean(off)) < 0.4


def test_numbers_are_added_up_averaged_and_grouped_by() -> None:
    data = some(2000, seed=4)
    release = dc.publish(data, dc.NoisyMarginals(HARDLY, bins=40))
    frame = data.to_polars()
    by = release.query(
        "SELECT ill, SUM(age) AS s, AVG(age) AS a FROM release GROUP BY ill ORDER BY ill"
    )
    truth = frame.group_by("ill").agg(s=pl.col("age").sum(), a=pl.col("age").mean()).sort("ill")
    assert by.frame["ill"].to_list() == truth["ill"].to_list()
    np.testing.assert_allclose(by.frame["s"], truth["s"])
    np.testing.assert_allclose(by.frame["a"], truth["a"])
    decades = release.query(
        "SELECT age // 10 AS d, COUNT(*) AS n FROM release WHERE ill = 'gout' OR age > 50 "
        "GROUP BY age // 10 ORDER BY d"
    )
    told = (frame.filter((pl.col("ill") == "gout") | (pl.col("age") > 50))
            .group_by(d=pl.col("age") // 10).len().sort("d"))  # fmt: skip
    there = decades.frame.filter(pl.col("n") > 0)
    assert there["d"].to_list() == told["d"].to_list()
    np.testing.assert_allclose(there["n"], told["len"])
    kinds = release.query("SELECT COUNT(DISTINCT ill) FROM release")
    assert (kinds.low, kinds.high) == (0, 3) and kinds.estimate == pytest.approx(3)
    with pytest.raises(dc.errors.QueryError, match="MIN cannot be told"):
        release.query("SELECT MIN(age) FROM release")


def test_missing_values_are_a_cell_wherever_they_may_be() -> None:
    schema = SCHEMA.changed(replace(SCHEMA["age"], missing=dc.Missing.VALUE))
    rows = [(None, "F", "flu"), (30, "M", "none"), (40, "M", "flu")]
    data = dc.read(pl.DataFrame(rows, schema=["age", "sex", "ill"], orient="row"), schema)
    release = dc.publish(data, dc.NoisyMarginals(HARDLY, bins=2))
    assert release.query("SELECT COUNT(*) FROM release WHERE age IS NULL").estimate == 1
    assert release.query("SELECT COUNT(age) FROM release").estimate == 2
    assert release.query("SELECT AVG(age) FROM release").estimate == pytest.approx(39.5)  # middles
    assert release.sample(200, seed=1)["age"].null_count() > 20
    whole = dc.read(data.to_polars().tail(2), schema)  # nobody's is missing, and nobody is told
    assert dc.audit(dc.publish(whole, dc.NoisyMarginals(HARDLY)), whole).kept


def test_records_that_are_drawn_go_together_as_tables_say() -> None:
    data = some(3000, seed=5)
    release = dc.publish(data, dc.NoisyMarginals(HARDLY))
    drawn = release.sample(3000, seed=1)
    assert drawn.schema == data.to_polars().schema
    gout = drawn.filter(pl.col("ill") == "gout")
    assert gout.height > 200 and gout["age"].min() >= 44  # type: ignore[operator]


def test_a_release_is_the_same_whatever_attributes_are_called(tmp_path: Path) -> None:
    data = some(200)
    plain = dc.publish(data, dc.NoisyMarginals(dc.DifferentialPrivacy(1)), insecure_seed=1)
    called = {"age": "count", "sex": "Fitted", "ill": "cell"}
    schema = dc.Schema(tuple(replace(a, name=called[a.name]) for a in SCHEMA))
    odd = dc.publish(dc.read(data.to_polars().rename(called), schema),
                     dc.NoisyMarginals(dc.DifferentialPrivacy(1)), insecure_seed=1)  # fmt: skip
    odd = dc.load(odd.write(tmp_path / "odd", insecure=True))
    assert odd.tables["marginal"].columns == ["count", "cell", "count_", "fitted_"]
    for title in ("marginal", "marginal_2"):
        assert odd.tables[title].rows() == plain.tables[title].rows()
    assert odd.sample(50, seed=1).rows() == plain.sample(50, seed=1).rows()
    for asked in ('SELECT COUNT(*) FROM release WHERE "age" < 40 AND "ill" = \'flu\'',
                  'SELECT AVG("age") FROM release WHERE "sex" = \'F\''):  # fmt: skip
        same = asked
        for name, other in called.items():
            same = same.replace(f'"{name}"', f'"{other}"')
        assert odd.query(same).estimate == plain.query(asked).estimate


def write(folder: Path, data: dc.Microdata, epsilon: float = 1) -> Path:
    return dc.publish(data, dc.NoisyMarginals(dc.DifferentialPrivacy(epsilon))).write(folder)


def test_what_is_written_is_read_verified_and_audited_in_words(tmp_path: Path) -> None:
    data = some(300)
    folder = write(tmp_path / "r", data)
    loaded = dc.load(folder)
    verify(loaded)
    report = dc.audit(folder, data, attacks=True, presets=["cell-11"])
    assert report.problems == ["the rule cell-11 is not kept"]
    assert report.max_belief == 1.0 and "no belief" in report.how["ill"]
    assert any("standard deviations" in note for note in report.notes)
    assert "with noise" in report.crowd
    assert report.membership is not None  # e^2 / (1 + e^2)
    assert 0.8807 < (report.membership.told or 0) < 0.8809 and "nobody" in str(report.membership)
    assert report.to_dict() and report.explain(0).reasons
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "What is believed of anybody" in readme and "their ε add up" in readme
    other = dc.audit(folder, data, principle=dc.KAnonymity(2))
    assert other.breaches == data.n  # nothing of the kind is promised


def test_tables_that_are_not_whole_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", some(300))

    def refuse(title: str, change: Callable[[pl.DataFrame], pl.DataFrame], match: str) -> None:
        path = folder / f"{title}.parquet"
        before, manifest = path.read_bytes(), (folder / "datapackage.json").read_bytes()
        change(pl.read_parquet(path)).write_parquet(path)
        with pytest.raises(dc.errors.StoreError, match=match):
            dc.load(reseal(folder))
        path.write_bytes(before)
        (folder / "datapackage.json").write_bytes(manifest)

    refuse("marginal", lambda t: t.tail(-1), "one row for each combination")
    refuse("marginal", lambda t: t.reverse(), "in its place")
    refuse("marginal_2", lambda t: t.with_columns(fitted=pl.col("fitted") + 1), "do not follow")
    refuse("marginal_2", lambda t: t.with_columns(count=pl.col("count") + 40), "do not follow")
    refuse("public_cells", lambda t: t.tail(-1), "one row for each combination")
    refuse("public_cells", lambda t: t.with_columns(last=pl.col("first")), "no cells")
    dc.load(folder)


def test_less_noise_than_is_promised_is_a_breach(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", some(300))
    path = folder / "datapackage.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["discreet"]["parameters"]["scale"] = 1.9999
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(dc.errors.PromiseError, match="broken"):
        verify(dc.load(folder))


def test_counts_of_other_people_or_without_noise_are_found_out() -> None:
    data, others = some(3000), some(2000, seed=9)
    release = dc.publish(others, dc.NoisyMarginals(dc.DifferentialPrivacy(1)))
    assert any("another table" in found for found in dc.audit(release, data).problems)
    assert dc.audit(release, others).kept
    bare = dc.publish(data, dc.NoisyMarginals(HARDLY))
    promised = dc.DifferentialPrivacy(1)
    said = replace(bare.promise, principle=promised, guarantee=promised.promise)
    lying = replace(bare, promise=said, parameters={**bare.parameters, "scale": 2.0})
    assert any("have no noise" in found for found in dc.audit(lying, data).problems)
    narrow = replace(SCHEMA, attributes=(replace(SCHEMA["age"], high=60), *list(SCHEMA)[1:]))
    found = dc.audit(release, dc.read(others.to_polars(), narrow)).problems
    assert any("the cells of age are not those" in text for text in found)


def claim(release: dc.Release, epsilon: str, **told: Any) -> dc.Release:
    """Say of a release that it keeps another ε, or was made with other parameters."""
    promised = dc.DifferentialPrivacy(epsilon)
    said = replace(release.promise, principle=promised, guarantee=promised.promise)
    return replace(release, promise=said, parameters={**release.parameters, **told})


def test_noise_that_is_too_small_for_its_scale_is_found_out() -> None:
    data = some(3000)
    release = dc.publish(data, dc.NoisyMarginals(dc.DifferentialPrivacy(1)))
    assert dc.audit(release, data).kept
    found = dc.audit(claim(release, "1/1000", scale=2000.0), data).problems
    assert any("too little for noise of scale 2000" in text for text in found)
    small = dc.publish(data, dc.NoisyMarginals(dc.DifferentialPrivacy("1/1000")))
    assert dc.audit(small, data).kept


@pytest.mark.parametrize("scale", [0.02, 0.5, 2.0, 30.0])
def test_sums_of_draws_are_no_less_likely_than_is_said(scale: float) -> None:
    """Held against the sum's distribution, worked out draw by draw."""
    q, most = exp(-1 / scale), 150
    one = np.array([(1 - q) / (1 + q) * q**k * (2 if k else 1) for k in range(most)])
    told = np.eye(1, most)[0]
    for cells in range(1, 41):
        told = np.convolve(told, one)[:most]
        likely = np.cumsum(told)
        bits = [bound_little(total, cells, scale) for total in range(most)]
        assert (likely <= np.exp2(-np.array(bits)) * (1 + 1e-9)).all()
        assert bits[0] == pytest.approx(-np.log2(likely[0]))  # of no noise at all it is exact
    if scale > 2:
        assert bits[most - 1] > BITS + 3 and bits[0] > bits[most - 1]


def test_cells_are_held_against_what_is_declared_whatever_bins_says() -> None:
    release = dc.publish(FEW, dc.NoisyMarginals(dc.DifferentialPrivacy(1)))
    assert dc.audit(release, FEW).kept
    for bins in (None, 0, "20", 2.5, True):
        found = dc.audit(claim(release, "1", bins=bins), FEW).problems
        assert any("bins" in text and "whole number" in text for text in found)


def test_a_ledger_adds_epsilons_up_and_vouches_for_nothing_beside_noise(tmp_path: Path) -> None:
    data, book = some(300), dc.Ledger.init(tmp_path / "book", "clinic")
    for place, epsilon in enumerate((1, "1/2")):
        release = dc.publish(data, dc.NoisyMarginals(dc.DifferentialPrivacy(epsilon)))
        _, notes = book.publish(release, data, tmp_path / str(place))
    assert book.add_epsilons() == Fraction(3, 2)
    assert any("add up to 1.5" in note for note in notes)
    looks = dc.publish(data, dc.Generalization(dc.KAnonymity(3)))
    assert book.check(looks, data)[0] == []
    exact = dc.publish(data, dc.Anatomy(dc.FrequencyDiversity("3/2")))
    with pytest.raises(dc.errors.PromiseError, match="no belief is"):
        book.publish(exact, data, tmp_path / "exact")
    entry, _ = book.publish(exact, data, tmp_path / "exact", accept_estimates=True)
    assert any("was estimated" in text for text in book.load(entry).promise.leaves_open)


def test_it_can_be_compared_with_others_on_the_same_questions() -> None:
    data = some(400)
    methods = [
        dc.NoisyMarginals(dc.DifferentialPrivacy(1)),
        dc.Anatomy(dc.FrequencyDiversity("3/2")),
    ]
    noisy, anatomy = dc.compare(data, methods, 40).trials
    assert noisy.problem is None and not noisy.unanswered
    assert noisy.errors.keys() == anatomy.errors.keys()
    assert noisy.withstands is not None and "no belief" in noisy.withstands["knows anything at all"]
