"""Evidence: what a reviewer examined, found and signs, and the proof that a release is that one.

The steward's and the reviewer's; it never goes into a release.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import platform
import secrets
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.auditing import AuditReport
from discreet.auditing.counted import list_parts_about
from discreet.auditing.findings import HALF
from discreet.auditing.report import summarize
from discreet.errors import DiscreetError, StoreError
from discreet.evaluate.divergence import diverge_in_part
from discreet.evaluate.questions import answer_questions, draw_questions
from discreet.files import (
    digest,
    open_plain,
    private_folder,
    read_text,
    resolve,
    write_files,
    writing,
)
from discreet.forms.verify import verify
from discreet.pages import render_page
from discreet.release import Release
from discreet.release.places import say_first
from discreet.release.store import digest_release, fingerprint, load
from discreet.table.microdata import Microdata
from discreet.table.readers import read_table

NAME, PAGE = "evidence.json", "evidence.html"
FORMAT, OLDER = 2, 1
"""Older evidence has an unsalted SHA-256 of the microdata."""
SALTED = "hmac_sha256"
SALT_BYTES = 32
SALT_SAYS = (
    "The salt of {place}: it stays with the steward, like the microdata. With it, whoever guesses",
    "a row of the microdata can check the guess. `discreet verify` takes it with --microdata.",
)
KEPT = "every published group keeps the promise, as far as the release alone can tell"
LIBRARIES = ("discreet", "duckdb", "numba", "numpy", "polars", "sqlglot")
QUESTIONS = 400


Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _SignedPart(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="allow")


class SourcePart(_SignedPart):
    """Of what table a release was examined to be."""

    hmac_sha256: Digest | None = None
    sha256: Digest | None = None
    """Only in older evidence."""


class Evidence(_SignedPart):
    """What is asked of evidence again; the rest is for those who read it, and sealed as well."""

    evidence: Literal[1, 2]
    verdict: Literal["kept", "not kept"]
    problems: list[str]
    files: Annotated[dict[str, Digest], Field(min_length=1)]
    microdata: SourcePart
    page: Digest
    seal: Digest


def gather(
    folder: Path, source: Path, data: Microdata, report: AuditReport, salt: bytes
) -> dict[str, Any]:
    """Put together what was examined: the release, the table it was made from, and what was found.

    ``report`` is the audit of the release in ``folder`` against ``data``, read from ``source``.
    Its digest is salted (:func:`draw_salt`), so that no guess can be tried against it.
    """
    release = load(folder)
    broken = _find_broken(release)
    problems = [*report.problems, *([broken] if broken else [])]
    return {
        "evidence": FORMAT,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "verdict": "not kept" if problems else "kept",
        "problems": problems,
        "cautions": report.cautions,
        "judged_by": [str(part) for part in report.judged.parts],
        "verifier": broken or KEPT,
        "files": fingerprint(folder),
        "release_digest": digest_release(folder),
        "microdata": {"file": source.name, SALTED: _digest_salted(source, salt),
                      "people": report.people, "read": data.intake.read,
                      "dropped": data.intake.dropped},
        "columns": _list_columns(release, source),
        "method": {"name": release.method, "parameters": dict(release.parameters)},
        "promise": {
            "principles": [str(part) for part in release.promise.asked.parts],
            "guarantee": release.promise.guarantee,
            "papers": list(dict.fromkeys(p.paper for p in release.promise.asked.parts)),
        },
        "kept_columns": _describe_kept(report),
        "risk": _list_risks(data, report),
        "utility": _measure_use(release, data, report),
        "attacks": [vars(attack) for attack in report.attacks],
        "with_earlier": [made.to_dict() for made in report.composed],
        "not_protected": list(release.promise.leaves_open),
        "audit": summarize(report),
        "versions": {"python": platform.python_version(),
                     **{name: version(name) for name in LIBRARIES}},
    }  # fmt: skip


def draw_salt() -> bytes:
    """Draw a salt: without it, nobody can try guesses of the microdata against its digest."""
    return secrets.token_bytes(SALT_BYTES)


def _digest_salted(path: Path, salt: bytes) -> str:
    """Give the HMAC-SHA-256 of a file."""
    with open_plain(path) as file:
        return hashlib.file_digest(file, lambda: hmac.new(salt, digestmod="sha256")).hexdigest()


def place_salt(evidence: Path) -> Path:
    """Say where the salt of evidence goes: beside its folder, which is handed on."""
    place = resolve(evidence)
    return place.with_name(f"{place.name}.salt")


def _tell_salt(salt: bytes, evidence: Path) -> str:
    lines = [f"# {line.format(place=resolve(evidence).name)}" for line in SALT_SAYS]
    return "\n".join([*lines, salt.hex(), ""])


def _read_salt(path: Path) -> bytes:
    hint = "Give the file that lies beside the folder of the evidence and ends in .salt."
    try:
        text = read_text(path)
    except (OSError, UnicodeError) as error:
        raise StoreError(f"{path}: cannot be read.", hint=hint) from error
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    try:
        salt = bytes.fromhex(lines[0]) if len(lines) == 1 else b""
    except ValueError:
        salt = b""
    if len(salt) != SALT_BYTES:
        raise StoreError(f"{path}: is no salt.", hint=hint)
    return salt


def _find_broken(release: Release) -> str | None:
    """What the verifier finds broken, who reads nothing but the published tables."""
    try:
        verify(release)
    except DiscreetError as error:
        return error.message
    return None


def _list_columns(release: Release, source: Path) -> list[dict[str, str]]:
    """Say of every column of the source what was done to it."""
    told = []
    for name in read_table(source).columns:
        if name not in release.schema.names:
            told.append({"name": name, "role": "", "done": "left out"})
            continue
        how = release.explain(name)
        told.append({"name": name, "role": str(release.schema[name].role),
                     "done": f"published {how}"})  # fmt: skip
    return told


def _describe_kept(report: AuditReport) -> dict[str, Any] | None:
    """Say whom columns tell apart that are published as they are."""
    kept = report.kept_columns
    return None if kept is None else {**kept.to_dict(), "said": str(kept)}


def _list_risks(data: Microdata, report: AuditReport) -> list[dict[str, Any]]:
    """Each risk before and after, beside what was promised."""
    before = report.before
    assert before is not None  # evidence is of audits in memory
    identity = report.identity
    alike = max((p.look_alikes for p in report.judged.parts), default=1)
    rows: list[dict[str, Any]] = [
        {"risk": "people who look the same, at least", "before": before.smallest,
         "threshold": alike if alike > 1 else None, "after": identity.smallest},
        {"risk": "people who look like nobody else", "before": before.alone,
         "threshold": None, "after": int((report.candidates == 1).sum())},
        {"risk": "chance to name a record, at most", "before": 1 / before.smallest,
         "threshold": None, "after": float(identity.prosecutor)},
        {"risk": "records expected to be named rightly",
         "before": before.named, "threshold": None,
         "after": float(identity.marketer)},
        {"risk": "members told from others (chance: 0.5)", "before": 1.0, "threshold": None,
         "after": report.membership and report.membership.told},
    ]  # fmt: skip
    rows += [
        {"risk": f"chance to name a record, seen from {risk.population:,} people, {risk.how}",
         "before": None, "threshold": None, "after": risk.largest}
        for risk in report.population if risk.largest is not None
    ]  # fmt: skip
    presence = report.presence
    if presence is not None:
        rows += [
            {"risk": "people of the population certain to be in the table", "before": data.n,
             "threshold": None, "after": presence.certain, "caution": presence.certain > 0},
            {"risk": "members told from others of the population (chance: 0.5)", "before": 1.0,
             "threshold": None, "after": presence.advantage},
        ]  # fmt: skip
    for name, belief in report.beliefs.items():
        asked = list_parts_about(report.judged, name)
        most = min((part.max_share for part in asked), default=Fraction(1))
        rows += [
            {"risk": f"belief in a value of {name}, at most", "before": before.worst[name],
             "threshold": float(most) if most < 1 else None, "after": float(belief.max()),
             "caution": most == 1 and belief.max() > HALF},
            {"risk": f"belief in a value of {name}, mean over people", "before": before.mean[name],
             "threshold": None, "after": float(np.average(belief, weights=report.times))},
        ]  # fmt: skip
        if report.counted is not None and name in report.counted.left_out:
            out = ", ".join(report.counted.left_out[name])
            rows.append({"risk": f"belief in a value of {name} that counts (not: {out}), at most",
                         "before": before.counted[name], "threshold": None,
                         "after": float(report.counted.beliefs[name])})  # fmt: skip
    return rows


def _measure_use(release: Release, data: Microdata, report: AuditReport) -> dict[str, Any]:
    questions = draw_questions(data, QUESTIONS)
    errors, unanswered = answer_questions(release, data, questions)
    return {
        "precision_lost": report.loss.ncp,
        "per_attribute": report.loss.per_attribute,
        "divergence": diverge_in_part(release, data),
        "questions": sum(questions.counts.values()),
        "errors": {kind: vars(error) for kind, error in errors.items()},
        "not_answered": unanswered,
    }


def list_pack(folder: Path) -> list[Path]:
    """List the files of evidence."""
    return [folder / PAGE, folder / NAME, place_salt(folder)]


def write_evidence(found: dict[str, Any], folder: Path, salt: bytes) -> str:
    """Write the page, the JSON and the salt beside them, which is for nobody but its owner.

    Gives the seal, by which any change of page or JSON can be told.
    """
    page = render_page("evidence.html", found=found)
    read = hashlib.sha256(page.encode()).hexdigest()
    sealed = json.loads(json.dumps({**found, "page": read}, default=str))
    seal = _seal(sealed)
    Evidence.model_validate({**sealed, "seal": seal})
    text = json.dumps({**sealed, "seal": seal}, indent=2, ensure_ascii=False) + "\n"
    paths = list_pack(folder)
    texts = dict(zip(paths, (page, text, _tell_salt(salt, folder)), strict=True))

    def fill(draft: Path) -> None:
        for path, content in texts.items():
            (draft / path.name).write_text(content, encoding="utf-8", newline="")

    with writing(folder), private_folder(folder):
        write_files(paths, fill)
    return seal


def _seal(found: dict[str, Any]) -> str:
    """Give the SHA-256 of all findings but the seal itself."""
    kept = {name: value for name, value in found.items() if name != "seal"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def check_evidence(
    evidence: Path, folder: Path, microdata: Path | None = None, salt: Path | None = None
) -> list[str]:
    """Say how a release differs from the one that was examined; nothing if it does not.

    The release is verified once more from its bytes. That the evidence itself is the one that was
    written, only who noted its seal can tell. With the ``salt`` that was written beside it, also
    say whether a file is the ``microdata``.
    """
    path, found, problems = _read_evidence(evidence)
    other = microdata is not None and not _is_source(found, microdata, salt)
    if not folder.is_dir():
        raise StoreError(f"{folder}: there is no such folder.", hint="Give the release's folder.")
    page = path.with_name(PAGE)
    if not page.is_file():
        problems.append(f"{PAGE} is missing")
    elif _digest(page) != found.page:
        problems.append(f"{PAGE} was changed after the audit")
    problems += _compare_files(found.files, folder)
    if other:
        assert microdata is not None
        problems.append(f"{microdata.name} is not the microdata that was examined")
    if found.verdict != "kept" or found.problems:
        problems.append("the audit found that the promise is not kept")
    if not problems:
        try:
            verify(load(folder))
        except DiscreetError as error:
            problems.append(error.message)
    return problems


def _digest(path: Path) -> str:
    try:
        return digest(path)
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be read ({error.strerror or error}).", hint="Check that it is a file."
        ) from error


def _is_source(found: Evidence, microdata: Path, salt: Path | None) -> bool:
    """Whether a file is the microdata, by the salted digest; older evidence needs no salt."""
    told = found.microdata
    try:
        if found.evidence == OLDER:
            return told.sha256 is not None and digest(microdata) == told.sha256
        if salt is None:
            raise StoreError(
                "Whether it is the microdata can be told with the salt only.",
                hint="Give the file beside the evidence that ends in .salt: --salt FILE.",
            )
        made = _digest_salted(microdata, _read_salt(salt))
        return told.hmac_sha256 is not None and hmac.compare_digest(made, told.hmac_sha256)
    except OSError as error:
        raise StoreError(
            f"{microdata}: cannot be read ({error.strerror or error}).", hint="Check the path."
        ) from error


def _compare_files(files: dict[str, str], folder: Path) -> list[str]:
    """Name every file that is missing, new or changed."""
    plain = {p.name: p.is_file() and not p.is_symlink() for p in folder.iterdir()}
    there = {name: _digest(folder / name) if good else "" for name, good in plain.items()}
    problems = []
    for name in sorted({*files, *there}):
        if name not in there:
            problems.append(f"{name} was examined and is missing")
        elif name not in files:
            problems.append(f"{name} was not there when the release was examined")
        elif there[name] != files[name]:
            problems.append(f"{name} was changed after the audit")
    return problems


def _read_evidence(evidence: Path) -> tuple[Path, Evidence, list[str]]:
    """Read evidence, and say whether it was changed after it was sealed."""
    path = evidence / NAME if evidence.is_dir() else evidence
    hint = "Give the folder that `discreet audit --evidence` wrote."
    try:
        told = json.loads(read_text(path))
        found = Evidence.model_validate(told)
        changed = found.seal != _seal(told)
    except OSError as error:
        why = error.strerror or error
        raise StoreError(f"{path}: cannot be read ({why}).", hint=hint) from error
    except ValidationError as error:
        said = say_first(error)
        raise StoreError(f"{path}: is no evidence ({said}).", hint=hint) from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path}: is no evidence, as it is not JSON.", hint=hint) from error
    return path, found, [f"{path.name} was changed after the audit"] if changed else []


def read_seal(evidence: Path) -> str:
    """Give the seal of evidence."""
    return _read_evidence(evidence)[1].seal
