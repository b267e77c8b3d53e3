"""Evidence: everything a reviewer signs, sealed to the bytes of one release."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import discreet as dc
from commands import discreet_here as discreet
from discreet.auditing import audit
from discreet.publishing.method import Method
from discreet.publishing.methods import REGISTRY
from discreet.release.store import digest, fingerprint
from discreet.steward.evidence import (
    check_evidence,
    draw_salt,
    gather,
    read_seal,
    write_evidence,
)
from discreet.table.readers import read_table

METHODS: dict[str, Method] = {
    "generalization": dc.Generalization(dc.KAnonymity(5)),
    "full-domain": dc.FullDomain(dc.KAnonymity(5)),
    "angelization": dc.Angelization(dc.FrequencyDiversity(3)),
    "anatomy": dc.Anatomy(dc.FrequencyDiversity(3)),
    "permutation": dc.Permutation(dc.KE(3, 500)),
    "rank-swapping": dc.RankSwapping(dc.KE(3, 500)),
    "perturbation": dc.Perturbation(dc.Proximity(epsilon=100, m=3)),
    "slicing": dc.Slicing(dc.FrequencyDiversity(3)),
    "republication": dc.Republication(dc.MInvariance(3)),
    "invariant-angelization": dc.InvariantAngelization(dc.MInvariance(3), k=4),
    "noisy-marginals": dc.NoisyMarginals(dc.DifferentialPrivacy(1)),
}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("office")
    frame = dc.datasets.census_frame(400, seed=1).select("age", "sex", "region", "income")
    frame.with_row_index("patient").write_csv(folder / "people.csv")
    return folder


def read_people(office: Path) -> dc.Microdata:
    frame = read_table(office / "people.csv")
    schema = dc.Schema.infer(
        frame.drop("patient"), quasi_identifiers=["age", "sex", "region"], sensitive=["income"]
    )
    return dc.read(office / "people.csv", schema)


@pytest.mark.parametrize("name", METHODS)
def test_every_form_can_be_signed_off(office: Path, tmp_path: Path, name: str) -> None:
    data = read_people(office)
    if METHODS[name].keeps_drawn:  # of columns of which it is declared what they can be
        regions = tuple(data.domains["region"].texts)
        schema = data.schema.changed(
            replace(data.schema["age"], low=0, high=120),
            replace(data.schema["income"], low=0, high=10**6),
            replace(data.schema["sex"], values=("female", "male")),
            replace(data.schema["region"], values=regions),
        )
        data = dc.read(office / "people.csv", schema)
    folder = dc.publish(data, METHODS[name]).write(tmp_path / "release")
    report = audit(folder, data, attacks=True, population_data=data)
    salt = draw_salt()
    found = gather(folder, office / "people.csv", data, report, salt)
    seal = write_evidence(found, tmp_path / "evidence", salt)
    page = (tmp_path / "evidence" / "evidence.html").read_text(encoding="utf-8")
    # all of a population are in the table, so everybody is certain to be
    assert '<td class="amber"><b>400</b>' in page
    assert read_seal(tmp_path / "evidence") == seal
    assert check_evidence(tmp_path / "evidence", folder) == []
    told = json.loads((tmp_path / "evidence" / "evidence.json").read_text(encoding="utf-8"))
    assert told["files"] == fingerprint(folder)
    assert digest(office / "people.csv") not in json.dumps(told) + page
    done = {column["name"]: column["done"] for column in told["columns"]}
    assert done["patient"] == "left out"
    assert set(done) == {"patient", "age", "sex", "region", "income"}
    risks = {row["risk"]: row for row in told["risk"]}
    assert risks["belief in a value of income, at most"]["after"] == pytest.approx(
        report.max_belief, abs=1e-9
    )
    for text in report.promise.leaves_open:
        assert text.replace("'", "&#39;") in page
    for value in told["files"].values():
        assert value in page
    assert told["utility"]["errors"]
    assert "http" not in page


def test_all_methods_are_tried() -> None:
    of_sets = {title for title, method in REGISTRY.items() if method.takes_sets}
    assert set(METHODS) | {"sequential"} | of_sets == set(REGISTRY)


@pytest.fixture(scope="module")
def signed_once(office: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signed")
    data = read_people(office)
    dc.publish(data, METHODS["generalization"]).write(folder / "release", format="csv")
    shutil.copy(office / "people.csv", folder)
    done = discreet("audit", "release", "--microdata", "people.csv", "--evidence", "evidence",
                    cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "discreet verify evidence RELEASE" in done.stdout
    return folder


@pytest.fixture
def signed(signed_once: Path, tmp_path: Path) -> Path:
    """A copy of what was signed off, to be changed."""
    return Path(shutil.copytree(signed_once, tmp_path / "signed"))


def test_the_release_examined_is_recognized_elsewhere(signed: Path) -> None:
    shutil.copytree(signed / "release", signed / "elsewhere")
    done = discreet("verify", "evidence", "elsewhere", cwd=signed)
    assert done.returncode == 0
    by_file = discreet("verify", "evidence/evidence.json", "elsewhere", "--json", cwd=signed)
    assert json.loads(by_file.stdout) == {"same": True, "problems": []}


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        ("change", "generalized.csv was changed after the audit"),
        ("remove", "README.md was examined and is missing"),
        ("add", "more.csv was not there when the release was examined"),
        ("page", "evidence.html was changed after the audit"),
        ("gone", "evidence.html is missing"),
        ("forge", "evidence.json was changed after the audit"),
        ("link", "generalized.csv was changed after the audit"),
    ],
)
def test_a_changed_release_is_named_file_by_file(signed: Path, harm: str, says: str) -> None:
    release = signed / "release"
    if harm == "change":
        text = (release / "generalized.csv").read_text(encoding="utf-8")
        (release / "generalized.csv").write_text(text.replace("male", "Male", 1), encoding="utf-8")
    elif harm == "remove":
        (release / "README.md").unlink()
    elif harm == "add":
        (release / "more.csv").write_text("a\n1\n", encoding="utf-8")
    elif harm == "gone":
        (signed / "evidence" / "evidence.html").unlink()
    elif harm == "forge":
        file = signed / "evidence" / "evidence.json"
        told = json.loads(file.read_text(encoding="utf-8"))
        told["risk"][0]["after"] = 999
        file.write_text(json.dumps(told), encoding="utf-8")
    elif harm == "link":
        shutil.move(release / "generalized.csv", signed / "elsewhere.csv")
        (release / "generalized.csv").symlink_to(signed / "elsewhere.csv")
    else:
        with (signed / "evidence" / "evidence.html").open("a", encoding="utf-8") as page:
            page.write("<p>All good.</p>")
    done = discreet("verify", "evidence", "release", cwd=signed)
    assert done.returncode == 1
    assert f"PROBLEM: {says}" in done.stdout
    assert "not what was signed off" in done.stdout


def test_evidence_of_a_breach_does_not_pass(office: Path, tmp_path: Path) -> None:
    data = read_people(office)
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(1)))
    folder = release.write(tmp_path / "release")
    report = audit(folder, data, principle=dc.KAnonymity(3))
    salt = draw_salt()
    found = gather(folder, office / "people.csv", data, report, salt)
    write_evidence(found, tmp_path / "evidence", salt)
    assert check_evidence(tmp_path / "evidence", folder) == [
        "the audit found that the promise is not kept"
    ]


def test_evidence_says_by_which_promise_it_was_judged(office: Path, tmp_path: Path) -> None:
    """A release that breaks its own promise is not kept, whatever weaker one it is held to."""
    data = read_people(office)
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    bold = replace(release, promise=replace(release.promise, principle=dc.KAnonymity(50)))
    folder = release.write(tmp_path / "release")
    text = (folder / "datapackage.json").read_text(encoding="utf-8")
    text = text.replace('"k": 2', '"k": 50').replace("at least 1 others", "at least 49 others")
    (folder / "datapackage.json").write_text(text, encoding="utf-8")
    assert dc.load(folder).promise.principle.parts == bold.promise.principle.parts
    report = audit(folder, data, principle=dc.KAnonymity(2))
    assert report.kept
    found = gather(folder, office / "people.csv", data, report, draw_salt())
    assert found["judged_by"] == ["k-anonymity (k = 2)"]
    assert found["verdict"] == "not kept"
    assert "is broken" in found["problems"][0]


def test_evidence_never_goes_into_the_release(signed: Path) -> None:
    for place in ("release", "release/evidence"):
        done = discreet("audit", "release", "--microdata", "people.csv", "--evidence", place,
                        cwd=signed)  # fmt: skip
        assert done.returncode == 2
        assert "not for the public" in done.stderr
    assert not (signed / "release" / "evidence").exists()
    again = discreet("audit", "release", "--microdata", "people.csv", "--evidence", "evidence",
                     cwd=signed)  # fmt: skip
    assert again.returncode == 2  # what was signed is not written over unasked


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"files": 1}', '{"files": {}, "evidence": 9, "page": "", "verdict": ""}'],
)
def test_what_is_no_evidence_is_refused(signed: Path, text: str) -> None:
    (signed / "evidence" / "evidence.json").write_text(text, encoding="utf-8")
    done = discreet("verify", "evidence", "release", cwd=signed)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert discreet("verify", "nowhere", "release", cwd=signed).returncode == 2


def test_the_microdata_is_told_from_others_by_its_salt_only(signed: Path) -> None:
    """Unsalted, its digest would say of every guessed row whether it is right."""
    salt = signed / "evidence.salt"
    assert salt.stat().st_mode & 0o777 == 0o600
    assert "stays with the steward" in salt.read_text(encoding="utf-8")
    key = salt.read_text(encoding="utf-8").splitlines()[-1]
    for name in ("evidence.json", "evidence.html"):
        assert key not in (signed / "evidence" / name).read_text(encoding="utf-8")
    evidence, release = signed / "evidence", signed / "release"
    assert check_evidence(evidence, release, signed / "people.csv", salt) == []
    with pytest.raises(dc.errors.StoreError, match="with the salt only"):
        check_evidence(evidence, release, signed / "people.csv")
    (signed / "other.csv").write_bytes((signed / "people.csv").read_bytes() + b"\n")
    assert check_evidence(evidence, release, signed / "other.csv", salt) == [
        "other.csv is not the microdata that was examined"
    ]
    salt.write_text("# no salt\n00\n", encoding="utf-8")
    done = discreet("verify", "evidence", "release", "--microdata", "people.csv", "--salt",
                    "evidence.salt", cwd=signed)  # fmt: skip
    assert done.returncode == 2 and "is no salt" in done.stderr
    assert discreet("verify", "evidence", "release", "--salt", "x", cwd=signed).returncode == 2


def test_evidence_of_the_older_format_is_still_read(signed: Path) -> None:
    file = signed / "evidence" / "evidence.json"
    told = json.loads(file.read_text(encoding="utf-8"))
    del told["microdata"]["hmac_sha256"], told["seal"]
    told |= {"evidence": 1}
    told["microdata"]["sha256"] = digest(signed / "people.csv")
    told["seal"] = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps(told), encoding="utf-8")
    evidence, release = signed / "evidence", signed / "release"
    assert check_evidence(evidence, release, signed / "people.csv") == []
    assert "not the microdata" in check_evidence(evidence, release, file)[0]
