"""Several: exact records with several sensitive attributes, each treated by itself.

Every attribute is shuffled, exchanged or perturbed independently of the others, so that what a
release tells of one is what a release of that one alone would tell. *Proof.* Given the people, the
numbers shown of one attribute are drawn from its own numbers alone. So the likelihood of a table is
the product of those of its attributes, and worlds that give numbers to people are products, too:
the belief in an attribute of the person behind a record is that from this attribute alone. Where
people look the same, records show which numbers of two attributes stand side by side; a person's
belief then is a mixture over these records, as with one attribute. Who knows one attribute of
everybody learns which of such records is whose, at most, and no more of the other one than that
record tells. ∎ It takes that nobody knows which numbers of two attributes go together: who does
has two draws that tell of one thing, which every such release says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

import numpy as np

from discreet.errors import StoreError
from discreet.forms.base import View
from discreet.forms.disclosure import Disclosure, Observed, list_beside, merge_sets
from discreet.forms.estimates import Asked
from discreet.forms.matches import Matches
from discreet.forms.posterior import Posterior
from discreet.forms.records import ANY_VALUE, RecordView
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.release import Release, number_title
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.microdata import Microdata, representatives, row_ids


def choose_principle(release: Release, name: str) -> Principle:
    """Give what is promised of one attribute, which must be something."""
    parts = [p for p in release.promise.principle.parts if p.on in (None, name)]
    if not parts:
        raise StoreError(f"The release promises nothing of {name!r}.")
    return reduce(and_, parts)


def list_each(release: Release) -> list[list[str]]:
    """Give, per sensitive attribute, what is told together with it: all that is not sensitive."""
    secret = release.schema.sensitive
    return [[n for n in release.schema.names if n not in secret or n == each] for each in secret]


def project(release: Release, name: str, titles: Sequence[str], columns: Sequence[str]) -> Release:
    """Give the release as it would be with one of its sensitive attributes alone.

    ``titles`` are the tables, and ``columns`` the words for those of the first, that there are once
    for each; the first table itself is one for all. Parameters that are given by attribute are
    those of this one.
    """
    table, *others = titles
    sensitive = release.schema.sensitive
    place = sensitive.index(name)
    missing = [t for t in (number_title(o, place) for o in others) if t not in release.tables]
    lacking = [
        c for c in (release.own(number_title(o, place)) for o in columns)
        if table in release.tables and c not in release.tables[table].columns
    ]  # fmt: skip
    if table not in release.tables or missing or lacking:
        what = (missing or lacking or [table])[0]
        raise StoreError(f"The release tells {len(sensitive)} numbers, but has no {what!r}.")
    gone = [n for n in sensitive if n != name]
    numbers = [(c, i) for c in columns for i in range(len(sensitive)) if i != place]
    beside = [release.own(number_title(c, i)) for c, i in numbers]
    shown = release.tables[table].drop(*gone, *beside)
    shown = shown.rename({release.own(number_title(c, place)): release.own(c) for c in columns})
    parameters = {
        key: given[name] if isinstance(given, dict) and set(given) == set(sensitive) else given
        for key, given in release.parameters.items()
    }
    return replace(
        release,
        parameters=parameters,
        schema=release.schema.only([n for n in release.schema.names if n not in gone]),
        promise=replace(release.promise, principle=choose_principle(release, name)),
        tables={table: shown, **{o: release.tables[number_title(o, place)] for o in others}},
    )


def read_several(
    release: Release,
    titles: Sequence[str],
    columns: Sequence[str],
    read: Callable[[Release], list[View]],
    kind: type[SeveralView] | None = None,
) -> list[View]:
    """Read a release with each of its sensitive attributes alone, and put the views together."""
    names = release.schema.sensitive
    every = range(len(names))
    expected = {titles[0], *(number_title(t, i) for t in titles[1:] for i in every)}
    own = (release.own(number_title(c, i)) for c in columns for i in every)
    declared = {*release.columns, *own}
    if set(release.tables) != expected:
        raise StoreError(f"The release has the tables {list(release.tables)}.")
    table = release.tables[titles[0]]
    if set(table.columns) != declared:
        raise StoreError(f"The table {titles[0]!r} has undeclared columns, or lacks some.")
    if any(part.on not in (None, *names) for part in release.promise.principle.parts):
        raise StoreError("The release promises something of an attribute that it does not have.")
    alone: dict[str, RecordView] = {}
    for name in names:
        (view,) = read(project(release, name, titles, columns))
        assert isinstance(view, RecordView)
        alone[name] = view
    labels = row_ids([view.labels for view in alone.values()], table.height)
    return [(kind or SeveralView)(release, table, labels, alone)]


@dataclass(frozen=True, eq=False)
class SeveralView(RecordView):
    """Records by the groups that they are in for every sensitive attribute."""

    alone: dict[str, RecordView]
    """Per sensitive attribute the view of a release of it alone."""

    def _find(self, name: str) -> Ints:
        """Give, per group, the group that it is in for one attribute."""
        return np.asarray(self.alone[name].labels[representatives(self.labels)])

    def _read_bags(self, name: str) -> Groups:
        every = np.arange(self.count)
        bags = self.alone[name].bags(name)
        return bags.mix(self._find(name), every, np.ones_like(every), self.count)

    def admits(self, part: Principle, name: str | None) -> Bools:
        """Ask the view of the attribute."""
        if name is None:
            return super().admits(part, name)
        return np.asarray(self.alone[name].admits(part, name)[self._find(name)])

    def source_bags(self, name: str) -> tuple[Ints, Groups]:
        """A record's number is drawn as with the attribute alone."""
        return self.alone[name].source_bags(name)

    def posterior(self, matches: Matches, data: Microdata, name: str) -> Posterior:  # noqa: ARG002
        """Believe of an attribute what a release of it alone makes one believe."""
        view = self.alone[name]
        return view.posterior(view.match(data), data, name)

    def _compare_values(self, matches: Matches, data: Microdata) -> list[str]:  # noqa: ARG002
        return [
            text
            for view in self.alone.values()
            for text in view._compare_values(view.match(data), data)
        ]

    @property
    def dealing(self) -> View | None:
        """Every attribute has groups of its own."""
        return None

    def disclose(self, found: list[Matches], observed: Observed) -> Disclosure:
        """Give what each attribute tells; people who look the same are a set for all of them."""
        (matches,) = found
        hidden = observed.hidden
        told = [name for name in self.alone if name in hidden]
        beside = [n for n in hidden if n in self.table.columns and n not in self.alone]
        frames = [list_beside(matches, observed, beside)] if beside else []
        sets, set_of, records = np.arange(matches.count), matches.set_of, matches.records
        anything = [view.any_value for view in self.alone.values()]
        if not beside and not any(anything):
            sets, set_of, records = merge_sets(set_of, records, matches.only)
        for name in told:
            view = self.alone[name]
            alone = replace(matches, view=view, groups=self._find(name)[matches.groups])
            frames.append(view.list_told(alone, observed, name, sets))
        default = ANY_VALUE * records if any(anything) else None
        return Disclosure(set_of, records, frames, default)

    def estimate(self, asked: Asked) -> Floats:
        """Answer from the view of the attribute that is asked about."""
        mine = copy(asked)
        mine.view = self.alone[asked.told or next(iter(self.alone))]
        return mine.view.estimate(mine)
