"""Regression: fits from a release are held against the microdata's, and chains against worlds."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.analysis.augmentation import Augmentation
from discreet.analysis.design import code_regressor, code_response
from discreet.analysis.equation import Equation
from discreet.analysis.models import LeastSquares
from discreet.forms import find_form
from discreet.forms.incomplete import Dealt, Incomplete, LabelCells
from discreet.table.schema import Attribute, Role, Type
from samples import EVERY_FORM, microdata

AGE = Attribute("age", Role.QUASI_IDENTIFIER, Type.INTEGER)
PAY = Attribute("pay", Role.SENSITIVE, Type.INTEGER)


def draw_people(n: int, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age, male = rng.integers(20, 70, n), rng.random(n) < 0.5
    pay = np.round(1000 + 40 * age + 500 * male + 600 * rng.standard_normal(n))
    high = rng.random(n) < 1 / (1 + np.exp(3.5 - 0.06 * age - 0.8 * male))
    sex = np.where(male, "male", "female")
    return pl.DataFrame({"age": age, "sex": sex, "pay": pay.astype(np.int64), "high": high})


def fit_plainly(frame: pl.DataFrame, response: str = "pay") -> np.ndarray:
    design = np.column_stack([np.ones(frame.height), frame["age"], frame["sex"] == "male"])
    return np.linalg.lstsq(design.astype(float), frame[response].to_numpy(), rcond=None)[0]


def test_what_a_release_shows_side_by_side_is_fitted_as_it_is() -> None:
    """Attributes of one slice are exact; scikit-learn fits the same."""
    from sklearn.linear_model import LogisticRegression

    frame = draw_people(400)
    data = microdata(frame, ["age", "sex", "high"], ["pay"])
    columns = [["age", "sex", "high"], ["pay"]]
    release = dc.publish(data, dc.Slicing(dc.FrequencyDiversity(2), columns=columns))
    fit = release.regress("high ~ age + sex")
    design = frame.select("age", pl.col("sex") == "male").to_numpy().astype(float)
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10000).fit(design, frame["high"])
    found = fit.frame["estimate"].to_numpy()
    assert np.allclose(found, [*peer.intercept_, *peer.coef_[0]], rtol=1e-3)
    assert (fit.family, fit.n, fit["sex = male"]) == ("binomial", 400, found[2])
    least = release.regress("age ~ sex")
    means = [frame.filter(sex=sex)["age"].mean() for sex in ("female", "male")]
    assert np.allclose(least.frame["estimate"], [means[0], means[1] - means[0]])  # type: ignore[operator]
    assert least.frame["lost"].to_list() == [0, 0]


@pytest.mark.parametrize("form", [form for form in EVERY_FORM if form != "slicing"])
def test_every_form_finds_what_the_microdata_say(form: str) -> None:
    frame = draw_people(400).with_columns(region=pl.lit("here")).drop("high")
    method = dc.Angelization(dc.FrequencyDiversity(2), k=3) if form == "angelization" else (
        EVERY_FORM[form])  # fmt: skip
    release = dc.publish(microdata(frame, ["age", "sex", "region"], ["pay"]), method,
                         insecure_seed=1)  # fmt: skip
    fit = release.regress("pay ~ age + sex", seed=1)
    away = (fit.frame["estimate"].to_numpy() - fit_plainly(frame)) / fit.frame["stderr"].to_numpy()
    assert (np.abs(away) < 3).all()
    assert fit.notes and fit.frame["stderr"].min() > 0  # type: ignore[operator]


def test_wide_groups_do_not_pull_slopes_towards_nothing() -> None:
    frame = draw_people(1000).drop("high")
    release = dc.publish(
        microdata(frame, ["age", "sex"], ["pay"]), dc.Permutation(dc.KE(10, 2000)), insecure_seed=1
    )
    truth, fit = fit_plainly(frame), release.regress("pay ~ age + sex", seed=1)
    (completed,) = release.impute(1, seed=1)
    assert fit_plainly(completed)[1] < 0.75 * truth[1]
    assert abs(fit["age"] - truth[1]) < 0.1 * truth[1]
    assert fit.frame["lost"].to_list()[1] > 0.1


def make_chain(records: Incomplete, slope: float, spread: float) -> Augmentation:
    response, _ = code_response(records, PAY, None)
    by = Equation("pay", response, {"age": code_regressor(records, AGE)}, LeastSquares())
    chain = Augmentation(records, by, by, np.random.default_rng(1))
    chain.coefficients = np.array([3.0, slope * by.scale[1]])
    chain.spread = spread
    return chain


def test_values_of_a_group_are_dealt_as_likely_as_the_fit_makes_them() -> None:
    """All six worlds of three people, by their density."""
    ages, pays = np.array([1, 2, 6]), np.array([2, 3, 5])
    frame = pl.DataFrame({"age": ages, "pay": pays})
    chain = make_chain(Incomplete(frame, dealt=[Dealt(("pay",), np.zeros(3, np.int64))]), 0.5, 4.0)
    worlds = list(permutations(range(3)))
    fitted = 3 + 0.5 * (ages - ages.mean())
    weights = np.array([np.exp(-((pays[list(w)] - fitted) ** 2).sum() / 8) for w in worlds])
    seen = dict.fromkeys(worlds, 0)
    for _ in range(5000):
        chain._move()
        seen[tuple(chain.codes["pay"].tolist())] += 1
    assert np.allclose(np.array([*seen.values()]) / 5000, weights / weights.sum(), atol=0.035)


@pytest.mark.parametrize("blurred", ["age", "pay"])
def test_a_place_in_a_box_is_as_likely_as_the_fit_makes_it(blurred: str) -> None:
    values = pl.Series(blurred, [1, 2, 3, 4])
    cells = {blurred: LabelCells(values, np.array([0]), np.array([4]))}
    frame = pl.DataFrame({"age": ["1 to 4" if blurred == "age" else 2],
                          "pay": ["1 to 4" if blurred == "pay" else 2]},
                         strict=False)  # fmt: skip
    chain = make_chain(Incomplete(frame, cells), 0.8, 1.5)
    at = np.arange(1, 5)
    centre = chain.by.centre[1]
    away = at - (3 + 0.8 * (2 - centre)) if blurred == "pay" else 2 - (3 + 0.8 * (at - centre))
    weights = np.exp(-(away**2) / 3)
    seen = np.zeros(4)
    for _ in range(5000):
        chain._move()
        seen[chain.codes[blurred][0]] += 1
    assert np.allclose(seen / 5000, weights / weights.sum(), atol=0.035)


def test_what_was_drawn_at_random_is_taken_out_of_numbers_on_both_sides() -> None:
    """Over many tables the corrected slopes are the microdata's."""
    rng, found = np.random.default_rng(1), []
    for seed in range(20):
        age = rng.integers(0, 100, 2000)
        pay = np.clip(age + rng.integers(-20, 21, 2000), 0, 99)
        frame = pl.DataFrame({"age": age, "pay": pay})
        method = dc.Perturbation(dc.Proximity(1, 2), within=(0, 99), check="paper")
        data = microdata(frame, ["age"], ["pay"])
        release = dc.publish(data, method, insecure_seed=seed)
        for text, slope in (
            ("pay ~ age", np.polyfit(age, pay, 1)[0]),
            ("age ~ pay", np.polyfit(pay, age, 1)[0]),
        ):
            try:
                row = release.regress(text).frame.row(1, named=True)
            except dc.DiscreetError:  # too little is left to tell
                continue
            found.append((text, (row["estimate"] - slope) / row["stderr"]))
    away = np.array([share for text, share in found if text == "pay ~ age"])
    assert len(away) == 20 and abs(away.mean()) < 0.5 and 0.5 < away.std() < 1.5


def test_missing_cells_are_left_out() -> None:
    frame = draw_people(500).drop("high").with_columns(
        pay=pl.when(pl.int_range(500) % 10 == 0).then(None).otherwise("pay")
    )  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["age", "sex"], sensitive=["pay"])
    schema = schema.changed(
        *(dc.Attribute(a.name, a.role, a.type, dc.Missing.VALUE) for a in schema if a.name == "pay")
    )
    release = dc.publish(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(5)))
    fit = release.regress("pay ~ age + sex", seed=1)
    truth = fit_plainly(frame.drop_nulls())
    assert fit.n == 450 and abs(fit["age"] - truth[1]) < 3 * fit.frame["stderr"][1]


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("pay ~ age * sex", "'*' stands where '+' should (at character 11)"),
        ("pay ~ log(age)", "There is no attribute 'log' (at character 7)"),
        ("pay ~ 1", "1 is a number, not an attribute (at character 7)"),
        ("pay age", "'age' stands where '~' should (at character 5)"),
        ("pay ~", "The formula ends too early"),
        ("pay ~ age + age", "has 'age' twice"),
        ("pay ~ agee", "There is no attribute 'agee'"),
        ("sex ~ job", "'job' has 4 values"),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_its_place(formula: str, said: str) -> None:
    frame = draw_people(80).drop("high").with_columns(job=pl.Series(["a", "b", "c", "d"] * 20))
    release = dc.publish(
        microdata(frame, ["age", "sex", "job"], ["pay"]), dc.Generalization(dc.KAnonymity(2))
    )
    with pytest.raises(dc.DiscreetError) as refused:
        release.regress("job ~ age" if "job" in formula else formula)
    assert said in str(refused.value) and "Hint" in str(refused.value)


def test_a_relation_that_slicing_destroyed_is_refused() -> None:
    release = dc.publish(
        microdata(draw_people(200).drop("high"), ["age", "sex"], ["pay"]),
        dc.Slicing(dc.FrequencyDiversity(2), columns=[["age", "sex"], ["pay"]]),
    )
    with pytest.raises(dc.DiscreetError, match="different columns of this sliced release: their"):
        release.regress("pay ~ age")


def test_batches_of_few_values_that_were_filled_by_neighbours_come_with_a_caution() -> None:
    data = microdata(draw_people(300).drop("pay"), ["age", "sex"], ["high"])
    wide = dc.FrequencyDiversity("4/3")
    for how, said in (("direct", True), ("anatomize", False)):
        release = dc.publish(data, dc.Anatomy(wide, batches=how))  # type: ignore[arg-type]
        records = find_form(release.form).open_records(release, ["age", "high"])
        assert ("pulled towards 0" in str(records.caution)) is said
    fit = dc.publish(data, dc.Anatomy(wide)).regress("high ~ sex", seed=1)
    assert any("pulled towards 0" in note for note in fit.notes)
