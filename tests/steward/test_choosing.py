"""Choosing: every method on the same table, kept as it is finished, and advice that can be read."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from commands import COMMAND
from commands import discreet_here as discreet
from discreet.evaluate.questions import Errors, draw_questions, measure_errors, read_own
from discreet.forms.estimates import Estimator
from discreet.publishing.method import Method
from discreet.publishing.methods import REGISTRY
from discreet.steward.choosing import Refused, Trial, comparison, list_contenders
from discreet.steward.choosing.advice import Bar, advise
from discreet.steward.choosing.patience import stopping_after
from discreet.steward.choosing.trial import name_setting

ANY = dc.FrequencyDiversity(3)
METHODS: list[Method] = [
    dc.Generalization(ANY),
    dc.Angelization(ANY),
    dc.Anatomy(ANY),
    dc.Slicing(ANY),
    dc.Slicing(ANY, frequency=5),
    dc.Permutation(dc.KE(4, 500)),
    dc.RankSwapping(dc.KE(4, 500)),
    dc.Perturbation(dc.Proximity(epsilon=100, m=3)),
]
each = pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.title} {m.parameters()}")


@pytest.fixture(scope="module")
def people() -> dc.Microdata:
    frame = dc.datasets.census_frame(600, seed=3).select("age", "sex", "household", "income")
    frame = frame.with_columns(income=(pl.col("income") // 500) * 500)
    schema = dc.Schema.infer(
        frame, quasi_identifiers=["age", "sex", "household"], sensitive=["income"]
    )
    return dc.read(frame, schema)


@each
def test_answers_in_memory_are_those_in_sql(method: Method, people: dc.Microdata) -> None:
    release = dc.publish(people, method, insecure_seed=1)
    estimator = Estimator(release, people)
    asked = 0
    for batch in draw_questions(people, 24, volume=0.3, dimensions=2, seed=5).batches:
        sums = estimator.estimate(batch.workload, batch.number)
        counts = estimator.estimate(batch.workload)
        for i, sql in enumerate(batch.sql):
            try:
                told = release.query(sql).estimate
            except dc.DiscreetError:
                continue
            asked += 1
            if batch.kind == "average":
                assert told is None or told == pytest.approx(sums[i] / counts[i])
            else:
                assert (told or 0) == pytest.approx(sums[i], abs=1e-6)
    assert asked > 10


def test_the_truth_is_what_the_table_says(people: dc.Microdata) -> None:
    frame = people.to_polars()
    for batch in draw_questions(people, 16, volume=0.3, seed=2).batches:
        for i in range(len(batch.sql)):
            taken = np.ones(people.n, dtype=bool)
            for name, takes in batch.workload.takes.items():
                taken &= takes[i][people.codes[name]]
            chosen = frame.filter(taken)["income"]
            expected = {"sum": chosen.sum(), "average": chosen.mean()}.get(batch.kind, len(chosen))
            if expected is None or (batch.kind == "sum" and not len(chosen)):
                assert np.isnan(batch.truth[i])
            else:
                assert batch.truth[i] == pytest.approx(expected)


def test_errors_of_questions_about_hardly_anybody_do_not_decide() -> None:
    errors = measure_errors(np.array([0.0, 100.0, np.nan]), np.array([5.0, 90.0, 1.0]), 10)
    assert errors.tolist() == [0.5, 0.1]


def test_every_form_is_measured(people: dc.Microdata) -> None:
    found = dc.compare(people, METHODS, 40)
    assert len(found.table) == len(METHODS)
    assert found.table["problem"].null_count() == len(METHODS)
    for trial in found.trials:
        assert trial.worst_belief is not None and 0 < trial.worst_belief <= 1
        assert trial.membership is not None and 0 <= trial.membership <= 1
        assert {*trial.errors} | {*trial.unanswered} >= {"count", "range", "sum", "average"}
        assert trial.size > 0
        assert "income" in trial.proximity
    exact = {t.method for t in found.trials if t.exact}
    assert exact == {"anatomy", "permutation", "rank-swapping", "perturbation"}
    assert not [t.method for t in found.trials if t.unanswered]
    assert all(t.membership == 1 for t in found.trials if t.exact)


def test_a_method_that_cannot_keep_its_promise_is_a_row_with_its_reason(
    people: dc.Microdata,
) -> None:
    methods = [dc.Anatomy(dc.FrequencyDiversity(400)), dc.Anatomy(ANY)]
    found = dc.compare(people, methods, 8)
    assert found.trials[0].problem is not None and "cannot be kept" in found.trials[0].problem
    assert found.trials[1].problem is None
    assert any("cannot be kept" in text for text in found.advice)


def test_all_registered_methods_contend() -> None:
    found = list_contenders(dc.FrequencyDiversity(2))
    assert list(dict.fromkeys(c.title for c in found)) == list(REGISTRY)
    assert [str(name_setting(c)) for c in found if isinstance(c, dc.Angelization)] == [
        "", "marginals = auto", "resist = method"
    ]  # fmt: skip
    refused = {c.title for c in found if isinstance(c, Refused)}
    assert refused == {"apriori", "noisy-marginals", "perturbation", "sequential"}


def test_methods_contend_with_what_is_nearest_to_a_promise() -> None:
    promise = dc.KAnonymity(10) & dc.FrequencyDiversity(3, on="pay")
    found = {c.title: c for c in reversed(list_contenders(promise))}
    assert found["angelization"] == dc.Angelization(dc.FrequencyDiversity(3, on="pay"), k=10)
    assert found["anatomy"] == dc.Anatomy(dc.FrequencyDiversity(3, on="pay"))
    assert found["permutation"] == dc.Permutation(dc.FrequencyDiversity(3, on="pay"))
    assert found["rank-swapping"] == dc.RankSwapping(dc.KE(3, 0))
    assert found["generalization"] == dc.Generalization(promise)
    near = dc.KAnonymity(5) & dc.Proximity(10, 4)
    assert next(c for c in list_contenders(near) if c.title == "perturbation") == (
        dc.Perturbation(dc.Proximity(10, 4)))  # fmt: skip


def test_finished_trials_are_not_made_again(
    people: dc.Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = comparison.try_method, []

    def interrupt(method: Method, course: object) -> Trial:
        calls.append(method)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(method, course)  # type: ignore[arg-type]

    monkeypatch.setattr(comparison, "try_method", interrupt)
    methods = [dc.Anatomy(dc.FrequencyDiversity(value)) for value in (2, 3, 4)]
    part = dc.compare(people, methods, 8, folder=tmp_path)
    assert (len(part.trials), part.missing) == (1, 2)
    assert (
        part.to_html(tmp_path / "part.html").read_text(encoding="utf-8").count("Interrupted") == 1
    )
    whole = dc.compare(people, methods, 8, folder=tmp_path)
    assert len(calls) == 4  # the first was not tried again
    assert whole.trials[0] == part.trials[0]
    with (tmp_path / "trials.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"key": "cut o')
    again = dc.compare(people, methods, 8, folder=tmp_path)
    assert again.trials == whole.trials
    other = dc.compare(people.head(500), methods[:1], 8, folder=tmp_path)
    assert other.people == 500  # another table: nothing is taken over
    assert len(calls) == 5


def test_a_trial_that_was_damaged_where_it_is_kept_is_made_again(tmp_path: Path) -> None:
    method = dc.Anatomy(dc.FrequencyDiversity(2))
    trial = Trial("anatomy", "p", "", loss=0.5, errors={"count": Errors(0.1, 0.2, 0.3, 4)})
    kept = comparison._Kept(tmp_path, "course")
    name = kept._name(method)
    kept._keep(name, trial.to_dict())
    assert comparison._Kept(tmp_path, "course").find(method) == trial
    file = tmp_path / "trials.jsonl"
    line = file.read_text(encoding="utf-8")
    assert name in line
    for old, new in (
        ('"loss": 0.5', '"loss": "much"'), ('"mean": 0.1', '"means": 1'), ('"method"', '"way"'),
        ('{"key"', "[" * 5000), (f'"{name}"', "[]"), ('"value"', '"values"'),
    ):  # fmt: skip
        assert old in line
        file.write_text(line.replace(old, new), encoding="utf-8")
        assert comparison._Kept(tmp_path, "course").find(method) is None
    file.unlink()
    file.mkdir()
    with pytest.raises(dc.errors.StoreError, match="cannot be read"):
        comparison._Kept(tmp_path, "course")


def test_a_trial_that_takes_too_long_is_stopped_and_tried_again_the_next_time(
    people: dc.Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = [Refused("none", ANY, "no reason"), dc.Anatomy(ANY)]
    with monkeypatch.context() as patched:
        patched.setattr(comparison, "try_method", lambda method, course: (
            Trial("none", "", "", problem="no reason") if isinstance(method, Refused)
            else time.sleep(600)
        ))  # fmt: skip
        found = dc.compare(people, methods, 20, folder=tmp_path, minutes=0.005)
    assert [t.problem for t in found.trials] == [
        "no reason", "it took more than 0.005 minutes, and was stopped"
    ]  # fmt: skip
    assert found.trials[1].method == "anatomy" and not found.missing
    again = dc.compare(people, methods[1:], 20, folder=tmp_path)
    assert [t.problem for t in again.trials] == [None]


def test_an_alarm_that_strikes_while_it_is_disarmed_stays_silent_afterwards() -> None:
    handler = signal.getsignal(signal.SIGALRM)
    with pytest.raises(KeyboardInterrupt), stopping_after(60) as over:
        honest, struck = signal.setitimer, []

        def disarm(which: int, seconds: float, again: float = 0.0) -> object:
            if not struck:
                struck.append(True)
                signal.raise_signal(signal.SIGALRM)
            return honest(which, seconds, again)

        signal.setitimer = disarm  # type: ignore[assignment]
    signal.setitimer = honest
    assert over() and struck
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) == handler


def test_the_steward_may_bring_questions(people: dc.Microdata, tmp_path: Path) -> None:
    file = tmp_path / "own.sql"
    file.write_text(
        "SELECT COUNT(*) FROM release WHERE age > 40;\nSELECT AVG(income) FROM release;",
        encoding="utf-8",
    )
    questions = draw_questions(people, 8, own=file)
    frame = people.to_polars()
    assert [truth for _, truth, _ in questions.own] == [
        frame.filter(pl.col("age") > 40).height,
        pytest.approx(frame["income"].mean()),
    ]
    found = dc.compare(people, [dc.Generalization(ANY)], questions)
    assert found.trials[0].errors["own"].median < 0.2
    file.write_text("SELECT COUNT(*) FROM release\nSELECT SUM(income) FROM release\n", "utf-8")
    assert [truth for _, truth, _ in read_own(file, people)] == [people.n, frame["income"].sum()]
    for text in ("", "SELECT * FROM release", "DROP TABLE release", "SELECT COUNT(*) FROM x",
                 "SELECT COUNT(*) FROM release WHERE age = 'abc'"):  # fmt: skip
        file.write_text(text, encoding="utf-8")
        with pytest.raises(dc.DiscreetError):
            read_own(file, people)


def trial(method: str, error: float, high: float | None = None, **more: object) -> Trial:
    errors = {"count": Errors(error, error, 2 * error if high is None else high, 40)}
    base = Trial(method, "p", "", worst_belief=0.25, errors=errors, membership=0.5)
    return replace(base, **more)  # type: ignore[arg-type]


def tell(trials: list[Trial], *settings: float | None, **more: object) -> list[str]:
    return [told.text for told in advise(trials, *settings, **more)]  # type: ignore[arg-type]


def test_advice_names_the_best_the_next_and_the_limits() -> None:
    told = tell([trial("a", 0.05, exact=True, membership=1.0), trial("b", 0.2)], None, None)
    assert told[1].startswith(
        "For counts of people with some values: a; half of 40 answers are off by at most 5.0%, "
        "nine of ten by at most 10.0%"
    )
    assert "next b with 20.0%" in told[1]
    assert "believed with 25%" in told[1]
    assert "membership is not hidden" in told[1]
    assert told[2].startswith("Who is in the table shows least: b")


def test_advice_prefers_what_hides_members_among_equals() -> None:
    three = [trial("a", 0.05, membership=1.0), trial("b", 0.0505), trial("c", 0.05, membership=0.7)]
    told = tell(three, None, None)
    assert "values: b;" in told[1]
    assert "a, c are as good" in told[1]


def test_what_is_bad_where_it_is_bad_is_not_as_good() -> None:
    told = tell([trial("a", 0.05, 0.06, membership=1.0), trial("b", 0.05, 3.0)], None, None)
    assert "values: a;" in told[1]
    assert "next b with 5.0%" in told[1]


def test_trials_of_one_method_are_told_apart_by_their_promises() -> None:
    told = tell([trial("a", 0.05), trial("a", 0.2, promise="q"), trial("b", 0.3)], None, None)
    assert "values: a, p;" in told[1]
    assert "next b with 30.0%" in told[1]


def test_advice_names_nothing_that_is_of_no_use() -> None:
    told = tell([trial("a", 27.58), trial("b", 0.7)], None, None)
    assert told[1] == (
        "For counts of people with some values: none of these; half of the answers are off by "
        "more than 70% at best."
    )


def test_what_fails_a_purpose_that_the_steward_named_is_not_advised() -> None:
    sums = {"count": Errors(0.01, 0.01, 0.01, 40), "sum": Errors(9.0, 8.0, 20.0, 40)}
    good = {"count": Errors(0.1, 0.1, 0.1, 40), "sum": Errors(0.1, 0.1, 0.1, 40)}
    both = [trial("a", 0.0, errors=sums), trial("b", 0.0, errors=good)]
    assert any("values: a;" in text for text in tell(both, None, None))
    told = tell(both, None, None, purposes=("count", "sum"))
    assert "Left out: a fails for sums of a sensitive number: half of its answers are off by " in (
        " ".join(told))  # fmt: skip
    assert any("values: b;" in text for text in told)
    assert any("number: b;" in text for text in told)


def test_purposes_that_nothing_is_asked_about_are_refused(people: dc.Microdata) -> None:
    with pytest.raises(dc.DiscreetError, match="'own'") as refused:
        dc.compare(people, [dc.Anatomy(ANY)], 8, purposes=["own"])
    assert "count, range, sum, average" in str(refused.value)


@pytest.mark.parametrize(
    ("promise", "bar"),
    [
        (dc.KAnonymity(10) & dc.FrequencyDiversity(4), "25%: what the plan promises, 1/4"),
        (dc.Proximity(epsilon=100, m=3), "33%: what the plan promises, 1/3"),
        (dc.KAnonymity(10), "what half of the methods reach"),
        (dc.FrequencyDiversity(4, on="income"), "25%: what the plan promises, 1/4"),
    ],
    ids=str,
)
def test_releases_are_compared_at_what_the_plan_promises(
    people: dc.Microdata, promise: dc.Principle, bar: str
) -> None:
    found = dc.compare(people, [dc.Anatomy(dc.FrequencyDiversity(5))], 8, promise=promise)
    assert bar in found.advice[0]
    asked = dc.compare(people, [dc.Anatomy(ANY)], 8, promise=promise, belief="1/2")
    assert "50%: as asked" in asked.advice[0]


def test_advice_compares_at_the_same_privacy() -> None:
    loose, lost = trial("a", 0.01, worst_belief=0.9), trial("d", 0.0, worst_belief=0.8)
    told = tell([loose, trial("a", 0.3), trial("b", 0.2), lost], None, None)
    assert "more than 25%" in told[0]
    assert "d (80% at best)" in told[0]
    assert "values: b;" in told[1]
    asked = tell([loose, trial("a", 0.3), lost], None, None, bar=Bar(0.85))
    assert "more than 85%: as asked" in asked[0]
    assert "values: d;" in asked[1]


def test_advice_does_not_name_who_answers_only_some() -> None:
    some = trial("a", 0.0, unanswered={"count": "no"})
    told = tell([some, trial("b", 0.2)], None, None)
    assert "values: b;" in told[1]
    assert "not all are answered by a" in told[1]
    assert "none of these" in tell([some], None, None)[1]


def test_advice_says_so_when_models_learn_nothing() -> None:
    told = tell([trial("a", 0.1, accuracy=0.34)], 0.5, 0.3, tested=50)  # chance, with 50 people
    assert any("none of them" in text for text in told)
    assert tell([trial("a", 0.1, problem="no")], None, None)[0].startswith("No method")


PLAN = """
[source]
file = "people.csv"
[columns.age]
role = "quasi-identifier"
type = "integer"
[columns.sex]
role = "quasi-identifier"
[columns.job]
role = "sensitive"
[method]
name = "anatomy"
[[method.principles]]
name = "frequency-diversity"
l = 2
[[compare]]
name = "anatomy"
[[compare.principles]]
name = "frequency-diversity"
l = "2..4"
[[compare]]
name = "angelization"
k = { try = [2, 5] }
[[compare.principles]]
name = "frequency-diversity"
l = 2
"""


@pytest.fixture
def office(tmp_path: Path) -> Path:
    frame = dc.datasets.adult_frame().drop_nulls().head(400)
    frame.select("age", "sex", job="occupation").write_csv(tmp_path / "people.csv")
    (tmp_path / "people.plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def test_a_plan_lists_methods_and_ranges(office: Path) -> None:
    plan = dc.Plan.read(office / "people.plan.toml")
    assert [str(m.principle) for m in plan.contenders[:3]] == [
        f"frequency-diversity (l = {value})" for value in (2, 3, 4)
    ]
    assert [m.parameters()["k"] for m in plan.contenders[3:]] == [2, 5]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('l = "2..4"', 'l = "two"', "compare entry 1"),
        ('name = "angelization"', 'name = "angel"', "compare entry 2"),
        ("k = { try = [2, 5] }", "q = 3", "there is no setting 'q'"),
        ('l = "2..4"', 'l = "4..2"', "compare entry 1: '4..2' stands for 0 values"),
        ('l = "2..4"', 'l = "1..999999"', "compare entry 1"),
    ],
)
def test_a_wrong_entry_is_named(office: Path, old: str, new: str, says: str) -> None:
    file = office / "people.plan.toml"
    file.write_text(PLAN.replace(old, new), encoding="utf-8")
    with pytest.raises(dc.DiscreetError, match=says):
        dc.Plan.read(file)
    done = discreet("compare", "people.plan.toml", cwd=office)
    assert done.returncode == 2
    assert not (office / "people.comparison").exists()


def test_compare_from_end_to_end(office: Path) -> None:
    done = discreet("compare", "people.plan.toml", "--questions", "40", "--json", cwd=office)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(told["trials"]) == 5
    assert told["advice"]
    page = (office / "people.comparison" / "comparison.html").read_text(encoding="utf-8")
    assert page.count("<svg") >= 3
    assert page.count("<title>1: anatomy, frequency-diversity (l = 2)") == page.count("<svg")
    assert "http://" not in page.replace("http://www.w3.org", "")
    again = discreet("compare", "people.plan.toml", "--questions", "40", cwd=office)
    assert again.returncode == 0
    assert "Who is in the table shows least" in again.stdout


def test_an_interrupted_comparison_can_be_read_and_goes_on(office: Path) -> None:
    text = PLAN.replace('"2..4"', '"2..6"')
    (office / "people.plan.toml").write_text(text, encoding="utf-8")
    command = [*COMMAND, "compare", "people.plan.toml", "--questions", "400"]
    process = subprocess.Popen(
        command, cwd=office, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    kept = office / "people.comparison" / "trials.jsonl"
    until = time.monotonic() + 300  # under load, kernels may have to be compiled first
    while process.poll() is None and time.monotonic() < until:
        if kept.exists() and len(kept.read_text(encoding="utf-8").splitlines()) >= 2:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)  # it may be deaf, and go on to the end
    assert process.returncode in (0, 130), said
    done = json.loads((office / "people.comparison" / "comparison.json").read_text())
    assert done["trials"]
    if process.returncode:
        assert done["not_tried"] > 0
    again = discreet("compare", "people.plan.toml", "--questions", "400", "--json", cwd=office)
    assert json.loads(again.stdout)["not_tried"] == 0


def test_a_comparison_never_goes_into_a_release(office: Path) -> None:
    assert discreet("publish", "people.plan.toml", "--out", "r", cwd=office).returncode == 0
    for to in ("r", "r/x"):
        done = discreet("compare", "people.plan.toml", "--to", to, cwd=office)
        assert done.returncode == 2, to
        assert not (office / "r" / "x").exists()


@pytest.mark.parametrize(
    "columns",
    [
        {"age": [None] * 30, "zip": list(range(30)), "ill": list("abcde") * 6},
        {"age": list(range(30)), "zip": [1] * 30, "ill": ["a"] * 30},
        {"age": [1] * 30, "zip": [1] * 30, "ill": list(range(30))},
        {"age": [1], "zip": [None], "ill": ["a"]},
    ],
    ids=["all missing", "one value", "number", "one person"],
)
def test_odd_tables_are_compared(columns: dict[str, list[object]]) -> None:
    frame = pl.DataFrame(columns, schema_overrides={"age": pl.Int64, "zip": pl.Int64})
    whole = isinstance(columns["ill"][0], int)
    known = {"role": dc.Role.QUASI_IDENTIFIER, "type": dc.Type.INTEGER, "missing": dc.Missing.VALUE}
    schema = dc.Schema(
        (
            dc.Attribute("age", **known),  # type: ignore[arg-type]
            dc.Attribute("zip", **known),  # type: ignore[arg-type]
            dc.Attribute("ill", dc.Role.SENSITIVE, dc.Type.INTEGER if whole else dc.Type.CATEGORY),
        )
    )
    found = dc.compare(dc.read(frame, schema), list_contenders(dc.KAnonymity(1)), 8)
    assert len({trial.method for trial in found.trials}) == len(REGISTRY)
    assert found.advice


def test_trials_of_a_release_or_ledger_are_not_kept_there(
    people: dc.Microdata, tmp_path: Path
) -> None:
    dc.publish(people, dc.Anatomy(ANY)).write(tmp_path / "release")
    dc.Ledger.init(tmp_path / "book", "x")
    for place in ("release", "release/x", "book"):
        with pytest.raises(dc.DiscreetError, match="a release or a ledger"):
            dc.compare(people, [dc.Anatomy(ANY)], 8, folder=tmp_path / place)


def test_other_earlier_releases_are_another_trial(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "sex": list("fmfm")})
    known = dc.Schema.infer(frame, quasi_identifiers=["age", "sex"], sensitive=[])
    for k in (1, 2):
        release = dc.publish(dc.read(frame, known), dc.Generalization(dc.KAnonymity(k)))
        release.write(tmp_path / f"r{k}")
    promise = dc.XYAnonymity(x=["age"], y="people", k=1)
    prints = {
        comparison._print_earlier(dc.Sequential(promise, earlier=[tmp_path / f"r{k}"]))
        for k in (1, 2)
    }
    assert len(prints) == 2
