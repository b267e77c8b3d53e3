"""The manifest: a release described as a Frictionless data package, field by allowed field.

Nothing gets into a manifest by being part of an object: every field is written here by name. What
is read back must have the types that are written here. Fields that are not, which other tools and
newer versions may add, are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Annotated, Any, Literal, NamedTuple

import polars as pl
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from discreet.errors import DAMAGED, DiscreetError, StoreError
from discreet.principles import All, make_principle
from discreet.principles.base import Principle
from discreet.release import OfPeople, Promise, Recoding, Release, Transformation
from discreet.release.dictionary import ABOUT
from discreet.release.formulas import Escape, escape_text, restore_text
from discreet.release.places import say_first
from discreet.release.seals import HASH, Seal, name_files
from discreet.table.coarsening import SETTINGS
from discreet.table.schema import Attribute, Missing, Role, Schema, Type
from discreet.table.taxonomy import Taxonomy

MANIFEST = "datapackage.json"
VERSION, OLDER = 2, 1
"""Older manifests list themselves what labels stand for."""
OLDER_FORMS = {
    "generalization": "generalized", "sequential": "generalized", "angelization": "batched",
    "anatomy": "batched", "slicing": "sliced", "permutation": "permuted",
    "rank-swapping": "swapped", "perturbation": "perturbed",
}  # fmt: skip
"""The forms of releases whose manifest does not name one yet, by method."""
FieldType = Literal["integer", "number", "boolean", "date", "string"]
Done = Annotated[Transformation | str, Field(union_mode="left_to_right")]


def _refuse_other_version(version: int) -> int:
    if version not in (OLDER, VERSION):
        raise StoreError(
            f"The release has manifest version {version}; this discreet reads {OLDER} and "
            f"{VERSION}.",
            hint="Install the version of discreet that wrote it.",
        )
    return version


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, serialize_by_alias=True)


class ColumnPart(_Part):
    """A column of a table."""

    name: str
    type: FieldType
    role: Role | None = None
    transformation: Done | None = None
    description: str | None = None


class ColumnsPart(_Part):
    """All columns of a table."""

    fields: list[ColumnPart]
    missing: list[str] = Field(default=[""], alias="missingValues")


class FilePart(_Part):
    """One of several files of a table, and by what it is known."""

    path: str
    bytes: Annotated[int, Field(ge=0)]
    hash: str


class Resource(_Part):
    """A table: where it lies, what its columns are, and by what its files are known."""

    name: str
    description: str = ""
    type: str = "table"
    path: str | Annotated[list[str], Field(min_length=2)]
    """Several where a table is large: one after the other they are the table."""
    format: str = ""
    scheme: str = "file"
    bytes: Annotated[int, Field(ge=0)] | None = None
    hash: str | None = None
    parts: list[FilePart] | None = None
    encoding: str = "utf-8"
    escape: Escape | None = None
    columns: ColumnsPart = Field(alias="schema")

    @property
    def paths(self) -> list[str]:
        """The names of its files, in their order."""
        return [self.path] if isinstance(self.path, str) else self.path

    @property
    def seals(self) -> list[Seal] | None:
        """By what its files are known; releases written before there were seals have none."""
        if isinstance(self.path, str) and self.hash is None and self.bytes is None:
            return None
        known = [(p.path, p.bytes, p.hash) for p in self.parts or []]
        if isinstance(self.path, str) and self.bytes is not None and self.hash is not None:
            known = [(self.path, self.bytes, self.hash)]
        if [path for path, _, hash in known if hash.startswith(HASH)] != self.paths:
            raise StoreError(f"{self.paths[0]}: its hash is not SHA-256.", hint=DAMAGED)
        return [Seal(size, hash.removeprefix(HASH)) for _, size, hash in known]


class OfPeoplePart(_Part):
    """What is promised of people, where some have several rows."""

    principles: Annotated[list[dict[str, Any]], Field(min_length=1)]
    rows: Annotated[int, Field(ge=1)]
    together: Annotated[int, Field(ge=1)]


class PromisePart(_Part):
    """What is promised: principles with their parameters, and what that means in words."""

    principles: Annotated[list[dict[str, Any]], Field(min_length=1)]
    guarantee: str
    leaves_open: list[str]
    people: OfPeoplePart | None = None


class AttributePart(_Part):
    """An attribute, and what was done to it."""

    name: str
    role: Role
    type: Type
    missing: Missing
    transformation: Done
    missing_is_a_value: bool
    decimals: Annotated[int, Field(ge=0, le=18)] | None = None
    order: list[str] | None = None
    na: list[str] | None = None
    separator: str | None = None
    top: int | float | str | None = None
    bottom: int | float | str | None = None
    round: int | float | str | None = None
    aggregate: int | None = None
    low: int | float | str | None = None
    high: int | float | str | None = None
    """Where values beyond a code of top or bottom end, if that is public."""
    domain: list[str] | None = None
    public_domain: bool | None = None
    labels: dict[str, list[str]] | None = None
    """Only in older manifests."""
    taxonomy: list[Annotated[list[str], Field(min_length=1)]] | None = None


EMPTY = "; an empty cell was missing in the source"


class ReleasePart(_Part):
    """What a data package does not know: how the release was made, and what it promises."""

    manifest: Annotated[int, AfterValidator(_refuse_other_version)]
    form: str | None = None
    method: str
    parameters: dict[str, Any]
    promise: PromisePart
    attributes: list[AttributePart]
    weight: str | None = None
    suppressed: str = f"nothing{EMPTY}"


class Manifest(_Part):
    """A release as a data package."""

    profile: str = "data-package"
    name: str
    title: str = ""
    resources: list[Resource]
    discreet: ReleasePart

    @staticmethod
    def parse(text: str) -> Manifest:
        """Read one; whatever is not as it should be is one error that names the place."""
        try:
            return Manifest.model_validate_json(text)
        except ValidationError as error:
            if error.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
                raise StoreError(f"{MANIFEST} is not JSON.", hint=DAMAGED) from error
            rest = error.error_count() - 1
            more = f" (and {rest} more)" if rest else ""
            raise StoreError(f"{MANIFEST}: {say_first(error)}{more}.", hint=DAMAGED) from error

    def dump(self) -> str:
        """Write it."""
        return self.model_dump_json(indent=1, exclude_none=True) + "\n"


def describe(
    release: Release,
    dictionary: Mapping[str, pl.DataFrame],
    format: str,
    seals: Mapping[str, Sequence[Seal]],
    escape: Escape | None,
) -> Manifest:
    """Write the manifest of a release, whose tables' files are written already."""
    promise = release.promise
    columns = {
        title: [_describe_column(release, title, c, dtype) for c, dtype in table.schema.items()]
        for title, table in {**release.tables, **dictionary}.items()
    }
    if escape:
        columns = {title: [c.model_copy(update={"name": escape_text(c.name)}) for c in fields]
                   for title, fields in columns.items()}  # fmt: skip
    about = {**release.about, **ABOUT}
    return Manifest(
        name=f"discreet-{release.method}",
        title=f"Release by {release.method}",
        resources=[
            Resource(
                name=title,
                description=about.get(title, ""),
                format=format,
                escape=escape,
                schema=ColumnsPart(fields=fields),
                **_describe_files(title, format, seals[title]),
            )
            for title, fields in columns.items()
        ],
        discreet=ReleasePart(
            manifest=VERSION,
            form=release.form,
            method=release.method,
            parameters=dict(release.parameters),
            promise=PromisePart(
                principles=[_describe_principle(part) for part in promise.principle.parts],
                guarantee=promise.guarantee,
                leaves_open=list(promise.leaves_open),
                people=_describe_people(promise.people),
            ),
            attributes=[_describe_attribute(a, release.recodings[a.name]) for a in release.schema],
            suppressed=f"{say_suppressed(release).removesuffix(' was suppressed')}{EMPTY}",
            weight=release.schema.weight,
        ),
    )


def _describe_files(title: str, format: str, seals: Sequence[Seal]) -> dict[str, Any]:
    names = name_files(title, len(seals), format)
    known = [FilePart(path=name, bytes=seal.size, hash=f"{HASH}{seal.sha256}")
             for name, seal in zip(names, seals, strict=True)]  # fmt: skip
    return dict(known[0]) if len(known) == 1 else {"path": names, "parts": known}


def say_suppressed(release: Release) -> str:
    """Say how many rows of the microdata are left out, or show less than others of theirs."""
    blanked = release.parameters.get("blanked", 0)
    if items := release.parameters.get("items_left_out"):
        return f"of all sets {items} items were left out"
    if not (release.left_out or blanked):
        return "nothing was suppressed"
    return f"{release.left_out} rows were left out, of {blanked} some cells were replaced by *"


def _describe_people(people: OfPeople | None) -> OfPeoplePart | None:
    if people is None:
        return None
    principles = [_describe_principle(part) for part in people.principle.parts]
    return OfPeoplePart(principles=principles, rows=people.rows, together=people.together)


def _describe_principle(principle: Principle) -> dict[str, Any]:
    return {"name": principle.title, **principle.parameters(), "paper": principle.paper}


def type_of(dtype: pl.DataType) -> FieldType:
    """Name the Frictionless type of a column."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_float():
        return "number"
    if dtype == pl.Boolean:
        return "boolean"
    return "date" if dtype == pl.Date else "string"


def _describe_column(release: Release, title: str, column: str, dtype: pl.DataType) -> ColumnPart:
    kind = type_of(dtype)
    for attribute in release.schema if title in release.carriers else ():
        recoding = release.recodings[attribute.name]
        if column in recoding.columns(attribute.name):
            role, done = attribute.role, recoding.transformation
            return ColumnPart(name=column, type=kind, role=role, transformation=done)
    return ColumnPart(name=column, type=kind, description=release.explain_own(column))


def _describe_attribute(attribute: Attribute, recoding: Recoding) -> AttributePart:
    paths = None
    # a taxonomy of quasi-identifiers could list values the labels hide; of sensitive values,
    # which are published exactly, it tells how far apart they are
    if attribute.role is Role.SENSITIVE and isinstance(attribute.taxonomy, Taxonomy):
        paths = attribute.taxonomy.to_paths()
    in_tables = recoding.transformation is Transformation.SET
    return AttributePart(
        name=attribute.name,
        role=attribute.role,
        type=attribute.type,
        missing=attribute.missing,
        transformation=recoding.transformation,
        missing_is_a_value=recoding.missing,
        decimals=attribute.decimals,
        order=list(attribute.order) or None,
        na=list(attribute.na) or None,
        separator=attribute.separator or None,
        **{name: _write_setting(getattr(attribute, name)) for name in (*SETTINGS, "low", "high")},
        domain=None if in_tables else recoding.domain or None,
        public_domain=recoding.public or None,
        taxonomy=paths,
    )


def _write_setting(given: Any) -> Any:
    return given.isoformat() if isinstance(given, date) else given


class Stored(NamedTuple):
    """Where a table lies, the types of its columns, by what files are known, how they are read."""

    paths: list[str]
    types: dict[str, FieldType]
    seals: list[Seal] | None
    escaped: bool


def understand(manifest: Manifest) -> tuple[Release, dict[str, Stored]]:
    """Read a manifest back: a release without its tables, and how each table is stored.

    What its labels stand for is another table's matter, except in older releases.
    """
    ours = manifest.discreet
    told = ours.promise.people
    promise = Promise(
        _understand_principles(ours.promise.principles, "promise"),
        ours.promise.guarantee,
        tuple(ours.promise.leaves_open),
        None if told is None else OfPeople(
            _understand_principles(told.principles, "promise.people"), told.rows, told.together
        ),
    )  # fmt: skip
    attributes = []
    for number, described in enumerate(ours.attributes):
        with _reading(f"attributes[{number}]"):
            attributes.append(_understand_attribute(described))
    with _reading("attributes"):
        schema = Schema(tuple(attributes), weight=ours.weight)
    recodings = {
        a.name: Recoding(a.transformation, a.labels or {}, a.domain or [], a.missing_is_a_value,
                         bool(a.public_domain))
        for a in ours.attributes
    }  # fmt: skip
    _refuse_twice([r.name for r in manifest.resources], "resources")
    stored = {r.name: _understand_resource(r) for r in manifest.resources}
    form = ours.form or OLDER_FORMS.get(ours.method, ours.method)
    about = {r.name: r.description for r in manifest.resources}
    parameters = dict(ours.parameters)
    return Release(form, ours.method, parameters, promise, schema, recodings, {}, about), stored


def _understand_principles(described: list[dict[str, Any]], place: str) -> Principle:
    principles = []
    for number, part in enumerate(described):
        with _reading(f"{place}.principles[{number}]"):
            principles.append(make_principle({k: v for k, v in part.items() if k != "paper"}))
    return principles[0] if len(principles) == 1 else All(tuple(principles))


@contextmanager
def _reading(place: str) -> Iterator[None]:
    """Take what a part of the manifest cannot be as one error that names it."""
    try:
        yield
    except (DiscreetError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        said = error.message if isinstance(error, DiscreetError) else f"{error}."
        raise StoreError(f"{MANIFEST}: discreet.{place}: {said}", hint=DAMAGED) from error


def _refuse_twice(names: list[str], place: str) -> None:
    if len(set(names)) < len(names):
        raise StoreError(f"{MANIFEST}: {place}: a name is there twice.", hint=DAMAGED)


def _understand_resource(resource: Resource) -> Stored:
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", resource.name):
        raise StoreError(f"{resource.name!r} is not the name of a table.", hint=DAMAGED)
    paths = resource.paths
    if paths not in [name_files(resource.name, len(paths), kind) for kind in ("parquet", "csv")]:
        raise StoreError(f"{paths[0]!r} is not a table of this release.", hint=DAMAGED)
    _refuse_twice([column.name for column in resource.columns.fields], resource.name)
    read = restore_text if resource.escape else str
    types = {read(column.name): column.type for column in resource.columns.fields}
    return Stored(paths, types, resource.seals, resource.escape is not None)


def _understand_attribute(described: AttributePart) -> Attribute:
    paths = described.taxonomy
    return Attribute(
        described.name,
        described.role,
        described.type,
        missing=described.missing,
        taxonomy=Taxonomy.from_paths(paths) if paths else None,
        order=tuple(described.order or ()),
        decimals=described.decimals,
        na=tuple(described.na or ()),
        separator=described.separator or "",
        **{name: getattr(described, name) for name in (*SETTINGS, "low", "high")},
        keep=described.role is Role.OTHER,
    )
