"""Angelization: sensitive values in batches, quasi-identifiers in buckets, any marginals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import PromiseError, SchemaError, name_closest
from discreet.forms.batched.wording import word_batched
from discreet.principles import KAnonymity
from discreet.principles.base import Principle, require_choice, require_whole
from discreet.publishing.backends import Backend, ShowClasses
from discreet.publishing.draws import Draws
from discreet.publishing.method import Method, PartedRelease, refuse_scale
from discreet.publishing.methods.batches_in_parts import (
    BatchLabels,
    angelize_in_parts,
    count_told,
)
from discreet.publishing.methods.boxes import Ends, blur, open_presence
from discreet.publishing.methods.boxes_in_parts import label_in_parts
from discreet.publishing.methods.exact import part_alike, recode_exactly, take_exactly
from discreet.publishing.methods.marginals_in_parts import ReferringLabels
from discreet.publishing.partition import Partition, number_groups
from discreet.publishing.partitioners.balanced import (
    COUNTERFEITS,
    Counterfeits,
    tabulate_counterfeits,
)
from discreet.publishing.partitioners.batches import Batching, choose_batching, make_batches
from discreet.publishing.partitioners.histograms import require_names
from discreet.publishing.partitioners.mondrian import Categories, mondrian
from discreet.publishing.partitioners.regions import Region, find_regions
from discreet.release import Recoding, Release, name_own
from discreet.release.labels import rank_cells
from discreet.release.parts import JOINED
from discreet.table.arrays import Ints
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import Microdata, representatives, row_ids
from discreet.table.public_domain import widen
from discreet.table.schema import Role

BATCHES, GENERALIZED, BATCH, COUNT = "batches", "generalized", "batch", "count"


@dataclass(frozen=True)
class Angelization(Method):
    """Publish one table of batches, and per marginal one generalized table that refers to it.

    Tao, Chen, Xiao, Zhou, Zhang, TKDE. Batches satisfy the principle and may hold anybody; buckets
    hold at least ``k`` people near each other and are generalized to boxes without looking at the
    sensitive attribute. ``marginals`` lists quasi-identifiers, a table each; by default one table
    has them all. For ``batches`` see :mod:`discreet.publishing.partitioners.batches`; left out, it
    is ``direct`` where the principle allows, which answers questions best, else ``mondrian``.
    Several sensitive attributes share the batches, which keep the principle for each of them, by
    ``mondrian``; each is counted in a table of its own or, if they may be told ``together``, all in
    one. With ``k=1`` quasi-identifiers are published as they are, which must be asked for:
    ``exact=True``. For ``ends`` see :class:`Generalization`.

    >>> import discreet as dc
    >>> frame = pl.DataFrame({"age": [21, 23, 38, 40, 41, 43, 58, 60], "sex": list("MMFFMMFF"),
    ...                       "disease": (["pneumonia"] * 2 + ["bronchitis"] * 2) * 2})
    >>> data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age", "sex"],
    ...                                       sensitive=["disease"]))
    >>> release = dc.publish(data, dc.Angelization(dc.FrequencyDiversity(2), k=2))
    >>> sorted(release.tables["generalized"].select("age", "sex").unique().rows())
    [('[21, 23]', 'M'), ('[38, 40]', 'F'), ('[41, 43]', 'M'), ('[58, 60]', 'F')]
    >>> release.tables["batches"].group_by("batch").agg("disease").height
    4

    **Guarantee**: against an adversary who knows all quasi-identifiers of everyone, the belief in a
    person's sensitive value is a mixture of batches that satisfy the principle, from any of the
    tables and from all of them together, and a monotone principle then holds for the mixture
    (Theorem 1). Of several sensitive attributes this holds for each: a world puts everybody into a
    batch that the tables allow, and gives the values of the batch out to its n people, in n! ways
    per table of counts, whatever the batches are; so these tables say nothing of who is in which
    batch, and the belief in an attribute mixes what the batches hold of it. Tables of one attribute
    each are given out independently: who knows one attribute of everybody rules out batches, and
    believes another mixture of those left. Of attributes that are told together it rules out values
    as well, and nothing is promised. In each generalized table a person looks the same as at least
    ``k - 1`` others; **not** in all tables together, contrary to the paper's claim on presence.
    """

    title: ClassVar[str] = "angelization"
    form: ClassVar[str] = "batched"
    paper: ClassVar[str] = "Tao, Chen, Xiao, Zhou, Zhang: ANGEL, IEEE TKDE 2009"

    k: int = 10
    marginals: Sequence[Sequence[str]] | None = None
    batches: Batching | None = None
    categories: Categories = "set"
    exact: bool = False
    ends: Ends = "tight"
    together: bool = False

    @classmethod
    def nearest(cls, principle: Principle) -> Angelization:
        """Let its tables be k-anonymous, and its batches keep everything else."""
        alike, others = part_alike(principle)
        return cls(others, k=alike) if alike and others is not None else cls(principle)

    def __post_init__(self) -> None:
        require_whole("k", self.k)
        if self.marginals is not None:
            listed = isinstance(self.marginals, list | tuple) and all(
                isinstance(m, list | tuple) and all(isinstance(name, str) for name in m)
                for m in self.marginals
            )
            if not listed:
                raise SchemaError(
                    f"marginals = {self.marginals!r}: give a list of lists of column names."
                )
            kept = tuple(tuple(marginal) for marginal in self.marginals)
            object.__setattr__(self, "marginals", kept)
            if not kept:
                raise SchemaError("marginals is empty.", hint="Leave it out for one table of all.")
        if self.batches is not None:
            require_choice("batches", self.batches, Batching)
        require_choice("categories", self.categories, Categories)
        require_choice("ends", self.ends, Ends)
        if self.exact and self.ends != "tight":
            raise SchemaError(
                f"ends = {self.ends!r}: exact quasi-identifiers have no boxes.",
                hint="Leave it out, or give k of at least 2.",
            )
        if self.exact != (self.k == 1):
            raise SchemaError(
                f"k = {self.k} with exact = {self.exact}: with k = 1 quasi-identifiers are "
                "published as they are, and only then.",
                hint="Give k of at least 2; or, if anyone may know who is in the table, anatomy.",
            )

    def parameters(self) -> dict[str, object]:
        """The parameters besides the principle, as plain values."""
        marginals = None if self.marginals is None else [list(m) for m in self.marginals]
        return {**super().parameters(), "marginals": marginals}

    def publish(self, data: Microdata, draws: Draws) -> Release:
        """Make buckets per marginal, then batches, and write both down."""
        refuse_roles(data)
        marginals = self.read_marginals(data)
        if self.ends == "cuts":
            data = widen(data, trees=self.categories == "ancestor")
        data = data.sorted()  # what is drawn then does not depend on the order of the input
        wanted, alike = self._read_principle()
        buckets = [mondrian(data, alike, names, categories=self.categories) for names in marginals]
        widest = buckets[int(np.argmax([len(names) for names in marginals]))]
        how = self.batches or choose_batching(wanted, data)
        batches = make_batches(data, wanted, how, widest, draws)
        regions = None
        if self.ends == "cuts":
            regions = [find_regions(data, partition, names, self.categories, draws)
                       for names, partition in zip(marginals, buckets, strict=True)]  # fmt: skip
        return self.angelize(data, marginals, buckets, batches, regions)

    def _read_principle(self) -> tuple[Principle, Principle]:
        """Give what batches keep, and what buckets do: all that is said of look-alikes."""
        wanted = self.principle.require_mixed()
        if self.exact and self.principle.look_alikes > 1:
            raise PromiseError(
                f"{self.principle} cannot be kept: exact quasi-identifiers tell people apart.",
                hint="Use angelization with k, or a principle that does not count look-alikes.",
                subject=self.principle,
            )
        return wanted, KAnonymity(max(self.k, self.principle.look_alikes))

    @property
    def weight(self) -> int:
        """More where several marginals are put together."""
        return JOINED if self._joins_tables else super().weight

    @property
    def _joins_tables(self) -> bool:
        return self.marginals is not None and len(self.marginals) > 1

    def require_parts(self) -> None:
        """Only batches that are made region by region are."""
        what = None
        if self.batches == "anatomize":
            what = f"batches = {self.batches!r}"
        elif self.ends != "tight":
            what = f"ends = {self.ends!r}"
        elif self.exact and self._joins_tables:
            what = "several marginals of exact quasi-identifiers"
        if what is not None:
            raise refuse_scale(f"Angelization with {what}")

    def publish_in_parts(self, backend: Backend) -> PartedRelease:
        """Find the same buckets of rows that are elsewhere, and make batches along them."""
        facts = backend.facts
        refuse_roles(facts)
        wanted, alike = self._read_principle()
        marginals = dict(zip(_number(GENERALIZED), self.read_marginals(facts), strict=False))
        told = dict(zip(_number(BATCHES), self._list_told(facts), strict=False))
        leaves = angelize_in_parts(
            backend, alike, wanted, self.batches or choose_batching(wanted, facts), marginals, told,
            self.categories, exact=self.exact,
        )  # fmt: skip
        batches = leaves[BATCHES].count_classes()
        starts = np.cumsum(batches) - batches
        values = {name: facts.domains[name].series().alias(name) for name in facts.domains}
        batch, often = _name_own(marginals, facts)
        number, whole = pl.Series(batch, [], pl.Int32), pl.Series(often, [], pl.Int64)
        tables: dict[str, pl.DataFrame] = {}
        shows: dict[str, ShowClasses] = {}
        recodings: dict[str, Recoding] = {}
        for title, names in told.items():
            tables[title] = pl.DataFrame([number, *(values[name][:0] for name in names), whole])
            shows[title] = BatchLabels([values[name] for name in names], batch, often)
        for title, names in marginals.items():
            exact, boxes = [values[name] for name in names], None
            sample, made = pl.DataFrame([v[:0] for v in exact]), recode_exactly(facts, names)
            if not self.exact:
                boxes, sample, made = label_in_parts(
                    backend, leaves[title], names, [], self.categories, batch, recodings
                )
                sample = sample.drop(batch)
            recodings |= made
            tables[title] = sample.with_columns(number)
            shows[title] = ReferringLabels(boxes, exact, starts, batch)
        release = self._describe(facts, tables, marginals, list(told.values()), recodings)
        return PartedRelease(release, {t: (leaves[t], shows[t]) for t in tables})

    def _list_told(self, data: CodedTable) -> list[list[str]]:
        """Give the sensitive attributes of every table of batches."""
        return [data.sensitive] if self.together else [[name] for name in data.sensitive]

    def angelize(
        self,
        data: Microdata,
        marginals: list[list[str]],
        buckets: list[Partition],
        batches: Partition,
        regions: Sequence[dict[str, Region]] | None = None,
        fakes: Counterfeits | None = None,
    ) -> Release:
        """Write down one batch partitioning, and a bucket partitioning per marginal (section 3.2).

        Any of them determine an angelization; that they keep the promise is the caller's. With
        ``regions``, one per marginal, boxes end at cuts. ``fakes`` are values of nobody.
        """
        told = self._list_told(data)
        recodings: dict[str, Recoding] = {}
        kinds, ranks = [], []  # what may be shown, in order, and which of it everyone shows
        for place, (names, partition) in enumerate(zip(marginals, buckets, strict=True)):
            if self.exact:
                ranks.append(data.number(names))
                columns, made = take_exactly(data.taken(representatives(ranks[-1])), names)
                kinds.append(pl.DataFrame(columns))
            else:
                region = None if regions is None else regions[place]
                boxes, made = blur(data, partition, names, self.categories, recodings, region)
                rank = row_ids([rank_cells(boxes, n, made[n]) for n in names], partition.count)
                ranks.append(rank[partition.labels])
                kinds.append(boxes[representatives(rank)])
            recodings.update(made)
        number = number_groups(batches, [*ranks, *(data.number(names) for names in told)])
        shown = dict(zip(_number(GENERALIZED), marginals, strict=False))
        own = _name_own(shown, data)
        held, numbers = data, number
        if fakes is not None:
            held, numbers = fakes.added(data, data.sensitive[0]), fakes.numbered(batches, number)
        tables = {title: _tabulate(held, names, numbers, own)
                  for title, names in zip(_number(BATCHES), told, strict=False)}  # fmt: skip
        for place, title in enumerate(shown):
            tables[title] = _refer(kinds[place], ranks[place], number, own[0])
        if held.n > data.n:
            names = [*data.quasi_identifiers, *data.sensitive]
            tables[COUNTERFEITS] = tabulate_counterfeits(numbers[data.n :], own[0], names)
        return self._describe(data, tables, shown, told, recodings)

    def _describe(
        self,
        data: CodedTable,
        tables: dict[str, pl.DataFrame],
        shown: dict[str, list[str]],
        told: list[list[str]],
        recodings: dict[str, Recoding],
    ) -> Release:
        """Say of tables, which have all their columns if not their rows, what they promise."""
        batched = {name: Recoding("batched", missing=data.domains[name].missing)
                   for name in data.sensitive}  # fmt: skip
        promised = self.principle if self.exact else KAnonymity(self.k) & self.principle
        presence = open_presence(data, self.ends)
        own = _name_own(shown, data)
        fakes = tables.get(COUNTERFEITS)
        promise, about = word_batched(
            promised, shown, told, presence, own, exact=self.exact,
            counterfeits=0 if fakes is None else int(fakes.to_series(1).sum()),
        )  # fmt: skip
        return self.release(data, tables, recodings | batched, about, promise)

    def read_marginals(self, data: CodedTable) -> list[list[str]]:
        """Give the quasi-identifiers of each table, in the schema's order."""
        known = data.quasi_identifiers
        require_names(known)
        found = []
        for marginal in [known] if self.marginals is None else self.marginals:
            names = [name for name in marginal if name not in data.sensitive]
            for name in names:
                if name not in known:
                    raise SchemaError(
                        f"{name!r} in marginals is not a quasi-identifier.",
                        hint=name_closest(name, known),
                    )
            chosen = [name for name in known if name in names]
            if not chosen or len(chosen) < len(names) or chosen in found:
                raise SchemaError(
                    f"The marginal {list(marginal)} is empty, or names something twice.",
                    hint="Give each marginal once, as a list of quasi-identifiers.",
                )
            found.append(chosen)
        return found


@dataclass(frozen=True)
class Anatomy(Method):
    """Publish exact quasi-identifiers with a batch, and the sensitive values of each batch.

    Xiao, Tao, VLDB 2006; the case ``k = 1`` of :class:`Angelization`, by the same code.

    >>> import discreet as dc
    >>> frame = pl.DataFrame({"age": [21, 23, 38, 40], "disease": ["flu", "flu", "gout", "gout"]})
    >>> data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age"],
    ...                                       sensitive=["disease"]))
    >>> release = dc.publish(data, dc.Anatomy(dc.FrequencyDiversity(2)))
    >>> release.tables["generalized"]["age"].to_list()
    [21, 23, 38, 40]

    **Guarantee**: whoever knows all quasi-identifiers of a person believes in sensitive values as
    the person's batch holds them, and the batch satisfies the principle, for each sensitive
    attribute. It does not hide who is in the table.
    """

    title: ClassVar[str] = "anatomy"
    form: ClassVar[str] = "batched"
    paper: ClassVar[str] = "Xiao, Tao: Anatomy, VLDB 2006"

    batches: Batching | None = None
    together: bool = False

    @classmethod
    def nearest(cls, principle: Principle) -> Anatomy:
        """Leave out how many look alike: exact quasi-identifiers tell people apart."""
        _, others = part_alike(principle)
        return cls(principle if others is None else others)

    def __post_init__(self) -> None:
        self._angelization()

    def _angelization(self) -> Angelization:
        return Angelization(
            self.principle, k=1, batches=self.batches, exact=True, together=self.together
        )

    def publish(self, data: Microdata, draws: Draws) -> Release:
        """Angelize with k = 1."""
        release = self._angelization().publish(data, draws)
        return replace(release, method=self.title, parameters=self.parameters())

    def require_parts(self) -> None:
        """As for any angelization."""
        self._angelization().require_parts()

    def publish_in_parts(self, backend: Backend) -> PartedRelease:
        """Angelize rows that are elsewhere with k = 1."""
        made = self._angelization().publish_in_parts(backend)
        release = replace(made.release, method=self.title, parameters=self.parameters())
        return replace(made, release=release)


def _number(title: str) -> Iterator[str]:
    """Name tables of a kind: the first by that, others by their number as well."""
    yield title
    yield from (f"{title}_{place}" for place in count(2))


def _name_own(shown: Mapping[str, list[str]], data: CodedTable) -> tuple[str, str]:
    """Give the columns of batches and of counts, which give way to attributes that are shown."""
    names = [name for some in (*shown.values(), data.sensitive) for name in some]
    return name_own(BATCH, names), name_own(COUNT, names)


def refuse_roles(data: CodedTable) -> None:
    """Refuse columns for which batches and boxes have no place."""
    others = [a.name for a in data.schema.having(Role.OTHER) if a.keep]
    if not data.sensitive:
        raise SchemaError(
            "Batches hold sensitive values, but no column is sensitive.",
            hint='Set role = "sensitive" for a column.',
        )
    if others:
        raise SchemaError(
            f"Column {others[0]!r} is neither a quasi-identifier nor sensitive; there is no table "
            "for it here.",
            hint="Give it one of these roles, or leave it out: keep = false.",
        )


def _tabulate(
    data: Microdata, names: list[str], number: NDArray[np.int32], own: tuple[str, str]
) -> pl.DataFrame:
    """Count the sensitive values of each batch, or what people have of several together."""
    batch, rows, counts = count_told(data, names, number)
    return pl.DataFrame(
        {
            own[0]: batch.astype(np.int32),
            **{name: data.domains[name].series().gather(data.codes[name][rows]) for name in names},
            own[1]: counts.astype(np.int64),
        }
    )


def _refer(kinds: pl.DataFrame, ranks: Ints, number: NDArray[np.int32], own: str) -> pl.DataFrame:
    """One row per person: a box or exact values, and the batch; rows in the order of these."""
    # both in one number: sorting numbers is far faster than sorting rows
    keys = ranks << 32 | number
    keys.sort()
    batch = pl.Series(own, (keys & 0xFFFFFFFF).astype(np.int32))
    return kinds.select(pl.all().gather(keys >> 32)).with_columns(batch)
