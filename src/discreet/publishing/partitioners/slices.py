"""Slices: buckets of people within which columns may be shuffled apart.

Li, Li, Zhang, Molloy, TKDE 2012, section 4.3, with a condition that is safe (see ``Within``): the
paper's own can leave somebody's value certain to an adversary who knows everybody's
quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PromiseError
from discreet.principles.base import All, Feasibility, KernelRule, Principle, demands, ratio
from discreet.principles.diversity import FrequencyDiversity
from discreet.principles.groups import Groups
from discreet.publishing.draws import Draws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.histograms import histogram, holds, holds_whole
from discreet.publishing.partitioners.mondrian import mondrian
from discreet.table.arrays import Bools, Ints
from discreet.table.coded_table import CodedTable
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata, number_keys, pack_rows, representatives
from discreet.table.schema import Attribute, Role, Schema, Type


@dataclass(frozen=True)
class Within(Principle):
    """A principle of the sensitive values that go with each value of the rest of their column.

    Bags hold values of the whole sensitive column: pairs of a rest q and a sensitive value. Who
    knows everybody's quasi-identifiers, and even which bucket a person is in, takes the values
    beside the person's q in the bucket for equally likely, for nothing tells the people who share
    q apart. Of several buckets the belief is a mixture of such bags; so the principle must be one
    that mixtures keep (:attr:`Principle.mixture_safe`).

    With several sensitive attributes it is asked for each, beside what is not sensitive in its
    column. A world parts people into buckets and gives everybody of a bucket a piece of each of
    its columns that shows their q there. To a parting that fits, a column of a bucket adds as many
    ways as its n_q pieces beside every q can be given out, Π n_q!, whatever the other columns do.
    So columns say of buckets only who may be in them, all partings that fit are equally likely,
    and given the bucket the pieces of two columns are independent: the belief in either attribute
    is the mixture above. It stays one for somebody who knows the other attribute of everybody, if
    that stands in another column: it rules out partings, and no piece of this one. In the same
    column it rules out pieces, and nothing is promised.
    """

    title: ClassVar[str] = "within"
    paper: ClassVar[str] = "Li, Li, Zhang, Molloy: Slicing, IEEE TKDE 2012"
    monotone: ClassVar[bool] = True
    leaves_open: ClassVar[str] = ""

    inner: Principle
    column: SliceColumn

    def admits(self, groups: Groups) -> Bools:
        """Ask the principle about every part of every bag."""
        owners, parts = self.column.part(groups)
        good = np.ones(groups.count, dtype=bool)
        np.logical_and.at(good, owners, self.inner.admits(parts))
        return good

    def feasible(self, whole: Groups) -> Feasibility:
        """The whole table must satisfy it."""
        _, parts = self.column.part(whole)
        good = self.inner.admits(parts)
        if good.all():
            return Feasibility(True, "the whole table satisfies it")
        worst = int(np.flatnonzero(~good)[0])
        rest = self.column.word(int(self.column.rest[whole.codes[parts.offsets[worst]]]))
        best = self.inner.feasible(parts.take(worst)).best
        return Feasibility(False, f"of people with {rest}, {best}" if rest else best)

    def rules(self, whole: Groups) -> list[KernelRule] | None:  # noqa: ARG002
        """The same of every part; windows of near values take more than that."""
        from discreet.kernels.rules import COVER, PARTS

        rules, column = self.inner.rules(self.column.whole), self.column
        if not rules or any(rule.op == COVER for rule in rules):
            return None
        parts = np.concatenate([[len(column.rest)], column.rest, column.code])
        return [
            KernelRule(PARTS + rule.op, rule.a, rule.b, rule.c, np.append(parts, rule.table))
            for rule in rules
        ]

    @property
    def min_size(self) -> int:
        """As large as one part must be."""
        return self.inner.min_size

    @property
    def promise(self) -> str:
        """That of the principle."""
        return self.inner.promise

    def __str__(self) -> str:
        return str(self.inner)


@dataclass(frozen=True, eq=False)
class SliceColumn:
    """The values of the sensitive column, numbered rest by rest."""

    rest: Ints
    """Per value its rest."""
    code: NDArray[np.int32]
    """Per value its sensitive code."""
    whole: Groups
    word: Callable[[int], str]
    """Puts a rest into words."""

    def part(self, groups: Groups) -> tuple[Ints, Groups]:
        """Part bags of values by rest: which bag each part comes from, and the parts."""
        rest = self.rest[groups.codes]
        first = np.append(True, (np.diff(groups.owners) != 0) | (np.diff(rest) != 0))
        offsets = np.append(np.flatnonzero(first), len(rest))
        parts = Groups(
            offsets, self.code[groups.codes], groups.weights, self.whole.domain, self.whole.whole
        )
        return groups.owners[offsets[:-1]], parts


def slice_people(
    data: Microdata,
    principle: Principle,
    columns: Sequence[Sequence[str]],
    shown: Microdata | None = None,
) -> Partition:
    """Part people into buckets by Mondrian, under a principle within every sensitive column.

    ``shown`` has the same people as the table will show them, if not as they are.
    """
    joint, wanted = _look_within(shown or data, principle, columns)
    if shown is not None:
        known = data.quasi_identifiers
        joint = replace(
            joint,
            codes={**joint.codes, **{name: data.codes[name] for name in known}},
            domains={**joint.domains, **{name: data.domains[name] for name in known}},
        )
    return mondrian(joint, wanted, data.quasi_identifiers)


def part_by(data: Microdata, shared: Sequence[str], part: Callable[[Ints], Partition]) -> Partition:
    """Part the people of each value of some attributes by themselves.

    Overlapping slicing (section 9) has an attribute in two columns. Who reads both in a bucket
    joins them on it, and learns exactly what buckets of one value each would tell: the values of
    either column beside each of its values. So such buckets are made and checked instead.
    """
    if not shared:
        return part(np.arange(data.n))
    number = data.number(shared)
    labels, count = np.empty(data.n, dtype=np.int64), 0
    for rows in np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1]):
        try:
            made = part(rows)
        except PromiseError as error:
            words = _word(data, shared, rows[0])
            error.message = f"Of people with {words}: {error.message}"
            error.hint = f"{error.hint or ''} Or list {', '.join(shared)} in one column.".strip()
            raise
        labels[rows] = made.labels + count
        count += made.count
    return Partition.from_labels(labels)


def _word(data: Microdata, names: Sequence[str], row: int) -> str:
    """Say what values somebody has."""
    return ", ".join(f"{n} = {data.domains[n].texts[data.codes[n][row]]}" for n in names)


def is_possible(data: Microdata, principle: Principle, columns: Sequence[Sequence[str]]) -> bool:
    """Whether the whole table keeps a principle within some sensitive columns."""
    return holds_whole(*_look_within(data, principle, columns))


def scatter_people(
    data: Microdata,
    principle: Principle,
    columns: Sequence[Sequence[str]],
    size: int,
    draws: Draws,
) -> Partition:
    """Part people into buckets of one size at random; some take what is left over."""
    buckets = Partition.from_labels(draws.permutation(data.n) % max(1, data.n // size))
    joint, wanted = _look_within(data, principle, columns)
    if not holds(joint, buckets, wanted):
        raise PromiseError(
            f"{principle} is not kept by random buckets of {size}.",
            hint="Ask for larger buckets, for fewer attributes in the sensitive column (alpha), or "
            'for buckets = "mondrian".',
            subject=principle,
        )
    return buckets


def _look_within(
    data: Microdata, principle: Principle, columns: Sequence[Sequence[str]]
) -> tuple[Microdata, Principle]:
    """Give the table with values of the columns for sensitive ones, and what is asked of them.

    Each sensitive attribute is looked at by itself, beside what is not sensitive in its column.
    """
    made = {name: _join(data, rests, name) for name, rests in list_rests(data, columns).items()}
    wanted = ask_within(data, principle, {name: column for name, (_, column) in made.items()})
    if not data.sensitive:
        return data, wanted
    schema, domains = show_joint(data, {name: column for name, (_, column) in made.items()})
    codes = {name: data.codes[name] for name in data.quasi_identifiers}
    codes |= {name: own for name, (own, _) in made.items()}
    return replace(data, schema=schema, codes=codes, domains=domains), wanted


def list_rests(data: CodedTable, columns: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Give, of each sensitive attribute of some columns, what is not sensitive in its column."""
    return {
        name: [other for other in column if other not in data.sensitive]
        for column in columns
        for name in data.sensitive
        if name in column
    }


def ask_within(
    data: CodedTable, principle: Principle, joint: Mapping[str, SliceColumn]
) -> Principle:
    """Say what is asked of the values of sensitive columns, which are there for their attribute."""
    wanted = principle.require_mixed()
    asked = list(demands(wanted, data.sensitive))  # refuses to be about other attributes
    if not data.sensitive:
        return wanted
    return All(
        tuple(
            part if name is None else Within(part, joint[name], on=name)
            for part, name in asked
            if name is None or name in joint
        )
    )


def show_joint(
    data: CodedTable, joint: Mapping[str, SliceColumn]
) -> tuple[Schema, dict[str, Domain]]:
    """Give the schema and the domains of a table with values of columns for sensitive ones."""
    kept = [a for a in data.schema if a.role is Role.QUASI_IDENTIFIER]
    domains = {a.name: data.domains[a.name] for a in kept}
    made = []
    for name, column in joint.items():
        made.append(Attribute(name, Role.SENSITIVE, Type.CATEGORY))
        numbers = np.arange(len(column.rest)).astype(str).astype(object)
        domains[name] = Domain(made[-1], numbers)
    return Schema((*kept, *made)), domains


def _join(data: Microdata, rests: list[str], name: str) -> tuple[NDArray[np.int32], SliceColumn]:
    """Number the values of a sensitive attribute beside the rest of its column."""
    rest = data.number(rests)
    size = data.domains[name].size
    values, codes = number_keys(rest * size + data.codes[name])
    first = representatives(rest)
    made = SliceColumn(
        values // size, (values % size).astype(np.int32), histogram(data, name),
        lambda number: _word(data, rests, int(first[number])),
    )  # fmt: skip
    return codes.astype(np.int32), made


def partition_as_printed(
    data: Microdata,
    principle: Principle,
    columns: Sequence[Sequence[str]],
    shown: Microdata | None = None,
) -> Partition:
    """Part people as Figures 1 and 2 do, buckets weighed by their size.

    It bounds, in floating point, the belief of somebody who knows one person's quasi-identifiers.
    It is **not** safe against somebody who knows everybody's.
    """
    from discreet.kernels.slices import partition_tuples

    (name,) = data.sensitive
    if not isinstance(principle, FrequencyDiversity) or principle.values:
        raise PromiseError(
            f"The paper's check is about frequency-diversity with one l, not {principle}.",
            hint='Leave check out, or set check = "safe".',
            subject=principle,
        )
    known = data.quasi_identifiers
    spans = np.array([data.domains[n].size - 1 for n in known])
    shown = shown or data
    *others, rest = [shown.number([n for n in column if n != name]) for column in columns]
    others = others or [np.zeros(data.n, dtype=np.int64)]  # a column in which all are the same
    copies = np.bincount(others[0])
    if len(others) == 1:  # 0 is of what nobody else has, and others are numbered behind it
        number = np.where(copies > 1, np.cumsum(copies > 1), 0)
        others = [number[others[0]]]
    else:
        others = [value + 1 for value in others]
    copies = np.bincount(others[0], minlength=2)
    _, kind = number_keys(pack_rows([*others, rest], data.n))
    kinds = representatives(kind)
    kinds = kinds[others[0][kinds] > 0]
    of = np.stack([value[kinds] for value in others])
    starts = np.searchsorted(of[0], np.arange(len(copies) + 1))  # kinds are sorted by it
    codes = [data.codes[n] for n in known]
    told: list[NDArray[np.integer]] = [*codes, *others, rest, data.codes[name], np.arange(data.n)]
    rows = np.empty((data.n, len(told)), dtype=np.int32)
    for place, column in enumerate(told):
        rows[:, place] = column
    ends = partition_tuples(
        rows, spans, len(others), data.domains[name].size, int(rest.max()) + 1, of, rest[kinds],
        starts, copies, float(ratio(principle.l)),
    )  # fmt: skip
    if not len(ends):
        raise PromiseError(
            f"{principle} cannot be kept: even in one bucket of everybody it fails.",
            hint="Ask for a smaller l, or for fewer attributes in the sensitive column (alpha).",
            subject=principle,
        )
    return Partition(rows[:, -1].copy(), np.concatenate([[0], ends]))
