"""Form and View: what anyone can do with a release, whoever made it.

A form is how a release looks; its name stands in the manifest. A view is one table of a release as
everyone outside sees it: groups of people, and what may be true of each.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from discreet.errors import DAMAGED, QueryError, StoreError
from discreet.forms.adversaries import READ, Withstood
from discreet.forms.reading import read_values
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.release import PossibleRecords, Promise, Release, Transformation
from discreet.release.release import PartedTable
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.schema import Role

if TYPE_CHECKING:
    from sqlglot import exp

    from discreet.forms.crowds import Crowds, NamedValues
    from discreet.forms.disclosure import Disclosure, Observed
    from discreet.forms.estimates import Asked
    from discreet.forms.exposure import Fakes
    from discreet.forms.incomplete import Incomplete
    from discreet.forms.matches import Matches, Parts
    from discreet.forms.possibilities import Possibilities
    from discreet.forms.posterior import Posterior
    from discreet.forms.prepared import Index
    from discreet.sql.engines.duckdb import Embedded
    from discreet.sql.query import Query
    from discreet.table.microdata import Microdata

Statement = tuple["exp.Select", dict[str, pl.DataFrame]]
"""A question as one tree over the tables of a release, and what other tables it needs."""


@dataclass(frozen=True, eq=False)
class View(ABC):
    """The groups of one table of a release, as everyone outside sees them."""

    release: Release
    """The release, as far as this table shows it."""
    table: pl.DataFrame
    """One row per record."""
    labels: Ints
    """Per record its group."""

    max_own_value_lift: ClassVar[int | None] = 1
    """How many times as often as by chance people may show their own value; ``None`` where records
    show no value."""
    verifiable_alone: ClassVar[bool] = True
    """Whether the release alone tells what a group may hold; else only the microdata does."""
    holds_values: ClassVar[bool] = True
    """Whether groups hold values that are their people's."""
    deals_values: ClassVar[bool] = True
    """Whether the values of a group are one of each of its records, in any order."""
    shares_values: ClassVar[bool] = False
    """Whether groups share values, so that what one record has another group's has not."""
    answers_jointly: ClassVar[bool] = False
    """Whether workloads about several sensitive attributes at once are answered."""
    shows_whose: ClassVar[bool] = False
    """Whether a record shows a person beside the person's own values, as far as it shows them."""

    @property
    def width(self) -> tuple[int, int]:
        """How many sensitive attributes it tells of, and how many quasi-identifiers it shows."""
        schema = self.release.schema
        return len(schema.sensitive), len(schema.quasi_identifiers)

    @cached_property
    def count(self) -> int:
        """Number of groups."""
        return int(self.labels.max()) + 1

    @cached_property
    def records_here(self) -> Ints:
        """Records per group, those left out that are in other parts of a release."""
        return np.bincount(self.labels, minlength=self.count)

    @cached_property
    def sizes(self) -> Ints:
        """Records per group, those included that are elsewhere."""
        for bags in self.release.bags.values():
            return bags.sizes
        return self.records_here

    @property
    def counterfeits(self) -> Ints:
        """Per group how many of its records are nobody's, as the release says."""
        return np.zeros(self.count, dtype=np.int64)

    @property
    def nobodys(self) -> int:
        """How many records or values are nobody's."""
        return int(self.counterfeits.sum())

    @cached_property
    def people(self) -> Ints:
        """People per group: as many as records, but for those that are nobody's."""
        return self.sizes - self.counterfeits

    def bags(self, name: str | None) -> Groups:
        """Give what may be a group's values of a sensitive attribute; unnamed, its people only."""
        if name not in self._read:
            people = Groups.of_people(self.people)
            self._read[name] = people if name is None else self._read_bags(name)
        return self._read[name]

    @cached_property
    def _read(self) -> dict[str | None, Groups]:
        return {}

    def _read_bags(self, name: str) -> Groups:
        if name in self.release.bags:
            return self.release.bags[name]
        codes, domain, whole = read_values(self.release, self.table, name)
        return Groups.from_labels(self.labels, codes, domain, count=self.count, whole=whole)

    def list_shares(self) -> pl.DataFrame:
        """List what the records of a part add to groups that have others in other parts."""
        raise NotImplementedError

    def admits(self, part: Principle, name: str | None) -> Bools:
        """Say of each group whether a principle holds for it."""
        return part.admits(self.bags(name))

    def source_bags(self, name: str) -> tuple[Ints, Groups]:
        """Give, per record, the bag its value is drawn from; and these bags."""
        return self.labels, self.bags(name)

    @abstractmethod
    def match(self, data: Microdata) -> Matches:
        """Find, for every person of the microdata, the groups that may be theirs."""

    def match_parts(self, data: Microdata, parts: Parts) -> Matches:
        """Find them to who knows in which part everybody and every group is."""
        return self.match(data).parted(parts)

    def describe_crowd(self, people: int) -> str:
        """Say that nobody looks like fewer people than so many, who are all in the table."""
        if people <= 1:
            return "some people look like nobody else"
        return f"everyone looks like at least {people - 1} others"

    def word_check(self, part: Principle) -> str:
        """Say what was examined when a principle was."""
        return str(part)

    @property
    def smallest_count(self) -> int | None:
        """The smallest number in any table of counts that is published; ``None`` without such."""
        return None

    def hides(self, part: Principle, matches: Matches) -> Bools:
        """Say of each candidate set whether it hides people among enough others."""
        if part.reads_values:
            return matches.crowds >= part.look_alikes
        return part.admits(Groups.of_people(matches.crowds))

    def posterior(self, matches: Matches, data: Microdata, name: str) -> Posterior:
        """Give what the table makes an adversary think about a sensitive attribute of everyone."""
        from discreet.forms.posterior import Posterior

        return Posterior(matches, data, name)

    @abstractmethod
    def find_inconsistencies(self, matches: Matches, data: Microdata) -> list[str]:
        """Say where the table is not what the release says it made of this very microdata."""

    def list_notes(self, data: Microdata) -> list[str]:  # noqa: ARG002
        """Say what else is seen of it beside the microdata, and is nothing wrong."""
        return []

    @abstractmethod
    def disclose(self, found: list[Matches], observed: Observed) -> Disclosure:
        """Give what all tables of the release leave possible, this being the first of them."""

    @abstractmethod
    def estimate(self, asked: Asked) -> Floats:
        """Estimate the answers of many questions at once."""

    def count_possibilities(self, matches: Matches, name: str) -> int:  # noqa: ARG002
        """Count the lines that listing would take."""
        group, bags = self.source_bags(name)
        return int(bags.distinct[group].sum())

    def list_possibilities(self, matches: Matches, data: Microdata, name: str) -> Possibilities:  # noqa: ARG002
        """List what each record may have: rows are people's records, with a value of their bag."""
        from discreet.forms.possibilities import list_records

        return list_records(self, matches, name)

    def list_shown(self) -> tuple[pl.DataFrame, Ints]:
        """List what people show, and how many people each line is about."""
        return self.table, np.ones(self.table.height, dtype=np.int64)

    def place_people(self, matches: Matches) -> tuple[Ints, Ints]:
        """Number what records show in all, and give the number of everyone who has records."""
        from discreet.forms.matching import number_shown

        place = number_shown(self.release, self.table, self.release.schema.quasi_identifiers)
        return place, place[matches.shown_to(matches.set_of >= 0)]

    def density(self, data: Microdata, sensitive: str) -> Floats | None:  # noqa: ARG002
        """Give the probability of everyone's own values; ``None`` where cells must be listed."""
        return None

    def join(self, found: Sequence[Matches]) -> Matches | None:  # noqa: ARG002
        """Match everybody with what several tables of a release leave, this being the first.

        Those who look the same in all of them are a candidate set.
        """
        return None

    @property
    def dealing(self) -> View | None:
        """The groups that hold just their people's values, in any order; ``None`` without such."""
        return None

    def deal(self, found: Sequence[Matches]) -> Matches | None:
        """Match everybody with such groups by what all tables leave, this being the first.

        ``None`` where there are none, or tables are not put together.
        """
        return found[0] if len(found) == 1 and self.dealing is not None else None

    def count_fakes(self, data: Microdata) -> Fakes | None:  # noqa: ARG002
        """Count the combinations that match although nobody has them, where a form makes such."""
        return None

    def list_crowds(self, matches: Matches, people: Microdata) -> list[Crowds]:  # noqa: ARG002
        """Say among which people of a population its records are, once per way of telling."""
        from discreet.forms.crowds import gather_crowds

        return [gather_crowds(matches)]

    def bound_membership(self) -> float | None:
        """Bound how often a member is told from somebody else, where that is proven of it."""
        return None

    def list_named(self, matches: Matches, people: Microdata) -> list[NamedValues]:  # noqa: ARG002
        """List the values that it names, where these may be only what somebody in it has."""
        return []


class Form(ABC):
    """A way a release can look, and all that is known about reading it."""

    name: ClassVar[str]
    """As it stands in the manifest."""
    auxiliary: ClassVar[frozenset[str]] = frozenset()
    """Tables that follow from others. They carry no attribute, whatever their columns are called;
    of each there may be several, by their number."""
    transformations: ClassVar[dict[str, str]] = {}
    """What it does to attributes, other than blurring them or leaving them alone; in words."""
    methods: ClassVar[Mapping[str, Mapping[str, Sequence[object] | None]]] = {}
    """Who is known to make it: per method its parameters, and what each may be if few things.

    ``None`` among these: it may be left out.
    """
    optional: ClassVar[frozenset[str]] = frozenset()
    """Parameters that may be anything, or left out."""
    parted: ClassVar[tuple[PartedTable, ...]] = ()
    """The tables of a release that can be examined in parts, that of records first, by its words
    for their columns. None where it has to be seen whole."""
    scattered: ClassVar[bool] = False
    """Whether records that show the same may be in different parts: then they are sorted by it
    first, and what groups hold is told apart from them."""
    weight: ClassVar[int] = 1
    """So many times as much as in a table of boxes it takes to examine a record."""
    aggregates: ClassVar[frozenset[str]] = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX"})
    """What people can be aggregated by; ``QUANTILE`` besides, where it can be told."""
    beliefs: ClassVar[str] = ""
    """What the beliefs of an audit are not, if they are not those of whoever knows most."""
    coverage: ClassVar[str] = ""
    """What is taken for granted in estimates and errors of its answers, in words."""
    public_domains: ClassVar[bool] = False
    """Whether its domains always are what values can be, whoever is in the table."""
    shows_people: ClassVar[bool] = True
    """Whether its rows are of people; else it counts them, and nobody is found in it."""
    spreads_coarse: ClassVar[bool] = False
    """Whether it answers conditions that cut through what single values stand for, which were made
    coarser, and bounds their sums; else they do not reach it."""

    def find_parted(self, release: Release) -> tuple[PartedTable, ...]:
        """Give the tables of a release that can be examined in parts; none if it cannot be."""
        return tuple(replace(table, column=release.own(table.column)) for table in self.parted)

    def add_shares(self, lines: pl.DataFrame) -> pl.DataFrame:
        """Put what all parts add to some groups together."""
        raise NotImplementedError

    def may_overlap(self, release: Release) -> bool:  # noqa: ARG002
        """Whether groups of different numbers may be somebody's, who are then in one part."""
        return False

    def is_auxiliary(self, title: str) -> bool:
        """Whether a table follows from others, and carries no attribute."""
        return re.sub(r"_\d+$", "", title) in self.auxiliary

    @abstractmethod
    def views(self, release: Release) -> list[View]:
        """Read the groups, once per table that shows people; refuse what is not of this form."""

    @abstractmethod
    def rewrite(self, query: Query, release: Release) -> Statement:
        """Rewrite a question into one over the tables of the release, with bounds."""

    @abstractmethod
    def sample(self, release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw records from what the release stands for."""

    def reconstruct(self, release: Release, names: list[str]) -> pl.DataFrame:  # noqa: ARG002
        """Give the named attributes' values, each with a probability."""
        raise QueryError(
            f"A {self.name} release does not say how its values are distributed.",
            hint="Read its tables directly: release.tables.",
        )

    def tell_together(self, release: Release) -> list[list[str]]:
        """Give the attributes whose combinations it lists, in as many lists as it tells apart."""
        return [release.schema.names]

    def expect(self, release: Release, names: list[str], *, paired: bool = False) -> Statement:  # noqa: ARG002
        """List the combinations of some attributes that it leaves possible.

        The columns are these and ``weight``: sums over it are the estimates of questions. Paired,
        they say besides whose values may be whose (``expected.join_sides``), to be bounded by.
        """
        raise QueryError(
            f"A {self.name} release does not list what it leaves possible.",
            hint="Ask it with discreet query.",
        )

    def open_records(self, release: Release, names: list[str]) -> Incomplete:  # noqa: ARG002
        """Give the records with some attributes, and what is left open about each."""
        raise QueryError(
            f"A {self.name} release has no records that could be completed.",
            hint="Ask it in SQL: release.query(...).",
        )

    def index(self, release: Release, session: Embedded) -> Index | None:  # noqa: ARG002
        """Lay a release out for many questions, where there is a way faster than the engine's."""
        return None

    def explain(self, name: str, transformation: str) -> str:
        """Say how an attribute is published."""
        words = {
            Transformation.EXACT: "exactly",
            Transformation.INTERVAL: f"as an interval; its ends are in `{name}_low` and "
            f"`{name}_high`",
            Transformation.SET: "as a set of values, which the release lists for every label",
            **self.transformations,
        }
        if transformation not in words:
            raise StoreError(
                f"{name!r}: nothing in a {self.name} release is {transformation!r}.", hint=DAMAGED
            )
        return words[transformation]

    def transform(self, role: Role) -> str:  # noqa: ARG002
        """Give its word for what it does to attributes of a role that it does not blur."""
        return Transformation.EXACT

    def list_withstood(self, release: Release) -> Withstood:  # noqa: ARG002
        """Say against whom its promise holds; more than readers only where a form proves it."""
        return READ

    def word(self, release: Release) -> tuple[Promise, dict[str, str]] | None:  # noqa: ARG002
        """Put what a release promises into words, as whoever makes this form does.

        With what one row of each table is. ``None`` where a form brings no words of its own.
        """
        return None

    def find_odd_parameters(self, release: Release, data: Microdata) -> list[str]:  # noqa: ARG002
        """Say which parameters do not fit the tables, or the microdata they were made of."""
        return []

    def shown(self, release: Release) -> dict[str, list[str]]:
        """Per table that shows people: the quasi-identifiers it shows."""
        known = release.schema.quasi_identifiers
        return {
            title: [name for name in known if name in table.columns]
            for title, table in release.carriers.items()
        }

    def own_records(self, release: Release) -> pl.DataFrame | None:
        """Give the records that show people beside their own values, if it has such.

        Releases that show what is whose are joined by them.
        """
        view = release.views[0]
        return view.table if view.shows_whose else None

    def list_possible(self, release: Release, names: Collection[str]) -> PossibleRecords | None:
        """List the combinations of some attributes that it leaves possible, if it weighs them."""
        records = self.own_records(release)
        if records is None:
            if set(names) & set(release.schema.sensitive):
                return None
            records = release.views[0].table
        return PossibleRecords(records, np.ones(records.height, dtype=np.int64), own=True)

    def linked(self, release: Release) -> dict[str, list[str]]:
        """The same of the tables whose records lead to sensitive values."""
        return self.shown(release)

    def matched_by(self, release: Release) -> list[str]:
        """Give the attributes by which people are found in it."""
        return release.schema.quasi_identifiers

    def leave_out(self, release: Release, names: Collection[str]) -> Release:
        """Give the release as it is to somebody who knows nothing of some attributes."""
        lost = [column for name in names for column in release.recodings[name].columns(name)]
        narrower = {title: table.drop(c for c in lost if c in table.columns)
                    for title, table in release.carriers.items()}  # fmt: skip
        tables = {title: narrower.get(title, table) for title, table in release.tables.items()}
        kept = [name for name in release.schema.names if name not in names]
        return replace(release, tables=tables, schema=release.schema.only(kept))

    def add_known(self, release: Release, names: Collection[str]) -> Release:
        """Give the release as it is to somebody who knows some kept columns, too."""
        known = (replace(release.schema[name], role=Role.QUASI_IDENTIFIER) for name in names)
        return replace(release, schema=release.schema.changed(*known))
