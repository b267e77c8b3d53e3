"""Store: a release as a folder, written whole or not at all, and verified as bytes on disk."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import polars as pl

from discreet.errors import DAMAGED, MicrodataError, SchemaError, StoreError, visible
from discreet.files import (
    digest,
    drafting,
    place_folder,
    read_shared_mode,
    read_text,
    remove,
    replacing_in,
    resolve,
    settle,
    writing,
)
from discreet.release import Format, Release
from discreet.release.coarse_labels import refuse_finer_cells
from discreet.release.dictionary import ABOUT, refuse_unexplained, restore, tabulate
from discreet.release.formulas import ESCAPE
from discreet.release.manifest import (
    MANIFEST,
    OLDER,
    Manifest,
    describe,
    say_suppressed,
    understand,
)
from discreet.release.places import list_differences
from discreet.release.seals import Seal
from discreet.release.sound_cells import refuse_unsound_cells
from discreet.release.table_files import read_table, write_table
from discreet.table.coarsening import is_coarse
from discreet.table.schema import Role, Schema

README = "README.md"
MARKUP = re.compile(r"[\\`<>|&~]|\*(?=\S)|(?<=\S)\*|\](?=[(\[:])|(?<!\w)_|_(?!\w)")
IN_CSV = (
    "So that no spreadsheet that reads cells as separated by commas takes a text or the name of a "
    "column for a formula, those that begin "
    "with one of `= + - @` (or their wide forms, a tab or a line break) and are no numbers have "
    "an apostrophe in front, and so have those that begin with apostrophes and then like this. To "
    "have the values themselves, take away one apostrophe; `dc.load` does."
)
Approve = Callable[[Path, Release], None]
"""Takes a draft on disk, and what was read back from it."""


def write(
    release: Release,
    folder: Path,
    *,
    format: Format,
    overwrite: bool,
    approve: Approve | None = None,
    insecure: bool = False,
    spend: bool = False,
) -> Path:
    """Write to a temporary folder beside the target, verify it from disk, then rename it.

    ``approve`` is shown the draft before that, and may still raise. With ``spend`` the release
    gives up its tables once they are written, so that what is read back need not lie beside them.
    """
    from discreet.forms.verify import verify

    if format not in ("parquet", "csv"):
        raise StoreError(f"format = {format!r}: give 'parquet' or 'csv'.")
    refuse_insecure(release, insecure=insecure)

    def fill(draft: Path) -> None:
        _write_files(release, draft, format)
        if spend:
            release.tables.clear()
        written = load(draft)
        verify(written)
        if approve is not None:
            approve(draft, written)

    return fill_folder(folder, overwrite, fill)


def refuse_insecure(release: Release, *, insecure: bool) -> None:
    """Refuse a release that a seed decided, unless it is asked for as what it is."""
    if release.insecure and not insecure:
        raise StoreError(
            "This release was made with a seed: whoever guesses it can undo what protects people.",
            hint="Publish without insecure_seed. For a test, write it with insecure=True.",
        )


def copy(source: Path, folder: Path, *, overwrite: bool) -> Path:
    """Put a release that lies in one folder, and was verified there, into another, byte by byte."""

    def fill(draft: Path) -> None:
        for path in source.iterdir():
            shutil.copyfile(path, draft / path.name)
        settle(draft)
        if fingerprint(draft) != fingerprint(source):
            raise StoreError(f"{source}: was not copied as it is.", hint="Try again.")

    return fill_folder(folder, overwrite, fill)


def fingerprint(folder: Path) -> dict[str, str]:
    """Give the SHA-256 of every file in a folder, which must hold nothing else."""
    for path in folder.iterdir():
        if path.is_symlink() or not path.is_file():
            raise StoreError(
                f"{path}: is not a plain file, as everything in a release is.",
                hint="Get the release again from its publisher.",
            )
    return {path.name: digest(path) for path in sorted(folder.iterdir())}


def digest_release(folder: Path) -> str:
    """Give one SHA-256 for a whole release: of the names and digests of its files.

    ``LC_ALL=C; sha256sum * | sha256sum`` in the folder gives the same.
    """
    lines = "".join(f"{sha}  {name}\n" for name, sha in fingerprint(folder).items())
    return hashlib.sha256(lines.encode()).hexdigest()


def fill_folder(folder: Path, overwrite: bool, fill: Callable[[Path], None]) -> Path:
    """Put a release in place as a whole, once a draft of it beside its place is filled."""
    place = resolve(folder)  # where a link lies, what it points to is meant
    refuse_to_replace(place, overwrite=overwrite)
    with writing(folder), drafting(place, folder=True) as draft:
        mode = read_shared_mode(draft)
        fill(draft)
        draft.chmod(mode)  # a draft that is filled holds nothing else, not even for a moment
        with replacing_in(place.parent):
            _put_in_place(draft, place, overwrite)
            remove(draft)
    return folder.absolute()


def _put_in_place(draft: Path, folder: Path, overwrite: bool) -> None:
    try:
        # once more: much may have come into the folder since the first look
        refuse_to_replace(folder, overwrite=overwrite)
        place_folder(draft, folder, replace=overwrite)
    except FileExistsError:
        refuse_to_replace(folder, overwrite=overwrite)
        raise
    if draft.exists():  # and what came in at the very last moment is not removed with the rest
        try:
            refuse_to_replace(draft, overwrite=True)
        except StoreError:
            place_folder(draft, folder, replace=True)
            refuse_to_replace(folder, overwrite=True)
            raise


def refuse_to_replace(folder: Path, *, overwrite: bool) -> None:
    """Refuse a place for a release that holds anything but, with ``overwrite``, another one."""
    with suppress(OSError):  # there may be no folder to stand in
        if Path.cwd().is_relative_to(resolve(folder)):
            raise StoreError(
                f"{folder}: is the folder you stand in, and a release is put in place as a whole.",
                hint="Give the name of a folder in it, or go elsewhere.",
            )
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


def _write_files(release: Release, draft: Path, format: Format) -> None:
    seals = {name: write_table(table, draft, name, format)
             for name, table in release.tables.items()}  # fmt: skip
    heights = {name: table.height for name, table in release.tables.items()}
    write_words(release, draft, format, seals, heights)


def write_words(
    release: Release,
    draft: Path,
    format: Format,
    seals: Mapping[str, Sequence[Seal]],
    heights: Mapping[str, int],
) -> None:
    """Write what is said about tables whose files are written already: the manifest last."""
    dictionary = tabulate(release)
    sealed = {**seals, **{n: write_table(t, draft, n, format) for n, t in dictionary.items()}}
    rows = {**heights, **{title: table.height for title, table in dictionary.items()}}
    sizes = {title: (rows[title], len(sealed[title])) for title in sealed}
    (draft / README).write_text(_explain(release, dictionary, format, sizes), encoding="utf-8")
    settle(draft)
    manifest = describe(release, dictionary, format, sealed, ESCAPE if format == "csv" else None)
    (draft / MANIFEST).write_text(manifest.dump(), encoding="utf-8", newline="\n")
    settle(draft)


def load(folder: str | Path) -> Release:
    """Read a release from its folder, trusting nothing but the bytes there."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    release, stored = understand(manifest)
    tables = {name: read_table(folder, table) for name, table in stored.items()}
    if manifest.discreet.manifest == OLDER:
        release = replace(release, tables=tables)
    else:
        dictionary = {name: tables.pop(name) for name in ABOUT if name in tables}
        about = {name: text for name, text in release.about.items() if name not in ABOUT}
        recodings = restore(release, dictionary)
        release = replace(release, tables=tables, about=about, recodings=recodings)
    with _reading(folder):
        for name in release.schema.names:  # a word that nobody can explain hides what was done
            release.explain(name)
        refuse_unsound_cells(release)
        refuse_unexplained(release)
        refuse_finer_cells(release)
        release.views  # noqa: B018  what is not of its form is refused before it is asked
    return release


@contextmanager
def _reading(folder: Path) -> Iterator[None]:
    """Take what its form finds wrong with a release for damage, which its folder names."""
    try:
        yield
    except StoreError as error:
        error.hint = error.hint or DAMAGED
        raise
    except (SchemaError, MicrodataError) as error:
        raise StoreError(f"{folder}: {error.message}", hint=DAMAGED) from error


def load_schema(folder: str | Path) -> Schema:
    """Read only what the columns of a release are, not its tables."""
    return understand(read_manifest(Path(folder)))[0].schema


def read_manifest(folder: Path) -> Manifest:
    """Read what a release says about itself."""
    try:
        return Manifest.parse(read_text(folder / MANIFEST))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StoreError(
            f"{folder}: not a release: it has no {MANIFEST}.",
            hint="Give the folder that discreet wrote.",
        ) from error
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise StoreError(
            f"{folder}: its {MANIFEST} cannot be read ({why}).", hint=DAMAGED
        ) from error


def find_strangers(folder: Path) -> list[str]:
    """List what lies in a release's folder without being part of the release."""
    _, stored = understand(read_manifest(folder))
    known = {MANIFEST, README, *(path for table in stored.values() for path in table.paths)}
    return sorted(path.name for path in folder.iterdir() if path.name not in known)


def find_rewritten(folder: Path, release: Release) -> list[str]:
    """Name the fields of a manifest that nobody would write for the release that was read of it.

    Much stands there twice, for programs that know nothing of promises: names, roles, types.
    """
    manifest = read_manifest(folder)
    seals = {resource.name: resource.seals for resource in manifest.resources}
    sealed = {name: seal for name, seal in seals.items() if seal is not None}
    if manifest.discreet.manifest == OLDER or len(sealed) < len(seals):
        return []  # written otherwise
    format = "csv" if manifest.resources[0].paths[0].endswith(".csv") else "parquet"
    escape = manifest.resources[0].escape if format == "csv" else None  # older ones have none
    written = describe(release, tabulate(release), format, sealed, escape)
    places = list_differences(manifest.model_dump(), written.model_dump())
    return [f"{MANIFEST}: {place} is not what is written for such a release" for place in places]


def _plain(text: str) -> str:
    """Write names and values into Markdown so that they are shown as they are."""
    return MARKUP.sub(r"\\\g<0>", visible(" ".join(text.split("\n"))))


def _prose(text: str) -> str:
    """Write what a form says into Markdown, in which it calls columns by code."""
    return _plain(text).replace("\\`", "`")


def _explain(
    release: Release,
    dictionary: Mapping[str, pl.DataFrame],
    format: Format,
    sizes: Mapping[str, tuple[int, int]],
) -> str:
    """Write the README that tells an analyst what the tables mean."""
    lines = [
        "# About this release",
        "",
        f"Made by {release.method}, to publish a table about people without telling about anyone.",
        "",
        "## What is promised",
        _plain(release.promise.guarantee),
        "",
        *(f"- {_plain(str(part))} — {part.paper}" for part in release.promise.asked.parts),
        "",
        "## What is not protected",
        *(f"- {_plain(text)}" for text in release.promise.leaves_open),
    ]
    kept = release.schema.having(Role.OTHER)
    if kept:
        but = ", but for what is said below" if any(map(is_coarse, kept)) else ""
        names = ", ".join(_plain(a.name) for a in kept)
        lines.append(f"- {names}: published unchanged{but}, protected by nothing.")
    lines += ["", "## Tables"]
    about = {**release.about, **ABOUT}
    for name in (*release.tables, *dictionary):
        rows, files = sizes[name]
        where = f"`{name}.{format}`" if files == 1 else f"`{name}-….{format}` ({files} files)"
        lines += [f"{where}, {rows} rows. {_prose(about.get(name, ''))}", ""]
    lines += ["| attribute | role | type | how it is published |", "|---|---|---|---|"]
    for attribute in release.schema:
        lines.append(
            f"| {_plain(attribute.name)} | {attribute.role} | {attribute.type} | "
            f"{_prose(release.explain(attribute.name))} |"
        )
    lines += [
        "",
        f"An empty cell was missing in the source; {say_suppressed(release)}.",
        "",
        *([IN_CSV, ""] if format == "csv" else []),
        f"`{MANIFEST}` says all this for programs (Frictionless data package). In Python: "
        '`import discreet as dc; dc.load("this folder").tables`.',
        "",
    ]
    return "\n".join(lines)
