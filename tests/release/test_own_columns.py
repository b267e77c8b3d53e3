"""Attributes may be called what a release calls columns of its own, which then give way.

Held against the very same table under other names: everything is the same up to these.
"""

from __future__ import annotations

import json
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import discreet as dc
from discreet.evaluate.divergence import measure_divergence
from discreet.forms.installing import install
from discreet.forms.verify import verify
from discreet.publishing.draws import KeyedDraws
from discreet.publishing.method import Method
from discreet.publishing.methods import REGISTRY
from discreet.release import name_own
from discreet.release.store import fingerprint
from in_parts import publish_from_disk, spread

RNG = np.random.default_rng(5)
N = 90
PEOPLE = {
    "number": pl.Series(RNG.integers(20, 40, N)),
    "letter": pl.Series(RNG.choice(["a", "b", "c"], N)),
    "place": pl.Series(RNG.choice(["north", "south"], N)),
    "second": pl.Series(RNG.integers(1, 5, N)),
    "secret": pl.Series(RNG.integers(1, 9, N)),
    "other": pl.Series(RNG.integers(1, 9, N)),
}
"""What columns hold, in order: four quasi-identifiers, a sensitive number, and another or a kept
column."""
NAMES = [
    ["class", "group", "batch", "bucket", "count", "weight"],
    ["count", "batch", "group", "bucket", "class", "group_2"],
    ["Class", "GROUP", "Batch", "Bucket", "COUNT", "Weight"],
    ["class", "class_", "batch", "batch_", "group", "group_"],
    ["value", "low", "high", "hits", "rows", "label"],
    ["n", "len", "set", "w", "probability", "share"],
    ["estimate", "expected", "certain", "width", "x", "x_low"],
]
clashing = pytest.mark.parametrize("names", NAMES[:3], ids=" ".join)
METHODS: dict[str, Method] = {
    "generalization": dc.Generalization(dc.KAnonymity(3)),
    "dealt": dc.Generalization(dc.Proximity(1, 2)),
    "full-domain": dc.FullDomain(dc.KAnonymity(3)),
    "sequential": dc.Sequential(dc.KAnonymity(3)),
    "republication": dc.Republication(dc.MInvariance(2)),
    "invariant-angelization": dc.InvariantAngelization(dc.MInvariance(2), k=4),
    "angelization": dc.Angelization(dc.FrequencyDiversity(2), k=3),
    "anatomy": dc.Anatomy(dc.FrequencyDiversity(2)),
    "slicing": dc.Slicing(dc.FrequencyDiversity(2)),
    "regions": dc.Slicing(dc.KAnonymity(3), columns=2, buckets=6, frequency=2),
    "permutation": dc.Permutation(dc.KE(3, 2)),
    "rank-swapping": dc.RankSwapping(dc.KE(3, 2)),
    "perturbation": dc.Perturbation(dc.Proximity(1, 2)),
}
each_method = pytest.mark.parametrize("method", METHODS)
FORMS = ["generalization", "angelization", "slicing", "permutation", "rank-swapping",
         "perturbation"]  # fmt: skip
"""Methods that make all forms."""
OWN = ("class", "batch", "count", "group", "group_2", "bucket", "weight", "probability")


def test_every_registered_method_is_tried_here() -> None:
    several = {title for title, method in REGISTRY.items() if not method.takes_sets}
    drawn = {title for title in several if REGISTRY[title].keeps_drawn}
    # sets are the only column; counts with noise have no table of people: test_noisy_marginals
    assert {method.title for method in METHODS.values()} == several - drawn
    assert drawn == {"noisy-marginals"}


class Twins:
    """A table under awkward names, and the same under harmless ones."""

    def __init__(self, names: list[str], *, secrets: int = 1, keep: bool = False) -> None:
        self.names = names if secrets > 1 or keep else names[:5]
        self.secrets = secrets
        self.awkward, self.harmless = (self._read(harmless) for harmless in (False, True))

    def _read(self, harmless: bool) -> dc.Microdata:
        names = [f"q{name}" if harmless else name for name in self.names]
        columns = zip(names, PEOPLE.values(), strict=False)
        frame = pl.DataFrame([column.alias(name) for name, column in columns])
        schema = dc.Schema.infer(
            frame,
            quasi_identifiers=names[:4],
            sensitive=names[4 : 4 + self.secrets],
            keep=names[4 + self.secrets :],
        )
        return dc.read(frame, schema)

    def publish(self, method: Method) -> tuple[dc.Release, dc.Release]:
        """Publish both by the same draws."""
        awkward, harmless = (
            dc.publish(data, method, insecure_seed=1) for data in (self.awkward, self.harmless)
        )
        return awkward, harmless

    def call(self, text: str) -> str:
        """Write the awkward names for harmless ones; answers have them in lower case."""
        for name in sorted(self.names, key=len, reverse=True):
            text = text.replace(f"q{name}", name).replace(f"q{name.lower()}", name.lower())
        return text

    def require_same_tables(self, made: dc.Release, plain: dc.Release) -> None:
        """Require two releases to show the same."""
        assert list(made.tables) == list(plain.tables)
        for title, table in plain.tables.items():
            if title in plain.carriers:
                self.require_same(made.tables[title], table)
            else:  # nothing there is an attribute
                own = [c for c in ("group",) if c in table.columns]
                shown = table.rename({c: name_own(c, self.names) for c in own})
                assert_frame_equal(made.tables[title], shown)

    def require_same(self, found: pl.DataFrame, expected: pl.DataFrame) -> None:
        """Require the same cells under the names that they should have."""
        words = [name_own(c, self.names) if c in OWN else self.call(c) for c in expected.columns]
        assert_frame_equal(found, expected.rename(dict(zip(expected.columns, words, strict=True))))

    def require_same_text(self, found: Any, expected: Any) -> None:
        """Require the same report, in words that say the names."""
        texts = [json.dumps(told, default=str) for told in (found, expected)]
        for word in OWN:
            texts[0] = texts[0].replace(f"`{name_own(word, self.names)}`", f"`{word}`")
        assert texts[0] == self.call(texts[1])

    def require_same_answers(self, asked: Any, plainly: Any) -> int:
        """Ask both the same questions; give how many were answered."""
        answered = 0
        for question, same in zip(ask(self.names), ask([f"q{n}" for n in self.names]), strict=True):
            found, expected = answer(asked, question), answer(plainly, same)
            if isinstance(found, str) or isinstance(expected, str):
                assert isinstance(expected, str) and found == self.call(expected)
                continue
            assert_frame_equal(found, expected.rename({c: self.call(c) for c in expected.columns}))
            answered += 1
        return answered


@cache
def publish_twins(names: tuple[str, ...], method: str) -> tuple[Twins, dc.Release, dc.Release]:
    twins = Twins(list(names))
    return twins, *twins.publish(METHODS[method])


def ask(names: list[str]) -> list[str]:
    """Questions about columns, by whatever names."""
    number, letter, place, second, secret = (f'"{name}"' for name in names[:5])
    return [
        f"SELECT COUNT(*) AS k, SUM({number}) AS s FROM release WHERE {letter} IN ('a', 'b')",
        f"SELECT {place}, COUNT(*) AS k, AVG({second}) AS a FROM release GROUP BY {place}",
        f"SELECT {letter}, {place}, COUNT(*) AS k FROM release WHERE {number} < 30 "
        f"GROUP BY {letter}, {place} ORDER BY {letter}, {place}",
        f"SELECT SUM({secret}) AS s, AVG({secret}) AS a, COUNT(*) AS k FROM release "
        f"WHERE {second} BETWEEN 2 AND 3",
        f"SELECT {secret}, COUNT(*) AS k FROM release GROUP BY {secret}",
        f"SELECT COUNT(*) AS k FROM release WHERE {secret} > 4 AND {place} = 'north'",
        f"SELECT {letter}, SUM({secret}) AS s, MAX({number}) AS m FROM release GROUP BY {letter} "
        "HAVING COUNT(*) > 3 ORDER BY s DESC LIMIT 2",
        f"SELECT {second} + 1 AS more, MEDIAN({number}) AS m FROM release GROUP BY {second} + 1",
        f"SELECT AVG({number}), SUM({secret}), MIN({second}) FROM release",
    ]


def answer(asked: Any, question: str) -> pl.DataFrame | str:
    """Answer a question, or say why there is no answer."""
    try:
        frame: pl.DataFrame = asked.query(question).frame
    except dc.DiscreetError as error:
        return f"{error.message} {error.hint}"
    return frame


@pytest.mark.parametrize(
    ("names", "method"),
    [(names, m) for i, names in enumerate(NAMES) for m in (METHODS if i < 2 else FORMS)],
    ids=lambda given: given if isinstance(given, str) else " ".join(given),
)
def test_a_release_is_the_same_whatever_attributes_are_called(
    names: list[str], method: str, tmp_path: Path
) -> None:
    twins, made, plain = publish_twins(tuple(names), method)
    twins.require_same_tables(made, plain)
    twins.require_same_text(made.about, plain.about)
    twins.require_same(made.sample(50, seed=1), plain.sample(50, seed=1))
    assert twins.require_same_answers(made, plain) > 4
    loaded = dc.load(made.write(tmp_path / "awkward", insecure=True))
    verify(loaded)
    twins.require_same_tables(loaded, plain)


@each_method
@clashing
def test_a_release_is_audited_the_same_whatever_attributes_are_called(
    names: list[str], method: str, tmp_path: Path
) -> None:
    twins, made, plain = publish_twins(tuple(names), method)
    attacks = names is NAMES[0]
    found = dc.audit(made.write(tmp_path / "a", insecure=True), twins.awkward, attacks=attacks)
    other = dc.audit(plain.write(tmp_path / "b", insecure=True), twins.harmless, attacks=attacks)
    twins.require_same_text(found.to_dict(), other.to_dict())
    assert found.problems == other.problems == []


@pytest.mark.parametrize("method", FORMS)
@clashing
def test_prepared_releases_answer_the_same_whatever_attributes_are_called(
    names: list[str], method: str
) -> None:
    twins, made, plain = publish_twins(tuple(names), method)
    with made.prepare() as prepared, plain.prepare() as plainly:
        assert twins.require_same_answers(prepared, plainly) > 4


@pytest.mark.parametrize("method", FORMS)
def test_other_engines_are_asked_under_any_names(method: str, postgres: str) -> None:
    for names in (NAMES[0], NAMES[2]):
        _, made, _ = publish_twins(tuple(names), method)
        with made.prepare(engine=postgres) as prepared:
            for question in ask(names):
                found, expected = answer(prepared, question), answer(made, question)
                if isinstance(found, str) or isinstance(expected, str):
                    assert isinstance(found, str) and isinstance(expected, str)
                    continue
                assert found.columns == expected.columns
                assert_frame_equal(found, expected, check_dtypes=False, rel_tol=1e-9)


@each_method
@pytest.mark.parametrize("names", [NAMES[0], NAMES[5]], ids=" ".join)
def test_distributions_are_rebuilt_the_same_whatever_attributes_are_called(
    names: list[str], method: str
) -> None:
    twins, made, plain = publish_twins(tuple(names), method)
    some = [names[0], names[1], names[4]]
    try:
        expected = plain.reconstruct([f"q{name}" for name in some])
    except dc.errors.QueryError:
        return
    twins.require_same(made.reconstruct(some), expected)
    if method == "angelization":
        found = measure_divergence(made, twins.awkward, some)
        assert found == pytest.approx(
            measure_divergence(plain, twins.harmless, [f"q{name}" for name in some])
        )


@pytest.mark.parametrize("method", [t for t, m in METHODS.items() if m.form != "perturbed"])
def test_what_is_installed_is_the_same_whatever_attributes_are_called(
    method: str, tmp_path: Path
) -> None:
    twins = Twins(["weight", *NAMES[0][1:]])
    found = []
    for release, prefix in zip(twins.publish(METHODS[method]), ("", "q"), strict=True):
        number, secret = (f"{prefix}{twins.names[place]}" for place in (0, 4))
        file = str(tmp_path / f"{prefix}.duckdb")
        made = install(release, file, schema="here")
        assert made.weight == release.own("weight") == ("weight" if prefix else "weight_")
        view = next(t for t, shown in made.views.items() if {number, secret} <= {*shown})
        function = view.replace("expected", "estimate")
        with closing(duckdb.connect(file, read_only=True)) as held:
            rows = held.execute(
                f'SELECT SUM({made.weight}), SUM({made.weight} * "{secret}") FROM here.{view} '
                f'WHERE "{number}" < 30'
            ).fetchall()
            if function in made.functions:
                asked = f"""here.{function}('"{number}" < 30', '"{secret}"')"""
                rows += held.execute(f"FROM {asked}").fetchall()
        found.append([cell for row in rows for cell in row])
    np.testing.assert_allclose(*found)


SEVERAL: list[tuple[Method, int]] = [
    (dc.Permutation(dc.KE(3, 2)), 2),
    (dc.RankSwapping(dc.KE(3, 2)), 2),
    (dc.Slicing(dc.FrequencyDiversity(2)), 2),
    (dc.Angelization(dc.FrequencyDiversity(2), k=3), 2),
    (dc.Angelization(dc.FrequencyDiversity(2), k=3, together=True), 2),
    (dc.Generalization(dc.KAnonymity(3)), 1),
    (dc.Permutation(dc.KE(3, 2)), 1),
    (dc.Slicing(dc.FrequencyDiversity(2)), 1),
]
"""Methods, and how many of the last two columns are sensitive; the rest is kept."""


@pytest.mark.parametrize("names", [NAMES[1], NAMES[4]], ids=" ".join)
def test_several_numbers_and_kept_columns_may_be_called_anything(names: list[str]) -> None:
    for method, secrets in SEVERAL:
        twins = Twins(names, secrets=secrets, keep=secrets == 1)
        made, plain = twins.publish(method)
        twins.require_same_tables(made, plain)
        report, other = dc.audit(made, twins.awkward), dc.audit(plain, twins.harmless)
        twins.require_same_text(report.to_dict(), other.to_dict())
        twins.require_same(made.sample(20, seed=2), plain.sample(20, seed=2))
        assert twins.require_same_answers(made, plain) > 4


@clashing
def test_several_tables_refer_to_batches_under_any_names(names: list[str]) -> None:
    twins, made = Twins(names), []
    for data, prefix in ((twins.awkward, ""), (twins.harmless, "q")):
        marginals = [[f"{prefix}{n}" for n in some] for some in (names[:2], names[1:4])]
        method = dc.Angelization(dc.FrequencyDiversity(2), k=3, marginals=marginals)
        made.append(dc.publish(data, method, insecure_seed=1))
    twins.require_same_tables(*made)
    found, other = dc.audit(made[0], twins.awkward), dc.audit(made[1], twins.harmless)
    twins.require_same_text(found.to_dict(), other.to_dict())


def test_attributes_that_are_not_shown_take_no_name() -> None:
    twins = Twins(NAMES[0])
    method = dc.Angelization(dc.FrequencyDiversity(2), k=3, marginals=[["class", "group"]])
    release = dc.publish(twins.awkward, method)
    assert release.tables["generalized"].columns[-1] == "batch"
    assert release.tables["batches"].columns == ["batch", "count", "count_"]
    assert not dc.audit(release, twins.awkward).problems


def test_columns_are_called_as_ever_where_no_attribute_is() -> None:
    twins = Twins(NAMES[0])
    shown = {t: publish_twins(tuple(NAMES[0]), t)[2].tables for t in METHODS}
    names = [*twins.harmless.schema.names]
    assert shown["anatomy"]["generalized"].columns == [*names[:4], "batch"]
    assert shown["anatomy"]["batches"].columns == ["batch", "qcount", "count"]
    assert shown["generalization"]["generalized"].columns[0] == "class"
    assert shown["slicing"]["sliced"].columns[0] == "bucket"
    assert shown["permutation"]["permuted"].columns == ["group", *names]
    assert shown["permutation"]["help"].columns[:2] == ["group", "hits"]
    assert shown["rank-swapping"]["windows"].columns == ["value", "low", "high"]


def test_the_manifest_says_which_column_is_the_release_s_own(tmp_path: Path) -> None:
    for number, names in enumerate((NAMES[0], NAMES[3], ["a", "b", "c", "d", "e"])):
        data = Twins(names).awkward
        folder = dc.publish(data, METHODS["generalization"]).write(tmp_path / f"{number}")
        resources = json.loads((folder / "datapackage.json").read_text())["resources"]
        (fields,) = (r["schema"]["fields"] for r in resources if r["name"] == "generalized")
        own = [field for field in fields if "role" not in field]
        said = {f["name"]: f.get("description") for f in fields if f in own or "description" in f}
        assert said == [
            {"class_": "The release's own column, no attribute: its name gave way to `class`."},
            {"class__": "The release's own column, no attribute: its name gave way to `class` and "
             "`class_`."},
            {"class": None},
        ][number]  # fmt: skip
        assert f"`{own[0]['name']}`" in resources[0]["description"]
    path = tmp_path / "0" / "datapackage.json"
    path.write_text(path.read_text().replace("gave way to `class`", "is that of `class`"))
    report = dc.audit(tmp_path / "0", Twins(NAMES[0]).awkward)
    assert any("fields[0].description" in text for text in report.problems)


def test_columns_of_tables_without_attributes_are_not_taken_for_these(tmp_path: Path) -> None:
    """What windows and help tables call their columns may be what somebody does not know."""
    names = ["value", "low", "high", "hits", "pay"]
    twins = Twins(names)
    for method in ("permutation", "rank-swapping"):
        made, plain = twins.publish(METHODS[method])
        folder = made.write(tmp_path / method, insecure=True)
        resources = json.loads((folder / "datapackage.json").read_text())["resources"]
        assert not any("role" in field for field in resources[1]["schema"]["fields"])
        later = []
        for data, earlier in ((twins.awkward, made), (twins.harmless, plain)):
            known = [n for n in data.schema.names if n.strip("q") in ("value", "pay")]
            frame = data.to_polars().select(known)
            people = dc.read(frame, data.schema.only(known))
            release = dc.publish(people, METHODS["generalization"], insecure_seed=1)
            later.append(dc.audit(release, people, earlier=[earlier]).to_dict())
        twins.require_same_text(*later)
        assert "cannot be told apart" not in str(later[0]["notes"])


def test_earlier_releases_may_call_their_own_columns_otherwise() -> None:
    old = dc.datasets.census(300, seed=1, sensitive="income").to_polars()
    found = []
    for prefix in ("", "q"):
        names = {"age": f"{prefix}class", "sex": f"{prefix}group", "income": f"{prefix}count"}
        frame = old.select([*names]).rename(names)
        known, secret = [names["age"], names["sex"]], names["income"]
        schema = dc.Schema.infer(frame, quasi_identifiers=known, sensitive=[secret])
        people = dc.read(frame, schema)
        less = dc.read(frame.drop(names["age"]), schema.only([names["sex"], secret]))
        earlier = dc.publish(less, dc.Generalization(dc.KAnonymity(3)), insecure_seed=1)
        promise = dc.XYAnonymity([names["age"], names["sex"]], "people", k=4)
        release = dc.publish(people, dc.Sequential(promise, earlier=[earlier]), insecure_seed=1)
        assert release.own("class") == ("class" if prefix else "class_")
        assert earlier.own("class") == "class"
        found.append(dc.audit(release, people, earlier=[earlier]))
    assert found[0].kept and found[0].problems == found[1].problems == []
    told = [str(report.to_dict()).replace("q", "") for report in found]
    assert told[0] == told[1]


IN_PARTS = ["generalization", "dealt", "full-domain", "sequential", "angelization", "anatomy",
            "slicing", "permutation"]  # fmt: skip


@pytest.mark.parametrize("method", IN_PARTS)
@clashing
def test_releases_made_in_parts_have_the_same_columns(
    names: list[str], method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KeyedDraws, "draw_key", staticmethod(lambda: bytes(16)))
    twins, made = Twins(names), []
    for data, folder in ((twins.awkward, tmp_path / "a"), (twins.harmless, tmp_path / "b")):
        source = spread(data.to_polars(), folder.with_name(f"{folder.name} source"))
        report = publish_from_disk(source, data.schema, METHODS[method], folder, 80)
        assert report.kept and not report.problems
        made.append(dc.load(folder))
    twins.require_same_tables(*made)
    if method in ("generalization", "dealt", "full-domain", "sequential"):
        whole = dc.publish(twins.awkward, METHODS[method]).write(tmp_path / "memory")
        assert fingerprint(whole) == fingerprint(tmp_path / "a")


def test_methods_are_compared_the_same_whatever_attributes_are_called() -> None:
    twins = Twins(NAMES[0])
    methods = [METHODS[title] for title in ("generalization", "full-domain", "sequential")]
    tried = [dc.compare(data, methods, 12, seed=1).to_dict()["trials"]
             for data in (twins.awkward, twins.harmless)]  # fmt: skip
    for found, other in zip(*tried, strict=True):
        assert not found["problem"] and not found["unanswered"]
        told = [key for key in found if key not in ("seconds", "size", "divergence")]
        twins.require_same_text(*({key: trial[key] for key in told} for trial in (found, other)))


def test_names_that_nobody_gave_give_way_in_answers() -> None:
    _, made, _ = publish_twins(tuple(NAMES[0]), "permutation")
    text = 'SELECT "count", COUNT(*) FROM release GROUP BY "count" HAVING COUNT(*) > 3'
    assert made.query(text).frame.columns[:3] == ["count", "count_", "count__low"]
    _, made, _ = publish_twins(tuple(NAMES[6]), "generalization")
    text = "SELECT certain AS Certain, COUNT(*) FROM release GROUP BY certain HAVING COUNT(*) > 3"
    assert made.query(text).frame.columns[::6] == ["Certain", "certain_"]
    with pytest.raises(dc.errors.QueryError, match="the same name"):
        made.query("SELECT width, COUNT(*) AS width FROM release GROUP BY width")
