"""Estimates: a release's answers to a whole workload at once, in memory.

The same as its answers in SQL: Σ over boxes of the share that a question covers × the values it
takes (ANGEL, Equation 8); over exact records, how many of a group it takes × the group's values.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.errors import SchemaError
from discreet.forms.base import View
from discreet.forms.workload import Workload, count_rows, take_known
from discreet.release import Release
from discreet.release.labels import read_codes, read_labels
from discreet.release.selection import Selection
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.microdata import Microdata

AT_ONCE = 50
"""So many questions are answered at a time, to bound memory."""


def estimate_counts(release: Release, data: Microdata, workload: Workload) -> Floats:
    """Estimate how many people each question is about, from a release.

    ``data`` is only asked for the domains that the workload is about.
    """
    return Estimator(release, data).estimate(workload)


class Estimator:
    """A release read once, for many questions."""

    def __init__(self, release: Release, data: Microdata) -> None:
        self.release, self.data = release, data

    def estimate(self, workload: Workload, number: str | None = None) -> Floats:
        """Estimate the count of every question or, given a sensitive ``number``, its sum."""
        schema = self.release.schema
        other = {*workload.takes, *([number] if number else [])} - {*schema.sensitive}
        if other - {*schema.quasi_identifiers} or number in other:
            raise SchemaError(
                "A workload is about quasi-identifiers and sensitive attributes, and sums these.",
                hint="Ask about other columns in SQL: release.query(...).",
            )
        for name in workload.takes:
            if schema[name].aggregate is not None and not self.release.recodings[name].is_blurred:
                raise SchemaError(
                    f"{name!r} is micro-aggregated: whom a question about it takes cannot be told.",
                    hint="Ask about other attributes, or round the column instead.",
                )
        wanted = {*workload.takes, *([number] if number else [])}
        views = [v for v in self.release.views if wanted <= {*v.release.schema.names}]
        if not views:
            raise SchemaError("No table of the release shows all attributes of the workload.")
        view = min(views, key=lambda v: len(v.release.schema.quasi_identifiers))
        return view.estimate(Asked(view, self.data, workload, number))


class Asked:
    """A workload, and the table that answers it."""

    def __init__(self, view: View, data: Microdata, workload: Workload, number: str | None) -> None:
        self.view, self.data, self.count = view, data, workload.count
        self.known = {
            name: takes
            for name, takes in workload.takes.items()
            if name in view.release.schema.quasi_identifiers
        }
        told = [name for name in workload.takes if name in view.release.schema.sensitive]
        self.told = number or (told[0] if told else None)
        """The sensitive attribute it is about, if any."""
        self.takes = workload.takes.get(self.told) if self.told else None
        self.also = {name: workload.takes[name] for name in told if name != self.told}
        """What is asked of further sensitive attributes."""
        if self.also and not view.answers_jointly:
            raise SchemaError(
                f"The workload is about {', '.join(told)}, which are not told together.",
                hint="Ask about one of them.",
            )
        self.numbers: Floats | None = None
        if number is not None:
            domain = data.domains[number]
            self.numbers = domain.numbers / 10**domain.decimals

    def weigh(self, questions: slice) -> Floats:
        """What a record of each code adds to some questions; the last row is of unknown codes."""
        assert self.told is not None
        size = self.data.domains[self.told].size
        wide = len(range(*questions.indices(self.count)))
        taken = np.ones((size + 1, wide)) if self.takes is None else (
            take_known(self.takes[questions]).astype(float))  # fmt: skip
        if self.numbers is not None:
            known = np.zeros(size + 1)
            known[: len(self.numbers)] = self.numbers
            taken = taken * known[:, None]
        return taken

    def hold(self, questions: slice) -> Floats:
        """What a record of each group adds to some questions on average."""
        assert self.told is not None
        bags = self.view.bags(self.told)
        code = self.data.domains[self.told].find(bags.domain.texts)[bags.codes]
        if self.also:
            return self._hold_jointly(questions)
        added = self.weigh(questions)[code] * bags.weights[:, None]
        return np.asarray(bags.sum(added) / bags.sizes[:, None])

    def _hold_jointly(self, questions: slice) -> Floats:
        """The same, where records show several sensitive attributes together."""
        assert self.told is not None
        shown = self.read_codes([self.told, *self.also])
        added = self.weigh(questions)[shown[self.told]]
        for name, takes in self.also.items():
            added = added * take_known(takes[questions])[shown[name]]
        found = np.zeros((self.view.count, added.shape[1]))
        np.add.at(found, self.view.labels, added)
        return found / self.view.sizes[:, None]

    def read_codes(self, names: list[str]) -> dict[str, Ints]:
        """What records show exactly, as codes of the microdata's domains."""
        view, domains = self.view, self.data.domains
        return {name: read_codes(view.release, view.table, name, domains[name]) for name in names}

    def count_groups(self, takes: dict[str, Bools], group: Ints, groups: int) -> list[Ints]:
        """Count the exact records of each group that every question takes, 64 at a time."""
        if takes:
            return list(count_rows(self.read_codes(list(takes)), takes, group, groups))
        sizes = np.bincount(group, minlength=groups)[:, None]
        return [np.repeat(sizes, min(64, self.count - i), axis=1) for i in range(0, self.count, 64)]


class Cover:
    """The labels that boxes show of an attribute, read once for many questions."""

    def __init__(self, asked: Asked, boxes: pl.DataFrame, name: str) -> None:
        self.domain = asked.data.domains[name]
        self.labels, self.number = read_labels(asked.view.release, boxes, name)

    def share_labels(self, takes: Bools) -> Floats:
        """Per label and question the share of the label's values that it takes."""
        hits, sizes = self.labels.share(Selection.list_from_codes(self.domain, takes))
        return np.asarray(hits / np.maximum(sizes, 1)[:, None])

    def share(self, takes: Bools) -> Floats:
        """The same per box."""
        return self.share_labels(takes)[self.number]
