"""Tables that lie in files, and releases of them made in parts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.auditing import AuditReport, open_earlier
from discreet.auditing.in_parts import AskedOfParts, audit_files
from discreet.publishing.backends.disk import DiskBackend
from discreet.publishing.in_parts import publish_in_parts
from discreet.publishing.method import Method
from discreet.release.seals import Seal
from discreet.table.facts import Facts, survey
from discreet.table.parquet_files import ParquetFiles
from discreet.table.schema import Missing

AT_ONCE = 500
"""So many records are audited at once, where they can be parted."""


def audit_parts(
    release: Path,
    files: ParquetFiles,
    facts: Facts,
    folder: Path,
    asked: AskedOfParts | None = None,
    at_once: int = AT_ONCE,
) -> AuditReport:
    """Audit a release in small parts."""
    return audit_files(release, files, facts, folder, asked=asked, at_once=at_once,
                       progress=lambda *told: None)  # fmt: skip


def spread(frame: pl.DataFrame, folder: Path, files: int = 3) -> Path:
    """Write a table, in another order, into several files and an empty one."""
    folder.mkdir()
    frame = frame[np.random.default_rng(1).permutation(frame.height)]
    ends = [frame.height * i // files for i in range(files + 1)]
    for i in range(files):
        frame[ends[i] : ends[i + 1]].write_parquet(folder / f"{i}.parquet")
    frame[:0].write_parquet(folder / f"{files}.parquet")
    return folder


def publish_from_disk(
    source: Path,
    schema: dc.Schema,
    method: Method,
    target: Path,
    capacity: int,
    at_once: int | None = None,
) -> AuditReport:
    """Publish a table in files, so many rows at once, and audit it before it is put in place."""
    files = ParquetFiles(source)
    facts = survey(files, schema)
    work = target.with_name(f"{target.name}-work")
    work.mkdir()
    found: list[AuditReport] = []

    def approve(draft: Path) -> None:
        asked = AskedOfParts(earlier=open_earlier(method.earlier))
        found.append(audit_parts(draft, files, facts, work, asked, at_once or AT_ONCE))

    backend = DiskBackend(files, facts, work, capacity, at_once or capacity)
    publish_in_parts(backend, method, target, format="parquet", overwrite=False, approve=approve)
    assert not list(work.iterdir())
    return found[0]


def require_alike(
    frame: pl.DataFrame,
    schema: dc.Schema,
    method: Method,
    folder: Path,
    capacity: int,
    require: Callable[[dc.Microdata, Method, Path, int], None],
) -> None:
    """Publish a table in parts as in memory, as ``require`` says; or refuse it for the same."""
    try:
        read = dc.read(frame, schema)
        dc.publish(read, method)
    except dc.DiscreetError as error:
        with pytest.raises(type(error)):
            publish_from_disk(spread(frame, folder / "s"), schema, method, folder / "d", capacity)
        return
    require(read, method, folder, capacity)


def change(folder: Path, name: str, how: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change a file of a release."""
    path = folder / f"{name}.parquet"
    how(pl.read_parquet(path)).write_parquet(path)


def examine(release: Path, source: Path, schema: dc.Schema, folder: Path) -> AuditReport:
    """Audit a release against a table in files, with a folder that is not there yet."""
    files = ParquetFiles(source)
    folder.mkdir()
    return audit_parts(release, files, survey(files, schema), folder)


def reseal(folder: Path) -> None:
    """Make a manifest fit files that were changed, as a forger would."""
    path = folder / "datapackage.json"
    manifest = json.loads(path.read_text())
    for resource in manifest["resources"]:
        for part in resource.get("parts", [resource]):
            seal = Seal.of(folder / part["path"])
            part["bytes"], part["hash"] = seal.size, f"sha256:{seal.sha256}"
    path.write_text(json.dumps(manifest))


def require_same_batches(made: dc.Release, wanted: dc.Release) -> None:
    """Hold buckets, values and words against those of another release, whatever was drawn."""
    assert list(made.tables) == list(wanted.tables)
    for title in made.shown:
        assert _show_buckets(made, title).equals(_show_buckets(wanted, title))
    assert made.recodings == wanted.recodings
    assert (made.promise, made.about) == (wanted.promise, wanted.about)
    assert made.parameters == wanted.parameters
    often = made.own("count")
    for title in made.tables.keys() - made.shown.keys():
        told = [r.tables[title].drop(r.own("batch")) for r in (made, wanted)]
        names = told[0].drop(often).columns
        counts = [table.group_by(names).agg(pl.col(often).sum()).sort(names) for table in told]
        assert counts[0].equals(counts[1])


def _show_buckets(release: dc.Release, title: str) -> pl.DataFrame:
    shown = release.tables[title].drop(release.own("batch"))
    texts = shown.with_columns(pl.all().cast(pl.String))
    return texts.sort(pl.all())


def require_same_runs(made: dc.Release, wanted: dc.Release) -> None:
    """Hold groups, people and words against those of another release, whatever was drawn."""
    (name,), own = made.schema.sensitive, made.own("group")

    def list_groups(release: dc.Release) -> list[list[float]]:
        groups = release.tables["permuted"].group_by(own).agg(pl.col(name).sort())
        return sorted(groups[name].to_list())

    assert list_groups(made) == list_groups(wanted)
    people = [r.tables["permuted"].drop(own, name).sort(pl.all()) for r in (made, wanted)]
    assert people[0].equals(people[1])
    assert made.tables["help"].schema == wanted.tables["help"].schema
    assert (made.promise, made.about) == (wanted.promise, wanted.about)
    assert (made.recodings, made.parameters) == (wanted.recodings, wanted.parameters)


def require_same_slices(made: dc.Release, wanted: dc.Release) -> None:
    """Hold buckets and words against those of another release, whatever their order."""

    def list_buckets(release: dc.Release) -> list[str]:
        own = release.own("bucket")
        buckets = release.tables["sliced"].group_by(own, maintain_order=True)
        return sorted(str(bucket.drop(own).rows()) for _, bucket in buckets)

    assert list_buckets(made) == list_buckets(wanted)
    assert made.tables["sliced"].schema == wanted.tables["sliced"].schema
    assert (made.promise, made.about) == (wanted.promise, wanted.about)
    assert (made.recodings, made.parameters) == (wanted.recodings, wanted.parameters)


def require_same_audit(found: AuditReport, whole: AuditReport) -> None:
    """Hold what is found in parts against what is found of the whole.

    What several tables tell together is found exactly of more people in parts, as fewer are there;
    what is exact is no more than a bound.
    """
    told, wanted = found.to_dict(), whole.to_dict()
    for name in ("kept", "problems", "people", "records", "groups", "breaches", "checks",
                 "identity"):  # fmt: skip
        assert told[name] == wanted[name], name
    exactly = told["beliefs_found"] == wanted["beliefs_found"]
    assert exactly or wanted["joined"] is not None
    beliefs = ["max_belief"] if told["max_belief"] is not None else []
    for name in (*beliefs, "mean_belief", "mean_belief_in_truth"):
        ours, most = ({"": of[name]} if name == "max_belief" else of[name] for of in (told, wanted))
        assert (
            ours == pytest.approx(most)
            if exactly
            else all(ours[attribute] <= most[attribute] + 1e-9 for attribute in most)
        ), name
    if wanted["joined"] is not None:
        for name in ("smallest_cell", "people_alone", *(["max_belief"] if exactly else [])):
            assert told["joined"][name] == wanted["joined"][name]
    assert told["loss"]["ncp"] == pytest.approx(wanted["loss"]["ncp"])


def odd_table() -> dc.Microdata:
    """Missing cells, many categories, dates, decimals, a column that is kept, one value in half."""
    rng = np.random.default_rng(5)
    n = 3000
    frame = pl.DataFrame(
        {
            "age": pl.Series(rng.integers(0, 90, n)).replace(7, None),
            "place": [f"p{i}" for i in rng.zipf(1.3, n) % 300],
            "born": pl.Series(rng.integers(0, 9000, n)).cast(pl.Int32).cast(pl.Date),
            "size": (rng.integers(0, 500, n) / 4).tolist(),
            "half": ["x" if u < 0.5 else f"y{int(u * 40)}" for u in rng.random(n)],
            "leaf": rng.integers(0, 3, n),
            "illness": [f"i{i}" for i in rng.integers(0, 9, n)],
        }
    )
    known = ["age", "place", "born", "size", "half"]
    schema = dc.Schema.infer(frame, quasi_identifiers=known, sensitive=["illness"])
    kept = replace(schema["leaf"], keep=True)
    return dc.read(
        frame, schema.changed(*(replace(a, missing=Missing.VALUE) for a in schema), kept)
    )


def write_plan(folder: Path, more: str = "", method: str = 'name = "generalization"') -> Path:
    (folder / "t.plan.toml").write_text(
        f"""
[source]
file = "source"
[columns.age]
role = "quasi-identifier"
type = "integer"
[columns.sex]
role = "quasi-identifier"
[columns.income]
role = "sensitive"
type = "integer"
[method]
{method}
[[method.principles]]
name = "k-anonymity"
k = 4
{more}
"""
    )
    return folder / "t.plan.toml"
