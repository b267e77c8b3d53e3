"""Slicing: correlated attributes stay together, the links between the rest are broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from discreet.errors import SchemaError, name_closest
from discreet.forms.sliced.tied import Tied, find_tied
from discreet.forms.sliced.wording import word_sliced
from discreet.principles.base import require_choice, require_whole
from discreet.publishing.backends import Backend
from discreet.publishing.draws import Draws
from discreet.publishing.method import Method, PartedRelease, Strictness, refuse_scale
from discreet.publishing.methods.boxes_in_parts import one_line
from discreet.publishing.methods.column_generalization import recode_columns, show_columns
from discreet.publishing.methods.slices_in_parts import (
    SlicedRecords,
    correlate_in_parts,
    is_possible_in_parts,
    pack_slices,
    slice_in_parts,
)
from discreet.publishing.partition import Partition, number_groups
from discreet.publishing.partitioners.columns import (
    Correlations,
    Similarity,
    choose_apart,
    choose_columns,
    correlate,
    move_out,
)
from discreet.publishing.partitioners.simulatable import (
    Resisted,
    drop_plain,
    split_simulatably,
)
from discreet.publishing.partitioners.slices import (
    is_possible,
    part_by,
    partition_as_printed,
    scatter_people,
    slice_people,
)
from discreet.release import Recoding, Release, name_own
from discreet.table.arrays import Ints
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import Microdata

TABLE, BUCKET = "sliced", "bucket"


@dataclass(frozen=True)
class Slicing(Method):
    """Part attributes into columns and people into buckets; shuffle each column in each bucket.

    Li, Li, Zhang, Molloy, TKDE 2012. ``columns`` is their number, found from correlations, or the
    columns themselves. What several of them list stays linked to the rest of each, for their pieces
    go together only if they agree on it; if all list it, buckets hold one value of it. With
    ``alpha`` the sensitive column has that many attributes; without, those found, as far as they do
    not give the sensitive value away. Several sensitive attributes stand in a column each, for
    which further columns are added where need be; or, if they may be told ``together``, in one.
    ``buckets`` is ``"mondrian"``, where every combination that matches does so in one bucket, or
    the size of random buckets, with more combinations that nobody has but more matches for members.
    ``check="paper"`` bounds p(t,s) as the paper does, which is not safe; see the audit.
    ``similarity="agreement"`` is for ratings: items stay together that people rated the same. With
    ``resist="method"`` columns are given, sensitive attributes stand in columns without others, and
    buckets are found by :mod:`discreet.publishing.partitioners.simulatable`, which has the proof:
    the values of a bucket are its people's in any order, as those of a group are.

    >>> import discreet as dc
    >>> frame = pl.DataFrame({"age": [22, 22, 33, 52, 54, 60, 60, 64], "sex": list("MFFFMMMF"),
    ...                       "zip": [47906, 47906, 47905, 47905, 47302, 47302, 47304, 47304],
    ...                       "disease": ["dyspepsia", "flu", "flu", "bronchitis",
    ...                                   "flu", "dyspepsia", "dyspepsia", "gastritis"]})
    >>> data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age", "sex", "zip"],
    ...                                       sensitive=["disease"]))
    >>> method = dc.Slicing(dc.FrequencyDiversity(2), columns=[["age", "sex"], ["zip", "disease"]])
    >>> release = dc.publish(data, method)
    >>> release.tables["sliced"].group_by("bucket").len()["len"].to_list()
    [2, 2, 2, 2]

    **Guarantee**: the principle holds, in every bucket, for the values of each sensitive attribute
    that stand beside each value of what is not sensitive in their column. So it holds for what an
    adversary believes who knows all quasi-identifiers of everyone, even the bucket, and even every
    sensitive attribute that stands in other columns; the proof is that of
    :class:`~discreet.publishing.partitioners.slices.Within`. Who knows one that stands in the same
    column is promised nothing about the others there. Each column is sorted in its bucket, so that
    nothing of people's rows is left; who is in which of random buckets comes from the operating
    system's generator.
    """

    title: ClassVar[str] = "slicing"
    form: ClassVar[str] = "sliced"
    paper: ClassVar[str] = "Li, Li, Zhang, Molloy: Slicing, IEEE TKDE 2012"

    columns: int | Sequence[Sequence[str]] = 2
    alpha: int | None = None
    buckets: Literal["mondrian"] | int = "mondrian"
    check: Strictness = "safe"
    similarity: Similarity = "contingency"
    frequency: int = 1
    together: bool = False
    resist: Resisted = "reader"

    def __post_init__(self) -> None:
        if isinstance(self.columns, list | tuple):
            if not all(isinstance(column, list | tuple) for column in self.columns):
                raise SchemaError(
                    f"columns = {self.columns!r}: give a number, or a list of lists.",
                    hint='For example columns = [["age", "sex"], ["zip", "disease"]].',
                )
            object.__setattr__(self, "columns", tuple(tuple(column) for column in self.columns))
            if self.alpha is not None:
                raise SchemaError("alpha goes with a number of columns, not with given ones.")
            if self.together:
                raise SchemaError(
                    "together goes with a number of columns, not with given ones.",
                    hint="List what may be told together in one column.",
                )
        else:
            require_whole("columns", self.columns)
        if self.alpha is not None:
            require_whole("alpha", self.alpha)
        require_whole("frequency", self.frequency)
        if self.buckets != "mondrian":
            require_whole("buckets", self.buckets, 2)
        require_choice("check", self.check, Strictness)
        require_choice("similarity", self.similarity, Similarity)
        if self.check == "paper" and self.buckets != "mondrian":
            raise SchemaError('check = "paper" goes with buckets = "mondrian".')
        require_choice("resist", self.resist, Literal["reader", "method"])
        if self.resist == "method":
            self._require_blind()

    def parameters(self) -> dict[str, object]:
        """How it was asked for is not published, only the columns that came out."""
        told = {"buckets": self.buckets, "check": self.check, "frequency": self.frequency}
        return drop_plain({**told, "resist": self.resist})

    @property
    def draws_groups(self) -> bool:
        """Where coins forbid some cuts."""
        return self.resist == "method"

    def _require_blind(self) -> None:
        """Refuse what follows from whose values are whose."""
        for name, plain in (("check", "safe"), ("buckets", "mondrian"), ("frequency", 1)):
            if getattr(self, name) != plain:
                raise SchemaError(
                    f'{name} = {getattr(self, name)!r} does not go with resist = "method".',
                    hint="Leave one of them out.",
                )
        if isinstance(self.columns, int):
            raise SchemaError(
                f'columns = {self.columns} does not go with resist = "method": columns that are '
                "found follow from whose values are whose.",
                hint="List the columns, and sensitive attributes in columns without others.",
            )

    def publish(self, data: Microdata, draws: Draws) -> Release:
        """Find columns and buckets, and sort every column by itself in each bucket."""
        if len(data.sensitive) > 1 and self.check == "paper":
            raise SchemaError(
                'check = "paper" takes one sensitive attribute: '
                f"{', '.join(data.sensitive)} given.",
                hint='Leave check out, or set check = "safe".',
            )
        columns, shared = self._find_columns(data)
        if self.resist == "method":
            _require_apart(columns, data.sensitive)
        data = data.sorted()  # what is drawn then does not depend on the order of the input
        shown = show_columns(data, columns, self.frequency)
        partition = part_by(
            shown.people,
            shared,
            lambda rows: self._part_people(
                data.taken(rows), shown.people.taken(rows), columns, draws
            ),
        )
        tied = find_tied(columns) or Tied()
        ranks = [shown.people.number(tied.order(column)) for column in columns]
        number = pl.Series(_name_bucket(data), number_groups(partition, ranks))
        table = _sort(shown.cells, ranks, number)
        return self._describe(data, columns, table, shown.recodings)

    def require_parts(self) -> None:
        """Only buckets that are split are found in parts, and columns that show what people are."""
        what = None
        if self.resist == "method":
            what = 'resist = "method"'
        elif self.check == "paper" or self.buckets != "mondrian":
            what = f"check = {self.check!r} and buckets = {self.buckets!r}"
        elif self.frequency > 1:
            what = f"frequency = {self.frequency}"
        elif self.similarity != "contingency":
            what = f"similarity = {self.similarity!r}"
        if what is not None:
            raise refuse_scale(f"Slicing with {what}")

    def publish_in_parts(self, backend: Backend) -> PartedRelease:
        """Find the same columns and buckets of rows that are elsewhere."""
        facts = backend.facts
        names = [a.name for a in facts.schema.published]
        rows, layout = pack_slices(backend, names)
        if isinstance(self.columns, int):
            columns = self._choose_columns(
                facts.sensitive,
                correlate_in_parts(facts, rows, layout),
                self.columns,
                lambda column: is_possible_in_parts(facts, rows, layout, self.principle, column),
            )
        else:
            columns, _ = self._read_columns(self.columns, names, facts.sensitive)
            given = [name for column in self.columns for name in column]
            for name in names:
                if given.count(name) > 1:
                    raise refuse_scale(f"Slicing with {name!r} in several columns")
        leaves = slice_in_parts(backend, rows, layout, self.principle, columns, TABLE)
        shown = [name for column in columns for name in column]
        series = [facts.domains[n].series().alias(n) for n in shown]
        records = SlicedRecords(series, _name_bucket(facts))
        sample = records(one_line(len(shown)), 0)[:0]
        release = self._describe(facts, columns, sample, recode_columns(facts, columns))
        return PartedRelease(release, {TABLE: (leaves, records)})

    def _describe(
        self,
        data: CodedTable,
        columns: list[list[str]],
        table: pl.DataFrame,
        recodings: dict[str, Recoding],
    ) -> Release:
        """Say of a table, which has all its columns if not its rows, what it is and promises."""
        promise, about = word_sliced(
            self.principle, columns, data.sensitive, self.frequency, self.check, _name_bucket(data),
            blind=self.resist == "method",
        )  # fmt: skip
        parameters = {**self.parameters(), "columns": [list(column) for column in columns]}
        return self.release(data, {TABLE: table}, recodings, about, promise, parameters=parameters)

    def _part_people(
        self,
        data: Microdata,
        shown: Microdata,
        columns: list[list[str]],
        draws: Draws,
    ) -> Partition:
        """Part people into buckets in the way asked for."""
        if self.check == "paper":
            if not data.sensitive or not data.quasi_identifiers:
                raise SchemaError('check = "paper" needs a sensitive attribute and others.')
            return partition_as_printed(data, self.principle, columns, shown)
        if self.resist == "method":
            return split_simulatably(data, self.principle.require_mixed(), draws)
        if self.buckets == "mondrian":
            return slice_people(data, self.principle, columns, shown)
        return scatter_people(shown, self.principle, columns, self.buckets, draws)

    def _find_columns(self, data: Microdata) -> tuple[list[list[str]], list[str]]:
        """Give the columns, sensitive ones last, and the attributes all of them share."""
        names = [a.name for a in data.schema.published]
        if not isinstance(self.columns, int):
            return self._read_columns(self.columns, names, data.sensitive)
        found = correlate(data, names, self.similarity)
        possible = partial(self._is_possible, data)
        return self._choose_columns(data.sensitive, found, self.columns, possible), []

    def _read_columns(
        self, asked: Sequence[Sequence[str]], names: list[str], sensitive: list[str]
    ) -> tuple[list[list[str]], list[str]]:
        """Give the columns that are asked for, and the attributes that stand in all of them.

        These are listed in the first column only: they are the same all over a bucket.
        """
        given = [name for column in asked for name in column]
        for name in given:
            if name not in names:
                raise SchemaError(
                    f"columns: there is no attribute {name!r}.", hint=name_closest(name, names)
                )
        missing = [name for name in names if name not in given]
        if missing or not all(asked):
            raise SchemaError(
                "columns: every attribute belongs to a column"
                + (f"; {missing[0]!r} to none." if missing else "."),
                hint="List each attribute.",
            )
        self._refuse_shared([name for name in names if given.count(name) > 1], sensitive)
        shared = [
            name for name in names if len(asked) > 1 and all(name in column for column in asked)
        ]
        columns = [list(column) for column in asked]
        for name in shared:
            for column in columns[1:]:
                column.remove(name)
        columns = [column for i, column in enumerate(columns) if not _is_within(columns, i)]
        return sorted(columns, key=lambda column: bool(set(column) & set(sensitive))), shared

    def _choose_columns(
        self,
        sensitive: list[str],
        found: Correlations,
        c: int,
        possible: Callable[[list[str]], bool],
    ) -> list[list[str]]:
        """Find columns from correlations; each sensitive attribute's, or one of all of them."""
        if len(sensitive) < 2:
            first = sensitive[0] if sensitive else None
            columns = choose_columns(found, c, sensitive=first, alpha=self.alpha)
        elif self.together:
            one, alpha = sensitive[0], self.alpha
            if alpha is not None:  # it counts all of them
                alpha = max(alpha - len(sensitive) + 1, 0)
            columns = choose_columns(found.merge(sensitive), c, sensitive=one, alpha=alpha)
            columns[-1] += sensitive[1:]
        else:
            columns = choose_apart(found, c, sensitive=sensitive, alpha=self.alpha)
        if self.alpha is None and sensitive and len(columns) > 1 and self.check == "safe":
            # what stands beside a sensitive value must not give it away
            told = 0
            while told < len(columns):
                here = set(columns[told])
                beside = here & set(sensitive) and here - set(sensitive)
                if beside and not possible(columns[told]):
                    before = len(columns)
                    columns = move_out(found, columns, told, sensitive)
                    told += len(columns) - before
                else:
                    told += 1
        return columns

    def _is_possible(self, data: Microdata, column: list[str]) -> bool:
        shown = show_columns(data, [column], self.frequency)
        return is_possible(shown.people, self.principle, [column])

    def _refuse_shared(self, shared: list[str], sensitive: list[str]) -> None:
        """Refuse what cannot be checked exactly, or not be put together column by column."""
        assert not isinstance(self.columns, int)
        some = []
        for name in shared:
            if name in sensitive:
                raise SchemaError(
                    f"columns: {name!r} is sensitive and in several columns. Their values could be "
                    "put together again by it.",
                    hint="List it in one column.",
                )
            if any(list(column).count(name) > 1 for column in self.columns):
                raise SchemaError(
                    f"columns: {name!r} is twice in one column.", hint="List it there once."
                )
            if any(name not in column for column in self.columns):
                some.append(name)
        for name in some[1:]:
            if any((name in column) != (some[0] in column) for column in self.columns):
                raise SchemaError(
                    f"columns: {some[0]!r} and {name!r} are in several columns, but not in the "
                    "same ones.",
                    hint="List both in the same columns, or one of them in one column or in all.",
                )
        if shared and self.frequency > 1:
            raise SchemaError(
                f"frequency = {self.frequency} is not kept where columns share {shared[0]!r}.",
                hint="List it in one column, or leave frequency out.",
            )
        if shared and self.check == "paper":
            raise SchemaError(
                'check = "paper" does not cover attributes in several columns.',
                hint="Leave check out, or list each attribute once.",
            )


def _is_within(columns: Sequence[Sequence[str]], i: int) -> bool:
    """Whether another column tells all that one does; of two that are alike, the first is kept."""
    held = {*columns[i]}
    others = ((j, {*other}) for j, other in enumerate(columns) if j != i)
    return any(held < other or (held == other and j < i) for j, other in others)


def _require_apart(columns: list[list[str]], sensitive: list[str]) -> None:
    """Refuse other attributes beside sensitive ones: how many have which is not known blindly."""
    for column in columns:
        beside = [name for name in column if name not in sensitive]
        if beside and len(beside) < len(column):
            raise SchemaError(
                f'columns: {beside[0]!r} stands beside what is sensitive, with resist = "method".',
                hint="List it in another column.",
            )


def _name_bucket(data: CodedTable) -> str:
    """Give the column of buckets, which gives way to attributes."""
    return name_own(BUCKET, data.schema.published.names)


def _sort(columns: list[pl.DataFrame], ranks: list[Ints], number: pl.Series) -> pl.DataFrame:
    """Write bucket after bucket; in each, every column by itself in the order of its values.

    Nothing is left of who had which values: the order follows from what the column holds.
    """
    made, high = [pl.DataFrame([number.sort()])], number.to_numpy().astype(np.int64) << 32
    seen: set[str] = set()
    for column, rank in zip(columns, ranks, strict=True):
        # what columns share they are sorted by first: it is the same in all of them
        made.append(column.drop(seen & {*column.columns})[np.argsort(high | rank)])
        seen.update(column.columns)
    return pl.concat(made, how="horizontal")
