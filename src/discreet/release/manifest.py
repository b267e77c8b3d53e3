"""The manifest: a release described as a Frictionless data package, field by allowed field.

Nothing gets into a manifest by being part of an object: every key is written here by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from discreet.errors import DiscreetError, StoreError
from discreet.files import digest
from discreet.principles import All, make_principle
from discreet.principles.base import Principle
from discreet.release import Promise, Recoding, Release, Transformation
from discreet.table.schema import Attribute, Missing, Role, Schema, Type
from discreet.table.taxonomy import Taxonomy

VERSION = 1
HASH = "sha256:"
OLDER_FORMS = {
    "generalization": "generalized", "sequential": "generalized", "angelization": "batched",
    "anatomy": "batched", "slicing": "sliced", "permutation": "permuted",
    "rank-swapping": "swapped", "perturbation": "perturbed",
}  # fmt: skip
"""The forms of releases whose manifest does not name one yet, by method."""
DAMAGED = "Give the folder that discreet wrote, unchanged, or get it again from its publisher."


class Seal(NamedTuple):
    """By what a table's file is known."""

    size: int
    """In bytes."""
    sha256: str

    @staticmethod
    def of(path: Path) -> Seal:
        """Take it from a file."""
        return Seal(path.stat().st_size, digest(path))


def describe(release: Release, format: str, seals: Mapping[str, Seal]) -> dict[str, Any]:
    """Write the manifest of a release, whose tables' files are written already."""
    return {
        "profile": "data-package",
        "name": f"discreet-{release.method}",
        "title": f"Release by {release.method}",
        "resources": [
            {
                "name": name,
                "description": release.about.get(name, ""),
                "type": "table",
                "path": f"{name}.{format}",
                "format": format,
                "scheme": "file",
                "bytes": seals[name].size,
                "hash": f"{HASH}{seals[name].sha256}",
                "encoding": "utf-8",
                "schema": {
                    "fields": [
                        _describe_column(release, column, dtype)
                        for column, dtype in table.schema.items()
                    ],
                    "missingValues": [""],
                },
            }
            for name, table in release.tables.items()
        ],
        "discreet": {
            "manifest": VERSION,
            "form": release.form,
            "method": release.method,
            "parameters": dict(release.parameters),
            "promise": {
                "principles": [_describe_principle(p) for p in release.promise.principle.parts],
                "guarantee": release.promise.guarantee,
                "leaves_open": list(release.promise.leaves_open),
            },
            "attributes": [
                _describe_attribute(a, release.recodings[a.name]) for a in release.schema
            ],
            "suppressed": "nothing; an empty cell was missing in the source",
        },
    }


def _describe_principle(principle: Principle) -> dict[str, Any]:
    return {"name": principle.title, **principle.parameters(), "paper": principle.paper}


def type_of(dtype: pl.DataType) -> str:
    """Name the Frictionless type of a column."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_float():
        return "number"
    return {pl.Boolean: "boolean", pl.Date: "date"}.get(dtype.base_type(), "string")


def _describe_column(release: Release, column: str, dtype: pl.DataType) -> dict[str, str]:
    described = {"name": column, "type": type_of(dtype)}
    for attribute in release.schema:
        recoding = release.recodings[attribute.name]
        if column in recoding.columns(attribute.name):
            described["role"] = str(attribute.role)
            described["transformation"] = str(recoding.transformation)
    return described


def _describe_attribute(attribute: Attribute, recoding: Recoding) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": attribute.name,
        "role": str(attribute.role),
        "type": str(attribute.type),
        "missing": str(attribute.missing),
        "transformation": str(recoding.transformation),
        "missing_is_a_value": recoding.missing,
    }
    if attribute.decimals is not None:
        described["decimals"] = attribute.decimals
    if attribute.order:
        described["order"] = list(attribute.order)
    if attribute.na:
        described["na"] = list(attribute.na)
    if recoding.domain:
        described["domain"] = recoding.domain
    if recoding.labels:
        described["labels"] = recoding.labels
    # a taxonomy of quasi-identifiers could list values the labels hide; of sensitive values,
    # which are published exactly, it tells how far apart they are
    if attribute.role is Role.SENSITIVE and isinstance(attribute.taxonomy, Taxonomy):
        described["taxonomy"] = attribute.taxonomy.to_paths()
    return described


class Stored(NamedTuple):
    """Where a table lies in the folder, the types of its columns, and by what its file is known."""

    path: str
    types: dict[str, str]
    seal: Seal | None


def understand(manifest: dict[str, Any]) -> tuple[Release, dict[str, Stored]]:
    """Read a manifest back: a release without its tables, and how each table is stored."""
    try:
        ours = manifest["discreet"]
        if ours["manifest"] != VERSION:
            raise StoreError(
                f"The release has manifest version {ours['manifest']}; this discreet reads "
                f"{VERSION}.",
                hint="Install the version of discreet that wrote it.",
            )
        principles = [
            make_principle({k: v for k, v in p.items() if k != "paper"})
            for p in ours["promise"]["principles"]
        ]
        if not principles:
            raise StoreError("The manifest promises nothing.", hint=DAMAGED)
        promise = Promise(
            principles[0] if len(principles) == 1 else All(tuple(principles)),
            ours["promise"]["guarantee"],
            tuple(ours["promise"]["leaves_open"]),
        )
        schema = Schema(tuple(_understand_attribute(a) for a in ours["attributes"]))
        recodings = {
            a["name"]: Recoding(
                Transformation(a["transformation"]),
                {str(label): list(map(str, v)) for label, v in a.get("labels", {}).items()},
                list(map(str, a.get("domain", []))),
                bool(a["missing_is_a_value"]),
            )
            for a in ours["attributes"]
        }
        stored = {
            str(resource["name"]): Stored(
                str(resource["path"]),
                {f["name"]: f["type"] for f in resource["schema"]["fields"]},
                _understand_seal(resource),
            )
            for resource in manifest["resources"]
        }
        unusable = [name for name in stored if not re.fullmatch(r"[a-z_][a-z0-9_]*", name)]
        if unusable:
            raise StoreError(f"{unusable[0]!r} is not the name of a table.", hint=DAMAGED)
        method = str(ours["method"])
        form = str(ours.get("form", OLDER_FORMS.get(method, method)))
        release = Release(
            form, method, dict(ours["parameters"]), promise, schema, recodings, {},
            {str(r["name"]): str(r["description"]) for r in manifest["resources"]},
        )  # fmt: skip
    except StoreError:
        raise
    except DiscreetError as error:
        raise StoreError(f"datapackage.json: {error.message}", hint=DAMAGED) from error
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError,
            RecursionError) as error:  # fmt: skip
        raise StoreError(
            f"datapackage.json is not the manifest of a release (near {error}).", hint=DAMAGED
        ) from error
    return release, stored


def _understand_seal(resource: dict[str, Any]) -> Seal | None:
    """Read by what a table is known; releases written before there were seals have none."""
    if "hash" not in resource and "bytes" not in resource:
        return None
    kind, sha256 = resource["hash"][: len(HASH)], resource["hash"][len(HASH) :]
    if kind != HASH:
        raise StoreError(f"{resource['path']}: its hash is not SHA-256.", hint=DAMAGED)
    return Seal(int(resource["bytes"]), sha256)


def _understand_attribute(described: dict[str, Any]) -> Attribute:
    paths = described.get("taxonomy")
    role = Role(described["role"])
    return Attribute(
        str(described["name"]),
        role,
        Type(described["type"]),
        missing=Missing(described["missing"]),
        taxonomy=Taxonomy.from_paths(paths) if paths else None,
        order=tuple(described.get("order", ())),
        decimals=None if (d := described.get("decimals")) is None else int(d),
        na=tuple(described.get("na", ())),
        keep=role is Role.OTHER,
    )
