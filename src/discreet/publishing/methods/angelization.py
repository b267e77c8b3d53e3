"""Angelization: sensitive values in batches, quasi-identifiers in buckets, any marginals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from discreet.errors import PromiseError, SchemaError
from discreet.forms.batched.wording import word_batched
from discreet.principles import KAnonymity
from discreet.principles.base import Principle, require_choice, require_whole
from discreet.publishing.backends import Backend, ShowClasses
from discreet.publishing.draws import Draws
from discreet.publishing.method import Method, PartedRelease, refuse_scale
from discreet.publishing.methods.batch_tables import refer_to_batches, tabulate_told
from discreet.publishing.methods.batches_in_parts import BatchLabels, angelize_in_parts
from discreet.publishing.methods.boxes import Ends, blur, open_presence
from discreet.publishing.methods.boxes_in_parts import label_in_parts
from discreet.publishing.methods.exact import part_alike, recode_exactly, take_exactly
from discreet.publishing.methods.marginal_choice import (
    choose_marginals,
    read_names,
    require_lists,
)
from discreet.publishing.methods.marginals_in_parts import ReferringLabels
from discreet.publishing.partition import Partition, number_groups
from discreet.publishing.partitioners.balanced import (
    COUNTERFEITS,
    Counterfeits,
    tabulate_counterfeits,
)
from discreet.publishing.partitioners.batches import Batching, choose_batching, make_batches
from discreet.publishing.partitioners.blind_batches import (
    choose_blind_batching,
    make_blind_batches,
)
from discreet.publishing.partitioners.histograms import require_names
from discreet.publishing.partitioners.learned_models import VisibleLabels, show_exactly
from discreet.publishing.partitioners.learning import require_limits, require_one, resist_learning
from discreet.publishing.partitioners.mondrian import Categories, mondrian
from discreet.publishing.partitioners.regions import Region, find_regions
from discreet.publishing.partitioners.simulatable import Resisted, drop_plain
from discreet.release import Recoding, Release, name_own
from discreet.release.labels import rank_cells
from discreet.release.parts import JOINED
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import Microdata, representatives, row_ids
from discreet.table.public_domain import widen
from discreet.table.schema import Role

BATCHES, GENERALIZED, BATCH, COUNT = "batches", "generalized", "batch", "count"
PROJECTION = "projection"
AUTO = "auto"
"""Marginals are chosen: see ``marginal_choice``."""


@dataclass(frozen=True)
class Angelization(Method):
    """Publish one table of batches, and per marginal one generalized table that refers to it.

    Tao, Chen, Xiao, Zhou, Zhang, TKDE. Batches satisfy the principle and may hold anybody; buckets
    hold at least ``k`` people near each other and are generalized to boxes without looking at the
    sensitive attribute. ``marginals`` lists quasi-identifiers, a table each; by default one table
    has them all, and ``"auto"`` adds those by which questions about any two of them are answered
    best (:func:`discreet.propose_marginals`), which is chosen by quasi-identifiers alone: it tells
    nothing of who has which value. ``projections`` are tables besides that refer to no batch, for
    questions about nobody's values (section 4.1). For ``batches`` see
    :mod:`discreet.publishing.partitioners.batches`; left out, it is ``direct`` where the principle
    allows, which answers questions best, else ``mondrian``. Several sensitive attributes share the
    batches, which keep the principle for each of them, by ``mondrian``; each is counted in a table
    of its own or, if they may be told ``together``, all in one. With ``k=1`` quasi-identifiers are
    published as they are, which must be asked for: ``exact=True``. For ``ends`` see
    :class:`Generalization`. With ``resist="method"`` people are batched without regard to whose
    values are whose; the proof is in :mod:`discreet.publishing.partitioners.blind_batches`.

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
    as well, and nothing is promised. Projections add nothing to that: their records are given out
    to people whatever the batches are. In each table a person looks the same as at least ``k - 1``
    others; **not** in all tables together, contrary to the paper's claim on presence. With
    ``resist="learning"`` people are exchanged between batches and batches put together until naive
    Bayes and logistic regression, learned across batches, tell nobody's value with more than is
    promised (:mod:`discreet.publishing.partitioners.learning`); that is measured, not proved.
    """

    title: ClassVar[str] = "angelization"
    form: ClassVar[str] = "batched"
    paper: ClassVar[str] = "Tao, Chen, Xiao, Zhou, Zhang: ANGEL, IEEE TKDE 2009"

    k: int = 10
    marginals: Sequence[Sequence[str]] | Literal["auto"] | None = None
    projections: Sequence[Sequence[str]] | None = None
    batches: Batching | None = None
    categories: Categories = "set"
    exact: bool = False
    ends: Ends = "tight"
    together: bool = False
    resist: Resisted = "reader"

    @classmethod
    def nearest(cls, principle: Principle) -> Angelization:
        """Let its tables be k-anonymous, and its batches keep everything else."""
        alike, others = part_alike(principle)
        return cls(others, k=alike) if alike and others is not None else cls(principle)

    @classmethod
    def variants(cls, principle: Principle) -> list[Method]:
        """With one table of all, with those that are chosen, and against who knows the method."""
        made = cls.nearest(principle)
        return [made, replace(made, marginals=AUTO), replace(made, resist="method")]

    def __post_init__(self) -> None:
        require_whole("k", self.k)
        for name in ("marginals", "projections"):
            if (given := getattr(self, name)) != AUTO or name != "marginals":
                object.__setattr__(self, name, require_lists(name, given))
        if self.marginals == ():
            raise SchemaError("marginals is empty.", hint="Leave it out for one table of all.")
        if self.batches is not None:
            require_choice("batches", self.batches, Batching)
        require_choice("categories", self.categories, Categories)
        require_choice("ends", self.ends, Ends)
        require_choice("resist", self.resist, Resisted)
        if self.resist == "method" and self.batches == "direct":
            raise SchemaError(
                'batches = "direct" does not go with resist = "method": who is batched with whom '
                "follows from whose values are whose.",
                hint='Leave batches out, or set batches = "anatomize".',
            )
        if self.resist == "learning":
            require_limits(self.principle)
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
        if self.exact and self.projections:
            raise SchemaError(
                "projections are of boxes, and exact quasi-identifiers have none.",
                hint="List them among the marginals, or give k of at least 2.",
            )

    def parameters(self) -> dict[str, object]:
        """The parameters besides the principle, as plain values."""
        tables = {
            name: [list(names) for names in listed] if isinstance(listed, tuple) else listed
            for name, listed in (("marginals", self.marginals), ("projections", self.projections))
        }
        return drop_plain({**super().parameters(), **tables})

    def publish(self, data: Microdata, draws: Draws) -> Release:
        """Make buckets per marginal, then batches, and write both down."""
        refuse_roles(data)
        if self.marginals == AUTO:
            found = choose_marginals(data, self._read_principle()[1], categories=self.categories)
            return replace(self, marginals=found.marginals).publish(data, draws)
        marginals, projections = self.read_marginals(data), self.read_projections(data)
        if self.ends == "cuts":
            data = widen(data, trees=self.categories == "ancestor")
        data = data.sorted()  # what is drawn then does not depend on the order of the input
        wanted, alike = self._read_principle()
        listed = [*marginals, *projections]
        buckets = [mondrian(data, alike, names, categories=self.categories) for names in listed]
        widest = buckets[int(np.argmax([len(names) for names in marginals]))]
        if self.resist == "method":
            how = self.batches or choose_blind_batching(wanted, data)
            batches = make_blind_batches(data, wanted, how, draws)
        else:
            how = self.batches or choose_batching(wanted, data)
            batches = make_batches(data, wanted, how, widest, draws)
        if self.resist == "learning":
            name, shown = require_one(data), self._show(data, marginals, buckets)
            batches = resist_learning(data, name, self.principle, batches, draws, shown)
        regions = None
        if self.ends == "cuts":
            regions = [find_regions(data, partition, names, self.categories, draws)
                       for names, partition in zip(listed, buckets, strict=True)]  # fmt: skip
        return self.angelize(data, marginals, buckets, batches, regions, projections=projections)

    def _show(
        self, data: Microdata, marginals: list[list[str]], buckets: list[Partition]
    ) -> list[VisibleLabels]:
        """Say what tables that refer to batches show of everybody."""
        if self.exact:
            return show_exactly(data, list(dict.fromkeys(n for own in marginals for n in own)))
        columns = []
        for names, partition in zip(marginals, buckets, strict=False):
            boxes, made = blur(data, partition, names, self.categories, {})
            columns += [VisibleLabels(rank_cells(boxes, n, made[n])[partition.labels],
                                    data.schema[n].type.ordered) for n in names]  # fmt: skip
        return columns

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
    def draws_groups(self) -> bool:
        """Where who is batched with whom is drawn."""
        return self.resist == "method"

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
        if self.resist != "reader":
            what = f"resist = {self.resist!r}"
        elif self.batches == "anatomize":
            what = f"batches = {self.batches!r}"
        elif self.ends != "tight":
            what = f"ends = {self.ends!r}"
        elif self.projections:
            what = "projections"
        elif self.marginals == AUTO:
            what = "marginals that are chosen"
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
        projections: Sequence[list[str]] = (),
    ) -> Release:
        """Write down one batch partitioning, and a bucket partitioning per marginal (section 3.2).

        Any of them determine an angelization; that they keep the promise is the caller's. With
        ``regions``, one per partitioning, boxes end at cuts. ``fakes`` are values of nobody. The
        last partitionings are of ``projections``, of whose people no batch is told.
        """
        told = self._list_told(data)
        recodings: dict[str, Recoding] = {}
        kinds, ranks = [], []  # what may be shown, in order, and which of it everyone shows
        listed = [*marginals, *projections]
        for place, (names, partition) in enumerate(zip(listed, buckets, strict=True)):
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
        # what projections show is of no batch, nor must the numbers of batches say it
        seen = [*ranks[: len(marginals)], *(data.number(names) for names in told)]
        number = number_groups(batches, seen)
        shown = dict(zip(_number(GENERALIZED), marginals, strict=False))
        apart = dict(zip(_number(PROJECTION), projections, strict=False))
        own = _name_own(shown | apart, data)
        held, numbers = data, number
        if fakes is not None:
            held, numbers = fakes.added(data, data.sensitive[0]), fakes.numbered(batches, number)
        tables = {title: tabulate_told(held, names, numbers, own)
                  for title, names in zip(_number(BATCHES), told, strict=False)}  # fmt: skip
        for place, title in enumerate(shown):
            tables[title] = refer_to_batches(kinds[place], ranks[place], number, own[0])
        for place, title in enumerate(apart, len(shown)):
            tables[title] = kinds[place].select(pl.all().gather(np.sort(ranks[place])))
        if held.n > data.n:
            names = [*data.quasi_identifiers, *data.sensitive]
            tables[COUNTERFEITS] = tabulate_counterfeits(numbers[data.n :], own[0], names)
        return self._describe(data, tables, shown, told, recodings, apart)

    def _describe(
        self,
        data: CodedTable,
        tables: dict[str, pl.DataFrame],
        shown: dict[str, list[str]],
        told: list[list[str]],
        recodings: dict[str, Recoding],
        apart: Mapping[str, list[str]] = MappingProxyType({}),
    ) -> Release:
        """Say of tables, which have all their columns if not their rows, what they promise."""
        batched = {name: Recoding("batched", missing=data.domains[name].missing)
                   for name in data.sensitive}  # fmt: skip
        promised = self.principle if self.exact else KAnonymity(self.k) & self.principle
        presence = open_presence(data, self.ends)
        own = _name_own({**shown, **apart}, data)
        fakes = tables.get(COUNTERFEITS)
        promise, about = word_batched(
            promised, shown, told, presence, own, exact=self.exact,
            blind=self.resist == "method",
            counterfeits=0 if fakes is None else int(fakes.to_series(1).sum()), apart=apart,
            learning=self.resist == "learning",
        )  # fmt: skip
        return self.release(data, tables, recodings | batched, about, promise)

    def read_marginals(self, data: CodedTable) -> list[list[str]]:
        """Give the quasi-identifiers of each table, in the schema's order."""
        known = data.quasi_identifiers
        require_names(known)
        if self.marginals is None or isinstance(self.marginals, str):
            return [known]
        secret = data.sensitive
        asked = [[name for name in names if name not in secret] for names in self.marginals]
        return read_names("marginals", asked, known)

    def read_projections(self, data: CodedTable) -> list[list[str]]:
        """The same of the tables that tell no batch."""
        return read_names("projections", self.projections or (), data.quasi_identifiers)


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
