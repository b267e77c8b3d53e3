"""Series: several releases of a table that changes, asked as one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from discreet.errors import QueryError, StoreError
from discreet.release.manifest import MANIFEST
from discreet.release.release import Release
from discreet.release.store import load
from discreet.table.coarsening import is_coarse
from discreet.table.schema import Attribute, Role, Schema, Type

if TYPE_CHECKING:
    from discreet.forms.asking import Answer
    from discreet.forms.prepared import Prepared

COLUMN = "release"
MOST_DIGITS = 18
"""Longer names of releases are texts: 64 bits do not hold all of them as numbers."""
"""What the column that names the release is called, unless somebody says otherwise."""


class Series:
    """Releases under their names, which are asked as the table ``releases``.

    It has one column more than they have, ``by``, which tells the release. Where all names are
    whole numbers, so is the column.

    >>> import discreet as dc
    >>> data = dc.datasets.census(300, sensitive=["income"])
    >>> release = dc.publish(data, dc.Permutation(dc.KE(k=5, e=1000)))
    >>> series = dc.Series({"2024": release, "2025": release}, by="year")
    >>> series.query("SELECT COUNT(*) FROM releases WHERE year >= 2025").estimate
    300
    """

    def __init__(self, releases: Mapping[str, Release], by: str = COLUMN) -> None:
        if not releases:
            raise StoreError("There is no release.", hint="Give one folder or more.")
        self.releases = {str(name): release for name, release in releases.items()}
        self.by = by
        numbers = all(_is_whole(name) for name in self.releases)
        kind = Type.INTEGER if numbers else Type.CATEGORY
        self._column = Attribute(by, Role.OTHER, kind)
        for name, release in self.releases.items():
            if by.casefold() in {known.casefold() for known in release.schema.names}:
                raise StoreError(
                    f"{name} has an attribute {by!r} itself.",
                    hint="Call the column that tells the release otherwise: by = …",
                )

    def __len__(self) -> int:
        return len(self.releases)

    def __iter__(self) -> Iterator[str]:
        return iter(self.releases)

    def __getitem__(self, name: str | int) -> Release:
        return self.releases[str(name)]

    def __repr__(self) -> str:
        count = len(self.attributes)
        return f"Series of {len(self)} releases by {self.by}: {self.listed}; {count} attributes"

    @property
    def listed(self) -> str:
        """The names of the releases, for people."""
        return ", ".join(self.releases)

    @property
    def values(self) -> pl.Series:
        """What stands in the column that tells the release, of each."""
        names = pl.Series(self.by, list(self.releases), dtype=pl.String)
        return names.cast(pl.Int64) if self._column.type is Type.INTEGER else names

    @property
    def attributes(self) -> pl.DataFrame:
        """Every attribute, and its type in each release that has it."""
        types = {
            name: [str(held[a].type) if a in held.names else None for a in self._names]
            for name, held in self._schemas.items()
        }
        return pl.DataFrame({"attribute": self._names, **types}, schema_overrides=dict.fromkeys(
            types, pl.String))  # fmt: skip

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables of all releases, under names that none has twice."""
        return {
            title: release.tables[own]
            for name, release in self.releases.items()
            for own, title in name_tables(release.tables, name).items()
        }

    @property
    def shown(self) -> list[str]:
        """The tables that show people."""
        return [title for name, release in self.releases.items()
                for title in name_tables(release.shown, name).values()]  # fmt: skip

    @property
    def _schemas(self) -> dict[str, Schema]:
        return {name: release.schema for name, release in self.releases.items()}

    @cached_property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for held in self._schemas.values() for name in held.names))

    @cached_property
    def schemas(self) -> list[Schema]:
        """What the columns of all releases are: as most say, then as each of them says.

        There are several only where releases do not agree.
        """
        common = {}
        for name in self._names:
            told = [held[name] for held in self._schemas.values() if name in held.names]
            common[name] = max(told, key=lambda a: sum(fits(other, a) for other in told))
        found = [common]
        for held in self._schemas.values():
            if not all(fits(a, common[a.name]) for a in held):
                found.append({**common, **{a.name: a for a in held}})
        return [Schema((self._column, *chosen.values())) for chosen in found]

    def query(
        self,
        sql: str,
        *,
        engine: str | None = None,
        tables: Mapping[str, pl.DataFrame] | None = None,
    ) -> Answer:
        """Answer a question in SQL about the table ``releases``, with bounds.

        ``engine`` and ``tables`` are those of :meth:`Release.query`.
        """
        from discreet.forms.asking import ask

        return ask(self, sql, engine, tables)

    def prepare(
        self, *, engine: str | None = None, tables: Mapping[str, pl.DataFrame] | None = None
    ) -> Prepared:
        """Hold all releases ready for many questions."""
        from discreet.forms.prepared import Prepared

        return Prepared(self, engine, tables)


def name_tables(titles: Mapping[str, object], release: str) -> dict[str, str]:
    """Give the tables of a release, by their names there, names that no other release has."""
    return {title: f"{title} {release}" for title in titles}


def fits(own: Attribute, meant: Attribute) -> bool:
    """Whether an attribute as one release has it can be read as what it is said to be.

    Whole numbers are numbers, an order may have values that a release does not, and what was made
    coarser is asked as such everywhere.
    """
    if is_coarse(own) and not is_coarse(meant):
        return False
    if own.type is Type.ORDINAL and meant.type is Type.ORDINAL:
        rest = iter(meant.order)
        return all(value in rest for value in own.order)
    return own.type is meant.type or (own.type, meant.type) == (Type.INTEGER, Type.DECIMAL)


def load_series(
    folders: Mapping[str, str | Path] | Sequence[str | Path] | str | Path, by: str = COLUMN
) -> Series:
    """Read releases of one table: folders by name, folders, or a folder that holds them.

    Without names of their own they are called as their folders. ``by`` names the column that tells
    the release.
    """
    if isinstance(folders, Mapping):
        named = {str(name): Path(folder) for name, folder in folders.items()}
    else:
        alone = isinstance(folders, str | Path)
        listed = find_releases(Path(folders)) if alone else [Path(f) for f in folders]  # type: ignore[arg-type,union-attr]
        named = {}
        for folder in listed:
            name = folder.resolve().name
            if name in named:
                raise StoreError(
                    f"{named[name]} and {folder} are both called {name!r}.",
                    hint='Name them: {"2024": "folder", …}.',
                )
            named[name] = folder
        if alone and not named:
            raise StoreError(
                f"{folders}: holds no release.",
                hint="Give a folder that holds releases.",
            )
    return Series({name: load(folder) for name, folder in named.items()}, by)


def load_published(folder: Path, by: str | None = None) -> Release | Series:
    """Read a release, or all that a folder holds."""
    if find_releases(folder):
        return load_series(folder, by or COLUMN)
    release = load(folder)
    if by is not None:
        raise QueryError(
            f"--by {by}: {folder} is one release.", hint="Give a folder that holds several."
        )
    return release


def find_releases(folder: Path) -> list[Path]:
    """List the releases that a folder holds, by name; numbers by what they are."""
    if not folder.is_dir() or (folder / MANIFEST).exists():
        return []
    found = [path for path in folder.iterdir() if (path / MANIFEST).is_file()]
    if all(_is_whole(path.name) for path in found):
        return sorted(found, key=lambda path: int(path.name))
    return sorted(found)


def _is_whole(name: str) -> bool:
    """Whether a name is a whole number as it is written; 01 is a code."""
    digits = name.removeprefix("-")
    return digits.isdecimal() and len(digits) <= MOST_DIGITS and str(int(name)) == name
