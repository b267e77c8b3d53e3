"""The manifest: small, typed both ways, and what labels stand for in tables of their own."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.forms import list_forms
from discreet.forms.verify import verify
from discreet.publishing.method import Method
from discreet.release import Release, Transformation
from discreet.release.dictionary import ABOUT, restore, tabulate
from discreet.table.schema import Attribute, Missing, Role, Schema, Type
from hostile.retyping import ANYTHING, list_places
from samples import reseal

ODD = [
    "", "NA", "null", "None", "nan", "0", "1.0", "007", "1e5", "true", "2020-01-01", "a,b", "a;b",
    'say "x"', '"', "'", "two\nlines", "two\r\nlines", "tab\there", "Zürich", "東京", "🙂", "#x",
    "{a, b}", "*", "[1, 2]", "0-3", "\u2028", "\ufeffx", "\\n",
]  # fmt: skip
"""Texts that look like something else."""
TREE = dc.Taxonomy.from_paths(
    [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
)
METHODS = [
    dc.Generalization(dc.KAnonymity(3)),
    dc.Generalization(dc.KAnonymity(3), categories="ancestor"),
    dc.Angelization(dc.FrequencyDiversity(2), k=3, marginals=[["age", "town"], ["town", "kind"]]),
    dc.Anatomy(dc.FrequencyDiversity(2)),
    dc.Slicing(dc.KAnonymity(3), columns=2, buckets=4, frequency=3),
    dc.Sequential(dc.KAnonymity(3)),
    dc.Permutation(dc.KE(2, 2)),
    dc.RankSwapping(dc.KE(2, 2)),
    dc.Perturbation(dc.Proximity(1, 2)),
    dc.Apriori(dc.KMAnonymity(7, 1)),
    dc.NoisyMarginals(dc.DifferentialPrivacy(1)),
]
FORMATS = pytest.mark.parametrize("format", ["parquet", "csv"])
EACH = pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.title} {m.parameters()}")


def make(method: Method) -> Release:
    """Publish one small table, whose sensitive attribute is a number where it must be one."""
    frame = pl.DataFrame(
        {
            "age": [20 + i % 7 for i in range(24)],
            "town": [("Graz", "Linz", None, "Wels", "Enns")[i % 5] for i in range(24)],
            "kind": ["abcd"[i * i % 4] for i in range(24)],
            "pay": [i * 10 for i in range(24)],
        }
    )
    qi = Role.QUASI_IDENTIFIER
    schema = Schema(
        (
            Attribute("age", qi, Type.INTEGER),
            Attribute("town", qi, Type.CATEGORY, missing=Missing.VALUE),
            Attribute("kind", qi, Type.CATEGORY, taxonomy=TREE),
            Attribute("pay", Role.SENSITIVE, Type.INTEGER),
        )
    )
    if method.keeps_drawn:  # of columns of which it is declared what they can be
        towns = ("Enns", "Graz", "Linz", "Wels")
        schema = schema.changed(
            replace(schema["age"], low=20, high=30),
            replace(schema["pay"], low=0, high=300),
            replace(schema["town"], values=towns),
        )
    if method.takes_sets:  # the only column
        schema = Schema((Attribute("kind", Role.SENSITIVE, Type.SET, taxonomy=TREE),))
    return dc.publish(dc.read(frame, schema), method)


@cache
def sample() -> Release:
    return make(METHODS[0])


def read(folder: Path) -> Any:
    return json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))


def put(folder: Path, manifest: object) -> Path:
    text = json.dumps(manifest)
    (folder / "datapackage.json").write_text(text, encoding="utf-8")
    return folder


def make_older(folder: Path) -> Path:
    """Write a manifest as version 1 was, in which labels and domains stood inline."""
    recodings = dc.load(folder).recodings
    manifest = read(folder)
    manifest["discreet"]["manifest"] = 1
    for attribute in manifest["discreet"]["attributes"]:
        recoding = recodings[attribute["name"]]
        if recoding.labels:
            attribute["domain"], attribute["labels"] = recoding.domain, recoding.labels
    for resource in list(manifest["resources"]):
        if resource["name"] in ABOUT:
            (folder / resource["path"]).unlink()
            manifest["resources"].remove(resource)
    return put(folder, manifest)


@FORMATS
def test_a_number_that_nobody_has_comes_back_as_nothing(format: Any, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"age": [None] * 8, "s": ["x", "y"] * 4}, schema_overrides={"age": pl.Int64}
    )
    age = Attribute("age", Role.QUASI_IDENTIFIER, Type.INTEGER, missing=Missing.VALUE)
    data = dc.read(frame, Schema((age, Attribute("s", Role.SENSITIVE, Type.CATEGORY))))
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    assert dc.audit(release.write(tmp_path / "r", format=format), data).kept


def refuse(folder: Path, message: str) -> None:
    with pytest.raises(dc.errors.StoreError, match=message) as caught:
        dc.load(folder)
    assert caught.value.hint == dc.errors.DAMAGED


def test_every_form_is_among_the_samples() -> None:
    assert {method.form for method in METHODS} == set(list_forms())


@EACH
@FORMATS
def test_a_release_comes_back_as_it_was(method: Method, format: Any, tmp_path: Path) -> None:
    release = make(method)
    loaded = dc.load(release.write(tmp_path / "r", format=format))
    assert loaded.recodings == release.recodings
    for name, recoding in release.recodings.items():
        assert list(loaded.recodings[name].labels) == list(recoding.labels)
    assert (loaded.parameters, loaded.promise) == (release.parameters, release.promise)
    assert (loaded.form, loaded.method) == (release.form, release.method)
    assert loaded.about == release.about
    assert loaded.tables.keys() == release.tables.keys()


@EACH
@FORMATS
def test_releases_that_list_labels_in_the_manifest_are_still_read(
    method: Method, format: Any, tmp_path: Path
) -> None:
    folder = make(method).write(tmp_path / "r", format=format)
    new = dc.load(folder)
    old = dc.load(make_older(folder))
    verify(old)
    assert (old.recodings, old.about, old.schema) == (new.recodings, new.about, new.schema)
    assert all(old.tables[name].equals(table) for name, table in new.tables.items())
    again = dc.load(old.write(tmp_path / "again", format=format))
    assert again.recodings == new.recodings


@FORMATS
def test_texts_that_look_like_something_else_survive(format: Any, tmp_path: Path) -> None:
    frame = pl.DataFrame({"odd": [*ODD, None] * 2, "s": ["x", "y"] * (len(ODD) + 1)})
    schema = Schema(
        (
            Attribute("odd", Role.QUASI_IDENTIFIER, Type.CATEGORY, missing=Missing.VALUE),
            Attribute("s", Role.SENSITIVE, Type.CATEGORY),
        )
    )
    for k in (2, 5):
        release = dc.publish(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(k)))
        loaded = dc.load(release.write(tmp_path / str(k), format=format))
        assert loaded.recodings == release.recodings
        made = release.recodings["odd"]
        assert "(missing)" in made.domain and "two\nlines" in made.domain
        texts = ["", "(missing)", " ", "\r", *ODD[1:]]  # whatever a release may come to hold
        other = replace(made, labels={'"': texts, "": [*texts[:1]], "\n": texts[3:]}, domain=texts)
        made_up = replace(release, recodings={**release.recodings, "odd": other})
        for name, table in tabulate(made_up).items():
            path = tmp_path / f"{name}.csv"
            table.write_csv(path)
            assert pl.read_csv(path, schema_overrides=table.schema).equals(table)
        assert restore(made_up, tabulate(made_up))["odd"] == other


def test_the_manifest_is_small_however_many_values_labels_stand_for(tmp_path: Path) -> None:
    sizes, members = [], []
    for n in (400, 8000):
        codes = [f"code {i * 7919 % n}" for i in range(n)]
        frame = pl.DataFrame({"code": codes, "age": [i * i % 90 for i in range(n)], "s": ["x"] * n})
        schema = dc.Schema.infer(frame, quasi_identifiers=["code", "age"], sensitive=["s"])
        release = dc.publish(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(5)))
        folder = release.write(tmp_path / str(n))
        sizes.append((folder / "datapackage.json").stat().st_size)
        members.append(sum(map(len, release.recodings["code"].labels.values())))
    assert members[1] > 10 * members[0] and members[1] >= 8000
    assert sizes[1] < sizes[0] + 20 < 6000  # some numbers have more digits


def test_a_label_for_a_whole_domain_is_written_as_a_run() -> None:
    tables = tabulate(make(dc.Generalization(dc.KAnonymity(24))))
    assert tables["labels"].filter(attribute="town").rows() == [("town", "*", "0-4")]
    assert tables["domains"].filter(attribute="town")["value"].to_list() == [
        "Enns", "Graz", "Linz", "Wels", "(missing)",
    ]  # fmt: skip


@EACH
def test_what_is_done_to_an_attribute_is_a_word_that_its_form_explains(
    method: Method, tmp_path: Path
) -> None:
    release = make(method)
    folder = release.write(tmp_path / "r")
    told = (folder / "README.md").read_text(encoding="utf-8")
    assert all(release.explain(name) in told for name in release.schema.names)
    manifest = read(folder)
    manifest["discreet"]["attributes"][0]["transformation"] = "hidden"
    first = release.schema.names[0]
    refuse(put(folder, manifest), f"'{first}': nothing in a {release.form} release is 'hidden'")


def test_a_set_is_the_only_thing_that_the_dictionary_explains() -> None:
    for method in METHODS:
        release = make(method)
        sets = {
            name for name, recoding in release.recodings.items()
            if recoding.transformation is Transformation.SET
        }  # fmt: skip
        tables = tabulate(release)
        assert {name for table in tables.values() for name in table["attribute"]} == sets


def test_other_tools_read_what_labels_stand_for(tmp_path: Path) -> None:
    from frictionless import Package, validate

    folder = sample().write(tmp_path / "r", format="csv")
    assert validate(str(folder / "datapackage.json")).valid
    package = Package(str(folder / "datapackage.json"))
    values = {
        (r["attribute"], r["number"]): r["value"]
        for r in package.get_resource("domains").read_rows()
    }
    for row in package.get_resource("labels").read_rows():
        runs = [run.split("-") for run in row["numbers"].split()]
        numbers = [n for run in runs for n in range(int(run[0]), int(run[-1]) + 1)]
        wanted = sample().recodings[row["attribute"]].labels[row["label"]]
        assert [values[row["attribute"], number] for number in numbers] == wanted


@FORMATS
@pytest.mark.parametrize("name", list(ABOUT))
def test_a_changed_dictionary_is_refused_by_its_seal(
    format: Any, name: str, tmp_path: Path
) -> None:
    folder = sample().write(tmp_path / "r", format=format)
    path = folder / f"{name}.{format}"
    content = path.read_bytes()
    path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    refuse(folder, f"{name}.{format}: is not what was published")
    path.unlink()
    refuse(folder, f"{name}.{format}: cannot be read")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("labels", lambda t: t.slice(1), "nothing says what label .* of 'town' stands for"),
        ("labels", lambda t: t.filter(attribute="kind"), "labels: 'town' is not listed"),
        ("domains", lambda t: t.filter(attribute="kind"), "domains: 'town' is not listed"),
        ("labels", lambda t: t.with_columns(attribute=pl.lit("age")), "'age' is listed, but not"),
        ("labels", lambda t: t.with_columns(numbers=pl.lit("99")), "does not list numbers"),
        ("labels", lambda t: t.with_columns(numbers=pl.lit("3-1")), "does not list numbers"),
        ("labels", lambda t: t.with_columns(numbers=pl.lit("-1")), "does not list numbers"),
        ("labels", lambda t: t.with_columns(numbers=pl.lit("")), "does not list numbers"),
        ("labels", lambda t: t.with_columns(numbers=pl.lit("0-3 " * 9 + "0")), "not list numbers"),
        ("labels", lambda t: t.with_columns(numbers=pl.lit("9" * 30)), "does not list numbers"),
        ("labels", lambda t: t.with_columns(numbers=pl.lit("1 1")), "lists a value twice"),
        ("labels", lambda t: pl.concat([t, t]), "listed twice"),
        ("labels", lambda t: t.with_columns(label=pl.lit(None, pl.String)), "a cell is empty"),
        ("labels", lambda t: t.drop("numbers"), r"labels\.parquet: has no column 'numbers'"),
        ("labels", lambda t: t.with_columns(more=pl.lit("x")), "has an undeclared column 'more'"),
        ("domains", lambda t: t.reverse(), "not numbered from 0 on"),
        ("domains", lambda t: t.with_columns(value=pl.lit("x")), "listed twice"),
        ("domains", lambda t: t.with_columns(number=pl.lit("x")), "not of type integer"),
    ],
)
def test_a_dictionary_that_does_not_explain_the_tables_is_refused(
    name: str, change: Any, message: str, tmp_path: Path
) -> None:
    release = make(dc.Generalization(dc.KAnonymity(2)))
    folder = release.write(tmp_path / "r")
    path = folder / f"{name}.parquet"
    change(pl.read_parquet(path)).write_parquet(path)
    with pytest.raises(dc.errors.StoreError, match=message):
        dc.load(reseal(folder))


def test_a_release_whose_manifest_names_no_dictionary_is_refused(tmp_path: Path) -> None:
    folder = sample().write(tmp_path / "r")
    manifest = read(folder)
    for name in ABOUT:
        rest = [r for r in manifest["resources"] if r["name"] != name]
        refuse(put(folder, {**manifest, "resources": rest}), f"There is no table '{name}'")


def test_a_table_cannot_take_the_name_of_the_dictionary(tmp_path: Path) -> None:
    tables = {**sample().tables, "labels": pl.DataFrame({"a": [1]})}
    with pytest.raises(dc.errors.StoreError, match="cannot be called 'labels'"):
        replace(sample(), tables=tables).write(tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_what_explains_labels_belongs_to_the_release(tmp_path: Path) -> None:
    folder = sample().write(tmp_path / "r", format="csv")
    sample().write(folder, format="parquet", overwrite=True)
    assert {path.name for path in folder.iterdir()} == {
        "README.md", "datapackage.json", "generalized.parquet", "domains.parquet", "labels.parquet",
    }  # fmt: skip
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "`labels.parquet`" in text and "which the release lists for every label" in text


def test_what_others_add_is_ignored(tmp_path: Path) -> None:
    folder = sample().write(tmp_path / "r")
    manifest = read(folder)
    manifest |= {"licenses": [{"name": "CC0-1.0"}], "created": "2026-01-01", "version": 3}
    manifest["discreet"] |= {"news": {"from": ["later"]}}
    manifest["discreet"]["attributes"][0]["colour"] = 7
    manifest["resources"][0]["schema"] |= {"primaryKey": "age"}
    assert dc.load(put(folder, manifest)).recodings == sample().recodings


def test_another_version_is_named_before_anything_else(tmp_path: Path) -> None:
    folder = put(sample().write(tmp_path / "r"), {"resources": 5, "discreet": {"manifest": 3}})
    with pytest.raises(
        dc.errors.StoreError, match="manifest version 3; this discreet reads 1 and 2"
    ):
        dc.load(folder)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (
            "discreet.attributes.2.decimals",
            "two",
            r"discreet\.attributes\[2\]\.decimals: .*integer",
        ),
        ("discreet.attributes.2.decimals", 99, r"discreet\.attributes\[2\]\.decimals: "),
        ("discreet.attributes.0.role", "spy", r"discreet\.attributes\[0\]\.role: "),
        ("discreet.attributes.1.missing_is_a_value", 1, r"\[1\]\.missing_is_a_value: .*boolean"),
        ("discreet.attributes.3.name", None, r"discreet\.attributes\[3\]\.name: .*string"),
        ("discreet.attributes.3.name", "age", r"discreet\.attributes: Columns with more than one"),
        ("discreet.attributes.3.taxonomy", [["a", "b"], ["a", "b"]], r"attributes\[3\]: taxonomy"),
        ("discreet.attributes.3.taxonomy", [[]], r"attributes\[3\]\.taxonomy\[0\]: "),
        ("discreet.promise.principles", [], r"discreet\.promise\.principles: "),
        ("discreet.promise.principles.0.k", "few", r"discreet\.promise\.principles\[0\]: "),
        ("discreet.promise.principles.0.name", "luck", r"principles\[0\]: There is no principle"),
        ("discreet.promise.leaves_open", "all", r"discreet\.promise\.leaves_open: .*array"),
        ("discreet.parameters", [], r"discreet\.parameters: .*object"),
        ("discreet.manifest", "2", r"discreet\.manifest: .*integer"),
        ("resources.0.bytes", -1, r"resources\[0\]\.bytes: "),
        ("resources.0.hash", 5, r"resources\[0\]\.hash: .*string"),
        (
            "resources.0.schema.fields.0.type",
            "money",
            r"resources\[0\]\.schema\.fields\[0\]\.type: ",
        ),
        ("resources.0.path", "a\x00b.parquet", "is not a table of this release"),
        ("name", 7, r"datapackage\.json: name: .*string"),
    ],
)
def test_what_is_wrong_in_a_manifest_is_named_with_its_place(
    place: str, value: object, message: str, tmp_path: Path
) -> None:
    folder = sample().write(tmp_path / "r")
    manifest = node = read(folder)
    *above, last = [int(step) if step.isdigit() else step for step in place.split(".")]
    for step in above:
        node = node[step]
    node[last] = value
    refuse(put(folder, manifest), message)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, Any]]:
    """One release per method, and some of them as they were written earlier."""
    place = tmp_path_factory.mktemp("written")
    folders = [make(m).write(place / f"new {i}") for i, m in enumerate(METHODS)]
    folders += [make_older(make(METHODS[i]).write(place / f"old {i}")) for i in (0, 2)]
    return [(folder, read(folder)) for folder in folders]


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_manifest_with_anything_in_it_is_read_or_refused(
    written: list[tuple[Path, Any]], data: st.DataObject
) -> None:
    folder, manifest = data.draw(st.sampled_from(written), label="release")
    changed = json.loads(json.dumps(manifest))
    path = data.draw(st.sampled_from(list(list_places(changed))), label="place")
    node = changed
    for step in path[:-1]:
        node = node[step]
    if data.draw(st.booleans(), label="remove"):
        del node[path[-1]]
    else:
        node[path[-1]] = data.draw(ANYTHING, label="value")
    try:
        dc.load(put(folder, changed))
    except dc.DiscreetError:
        pass
    finally:
        put(folder, manifest)
