"""Store: a release as a folder, written whole or not at all, and verified as bytes on disk."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from pydantic_core import to_json

from discreet.errors import StoreError
from discreet.manifest import Stored, describe, type_of, understand
from discreet.release import Format, Release, Transformation
from discreet.schema import UNUSABLE_NAME, Role, Schema
from discreet.verify import verify

MANIFEST = "datapackage.json"
README = "README.md"


def write(release: Release, folder: Path, *, format: Format, overwrite: bool) -> Path:
    """Write to a temporary folder beside the target, verify it from disk, then rename it."""
    if format not in ("parquet", "csv"):
        raise StoreError(f"format = {format!r}: give 'parquet' or 'csv'.")
    return _fill_folder(folder, overwrite, lambda draft: _write_files(release, draft, format))


def copy(source: Path, folder: Path, *, overwrite: bool) -> Path:
    """Put a release that lies in one folder into another, byte by byte."""

    def fill(draft: Path) -> None:
        for path in source.iterdir():
            shutil.copyfile(path, draft / path.name)
        _settle(draft)

    return _fill_folder(folder, overwrite, fill)


def fingerprint(folder: Path) -> dict[str, str]:
    """Give the SHA-256 of every file in a folder, which must hold nothing else."""
    for path in folder.iterdir():
        if path.is_symlink() or not path.is_file():
            raise StoreError(
                f"{path}: is not a plain file, as everything in a release is.",
                hint="Get the release again from its publisher.",
            )
    return {path.name: digest(path) for path in sorted(folder.iterdir())}


def digest(path: Path) -> str:
    """Give the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fill_folder(folder: Path, overwrite: bool, fill: Callable[[Path], None]) -> Path:
    folder = folder.absolute()
    refuse_to_replace(folder, overwrite=overwrite)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise _cannot_write(folder, error) from error
    try:
        try:
            fill(draft)
            verify(load(draft))
            draft.chmod(0o755)
            _put_in_place(draft, folder)
        except OSError as error:
            raise _cannot_write(folder, error) from error
        finally:
            remove(draft)
    finally:  # a second interrupt may strike just as the first clean-up begins
        remove(draft)
    return folder


def write_file(path: Path, fill: Callable[[Path], object]) -> Path:
    """Write one file whole or not at all: ``fill`` writes a draft, which is then renamed."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fill(draft)
            draft.replace(path)
        except OSError as error:
            raise _cannot_write(path, error) from error
        finally:
            remove(draft)
    finally:
        remove(draft)
    return path


def _cannot_write(path: Path, error: OSError) -> StoreError:
    full = error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
    hint = "Free some space" if full else "Check that its folder exists and is yours to write to"
    return StoreError(
        f"{path}: cannot be written ({error.strerror or error}).",
        hint=f"{hint}, or choose another place; nothing was left behind.",
    )


def remove(path: Path) -> None:
    """Remove a draft, whatever interrupts."""
    while path.exists():
        try:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        except KeyboardInterrupt:
            continue
        except OSError:
            return


def refuse_to_replace(folder: Path, *, overwrite: bool) -> None:
    """Refuse a place for a release that holds anything but, with ``overwrite``, another one."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        strangers = find_strangers(folder)
    except (StoreError, OSError) as error:
        raise StoreError(
            f"{folder}: exists and is not a release.", hint="Choose another folder."
        ) from error
    if strangers:
        raise StoreError(
            f"{folder}: holds {strangers[0]}, which is not part of the release there.",
            hint="Move it elsewhere, or choose another folder.",
        )
    if not overwrite:
        raise StoreError(
            f"{folder}: holds a release already.",
            hint="Choose another folder, or replace the release with --overwrite.",
        )


def refuse_unwritable(folder: Path) -> None:
    """Refuse a place for a release in which nothing can be written; leave nothing there."""
    nearest = next(place for place in folder.absolute().parents if place.exists())
    try:
        remove(Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=nearest)))
    except OSError as error:
        raise _cannot_write(folder, error) from error


def _put_in_place(draft: Path, folder: Path) -> None:
    if not folder.exists():
        draft.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
    try:
        folder.rename(old / "release")
        draft.rename(folder)
    finally:  # whatever happened between the two renames, one release stands
        if not folder.exists() and (old / "release").exists():
            (old / "release").rename(folder)
        remove(old)


def _write_files(release: Release, draft: Path, format: Format) -> None:
    for name, table in release.tables.items():
        path = draft / f"{name}.{format}"
        try:
            if format == "parquet":
                table.write_parquet(path, compression="zstd", compression_level=1, statistics=False)
            else:
                table.write_csv(path)
        except pl.exceptions.PolarsError as error:
            raise StoreError(f"{path.name}: cannot be written ({error}).") from error
    (draft / MANIFEST).write_bytes(to_json(describe(release, format), indent=1) + b"\n")
    (draft / README).write_text(_explain(release, format), encoding="utf-8")
    _settle(draft)


def _settle(draft: Path) -> None:
    """Wait until the disk has it all."""
    for path in draft.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def load(folder: str | Path) -> Release:
    """Read a release from its folder, trusting nothing but the bytes there."""
    folder = Path(folder)
    release, stored = understand(read_manifest(folder))
    tables = {name: _read_table(folder, table) for name, table in stored.items()}
    return replace(release, tables=tables)


def load_schema(folder: str | Path) -> Schema:
    """Read only what the columns of a release are, not its tables."""
    return understand(read_manifest(Path(folder)))[0].schema


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read what a release says about itself, as it is written there."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except OSError as error:
        raise StoreError(
            f"{folder}: not a release: it has no {MANIFEST}.",
            hint="Give the folder that discreet wrote.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise StoreError(
            f"{folder}: not a release: its {MANIFEST} is not JSON.",
            hint="The release is damaged; get it again from its publisher.",
        ) from error
    if not isinstance(manifest, dict):
        raise StoreError(f"{folder}: its {MANIFEST} holds no object.")
    return manifest


def find_strangers(folder: Path) -> list[str]:
    """List what lies in a release's folder without being part of the release."""
    _, stored = understand(read_manifest(folder))
    known = {MANIFEST, README, *(table.path for table in stored.values())}
    return sorted(path.name for path in folder.iterdir() if path.name not in known)


def _read_table(folder: Path, stored: Stored) -> pl.DataFrame:
    path = folder / stored.path
    if path.parent != folder or path.suffix not in (".parquet", ".csv"):
        raise StoreError(f"{stored.path}: not a table of this release.")
    try:
        if path.suffix == ".parquet":
            table = pl.read_parquet(path)
        else:
            table = pl.read_csv(path, infer_schema=False)
            table = table.with_columns(_cast(name, kind) for name, kind in stored.types.items())
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            f"{path.name}: cannot be read ({str(error).splitlines()[0]}).",
            hint="The release is damaged; get it again from its publisher.",
        ) from error
    if not table.height:
        raise StoreError(f"{path.name}: the table has no rows.")
    for name in table.columns:  # names go into statements that databases run
        if UNUSABLE_NAME.search(name):
            raise StoreError(f"{path.name}: {name!r} is not the name of a column.")
    types = table.schema
    for name, kind in stored.types.items():
        if name in types and type_of(types[name]) != kind:
            raise StoreError(f"{path.name}: column {name!r} is not of type {kind}.")
    return table


def _cast(name: str, kind: str) -> Any:
    column = pl.col(name)
    match kind:
        case "integer":
            return column.cast(pl.Int64)
        case "number":
            return column.cast(pl.Float64)
        case "date":
            return column.str.to_date()
        case "boolean":
            return column == "true"
    return column


def _explain(release: Release, format: Format) -> str:
    """Write the README that tells an analyst what the tables mean."""
    lines = [
        "# About this release",
        "",
        f"Made by {release.method}, to publish a table about people without telling about anyone.",
        "",
        "## What is promised",
        release.promise.guarantee,
        "",
        *(f"- {part} — {part.paper}" for part in release.promise.principle.parts),
        "",
        "## What is not protected",
        *(f"- {text}" for text in release.promise.leaves_open),
    ]
    kept = [a.name for a in release.schema.having(Role.OTHER)]
    if kept:
        lines.append(f"- {', '.join(kept)}: published unchanged, protected by nothing.")
    lines += ["", "## Tables"]
    for name, table in release.tables.items():
        lines += [f"`{name}.{format}`, {table.height} rows. {release.about.get(name, '')}", ""]
    lines += ["| attribute | role | type | how it is published |", "|---|---|---|---|"]
    for attribute in release.schema:
        recoding = release.recodings[attribute.name]
        lines.append(
            f"| {attribute.name} | {attribute.role} | {attribute.type} | "
            f"{explain_recoding(attribute.name, recoding.transformation)} |"
        )
    lines += [
        "",
        "An empty cell was missing in the source; nothing was suppressed.",
        "",
        f"`{MANIFEST}` says all this for programs (Frictionless data package). In Python: "
        '`import discreet as dc; dc.load("this folder").tables`.',
        "",
    ]
    return "\n".join(lines)


def explain_recoding(name: str, transformation: Transformation) -> str:
    """Say how an attribute is published."""
    return {
        Transformation.BATCHED: "counted in batches; each record refers to one",
        Transformation.EXACT: "exactly",
        Transformation.SLICED: "exactly, but shuffled with its column within each bucket",
        Transformation.SWAPPED: "exactly, but exchanged between people of near rank",
        Transformation.PERTURBED: "a person's own with some probability, else any of the domain",
        Transformation.PERMUTED: "exactly, but shuffled among the people of each group",
        Transformation.INTERVAL: f"as an interval; its ends are in `{name}_low` and `{name}_high`",
        Transformation.SET: f"as a set of values; `{MANIFEST}` lists what each label stands for",
    }[transformation]
