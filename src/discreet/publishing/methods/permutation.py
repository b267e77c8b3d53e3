"""Permutation: exact quasi-identifiers, and the sensitive numbers shuffled within groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import ClassVar, Literal

from discreet.errors import SchemaError
from discreet.forms.permuted.help_table import build_help
from discreet.forms.permuted.wording import word_permuted
from discreet.principles.base import Principle, ratio, require_choice
from discreet.principles.spread import KE
from discreet.publishing.backends import Backend, ShowClasses
from discreet.publishing.draws import Draws
from discreet.publishing.method import Method, PartedRelease, refuse_scale
from discreet.publishing.methods.boxes_in_parts import one_line
from discreet.publishing.methods.exact import (
    lay_out,
    list_promised,
    part_alike,
    recode_exactly,
)
from discreet.publishing.methods.runs_in_parts import (
    PermutedBounds,
    PermutedRecords,
    permute_in_parts,
)
from discreet.publishing.partition import number_groups, shuffle_within_groups
from discreet.publishing.partitioners.histograms import histogram
from discreet.publishing.partitioners.learned_models import show_exactly
from discreet.publishing.partitioners.learning import require_limits, resist_learning
from discreet.publishing.partitioners.simulatable import Resisted, drop_plain
from discreet.publishing.partitioners.sorted_runs import Objective, partition_runs, plan_runs
from discreet.release import Recoding, Release, name_own, number_title
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import Microdata, row_ids

PERMUTED, HELP, GROUP = "permuted", "help", "group"


@dataclass(frozen=True)
class Permutation(Method):
    """Group people by sensitive value, then shuffle the values within each group.

    Several sensitive numbers have groups of their own each, ``group``, ``group_2`` and so on, and
    are shuffled independently.

    Zhang, Koudas, Srivastava, Yu, ICDE 2007, section 4. Under (k,e) groups are optimal for the
    chosen ``objective`` (see :func:`discreet.publishing.partitioners.sorted_runs.partition_runs`).
    Beyond the paper, which leaves other principles to the future, any principle that mixtures keep
    may be promised, alone or with (k,e): then groups are batches of near numbers, as small as the
    principle allows.

    >>> import discreet as dc, polars as pl
    >>> frame = pl.DataFrame({"age": [40, 38, 35, 41, 43, 47], "pay": [56, 54, 55, 65, 75, 70]})
    >>> data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["pay"]))
    >>> release = dc.publish(data, dc.Permutation(dc.KE(k=3, e=2)))
    >>> sorted(release.tables["permuted"].group_by("group").agg("pay").row(0)[1]) in (
    ...     [54, 55, 56], [65, 70, 75])
    True

    >>> release = dc.publish(data, dc.Permutation(dc.FrequencyDiversity(2)))
    >>> sorted(release.tables["permuted"].group_by("group").agg("pay").row(0)[1]) in (
    ...     [54, 55], [56, 65], [70, 75])
    True

    **Guarantee**: what is believed of a person's number by whoever knows all quasi-identifiers
    mixes what the groups of people hold who look the same, and every group keeps what the principle
    asks of bags that are mixed (``mixture_safe``; of (ε,m) that is (ε,2m) on each side). Under
    (k,e) at least k different values are possible, spread over at least e, and how likely each is
    stays open. It holds of each sensitive number, even against somebody who knows the others of
    everybody (the proof is in :mod:`discreet.forms.several`), and who knows how groups are found:
    they follow from the numbers alone, whosever these are. It does not hide who is in the table.
    With ``resist="learning"`` people are exchanged and groups put together until naive Bayes and
    linear regression, learned across groups, tell nobody's number with more than a share that is
    promised (:mod:`discreet.publishing.partitioners.learning`); that is measured, not proved, and
    groups then follow from more than the numbers.
    The shuffles come from the operating system's generator.
    """

    title: ClassVar[str] = "permutation"
    form: ClassVar[str] = "permuted"
    paper: ClassVar[str] = "Zhang, Koudas, Srivastava, Yu: Aggregate Query Answering, ICDE 2007"

    objective: Objective = "sum"
    resist: Resisted = "reader"

    @classmethod
    def nearest(cls, principle: Principle) -> Permutation:
        """Leave out how many look alike: exact quasi-identifiers tell people apart."""
        _, others = part_alike(principle)
        return cls(principle if others is None else others)

    def __post_init__(self) -> None:
        if self.principle.look_alikes > 1:
            raise SchemaError(
                f"{self.principle}: permutation shows quasi-identifiers exactly, which tell people "
                "apart.",
                hint="Give KE(k, e) or a principle that does not count look-alikes, or use "
                "generalization.",
            )
        require_choice("resist", self.resist, Literal["reader", "learning"])
        if self.resist == "learning":
            require_limits(self.principle)
        require_choice("objective", self.objective, Objective)
        if self.objective != "sum" and not self._is_spread:
            raise SchemaError(
                f"objective = {self.objective!r} is for (k,e) alone, not {self.principle}.",
                hint="Leave it out.",
            )

    @property
    def _is_spread(self) -> bool:
        """Whether nothing but (k,e) is promised."""
        return all(isinstance(part, KE) for part in self.principle.parts)

    def parameters(self) -> dict[str, object]:
        """What groups are optimal for, where they are; and whom they resist, if that is more."""
        given = drop_plain(super().parameters())
        if not self._is_spread:
            del given["objective"]
        return given

    def _read_principle(self, data: CodedTable) -> dict[str, Principle]:
        """Give what is promised of each sensitive number of a table."""
        found = list_promised(data, "Permutation", self.principle)
        for name, parts in found.items():
            if not parts:
                raise SchemaError(
                    f"Permutation promises something of each sensitive number, not 0 of {name!r}.",
                    hint="Give a principle for all, or one for each by its parameter on.",
                )
        return {name: _join(parts) for name, parts in found.items()}

    def publish(self, data: Microdata, draws: Draws) -> Release:
        """Group, shuffle, number the groups by what they show, and tabulate the bounds."""
        wanted = self._read_principle(data)
        data = data.sorted()  # what is drawn then does not depend on the order of the input
        parted, shuffled = {}, {}
        others = [a.name for a in data.schema.published if a.name not in wanted]
        for name, principle in wanted.items():
            parted[name] = partition_runs(data, name, principle, self.objective, draws)
            if self.resist == "learning":
                columns = show_exactly(data, others)
                parted[name] = resist_learning(
                    data, name, principle, parted[name], draws, columns, are_runs=True
                )
            shuffled[name] = shuffle_within_groups(parted[name], data.codes[name], draws)
        rank = row_ids([*(data.codes[n] for n in others), *shuffled.values()], data.n)
        own = [_name_group(data, place) for place in range(len(wanted))]
        groups = {
            group: number_groups(partition, [rank])
            for group, partition in zip(own, parted.values(), strict=True)
        }
        table, recodings = lay_out(data, shuffled, groups)
        tables = {PERMUTED: table}
        for place, (name, group) in enumerate(zip(wanted, own, strict=True)):
            bounds = build_help(table[group].alias(own[0]), table[name], data.schema[name])
            tables[number_title(HELP, place)] = bounds
        promise, about = word_permuted(
            self.principle, list(wanted), own, learning=self.resist == "learning"
        )
        return self.release(data, tables, recodings, about, promise)

    def require_parts(self) -> None:
        """Whoever is grouped at random may be anywhere; what is learned is learned of all."""
        if self.resist != "reader":
            raise refuse_scale(f"Permutation with resist = {self.resist!r}")
        if self.objective == "random":
            raise refuse_scale("Permutation with objective = 'random'")

    def publish_in_parts(self, backend: Backend) -> PartedRelease:
        """Find the same groups of rows that are elsewhere, and shuffle these where they are."""
        facts = backend.facts
        wanted = self._read_principle(facts)
        if len(wanted) > 1:
            raise refuse_scale("Permutation of several sensitive numbers")
        ((name, principle),) = wanted.items()
        others = [a.name for a in facts.schema.published if a.name != name]
        own = _name_group(facts, 0)
        runs = plan_runs(histogram(facts, name), principle, self.objective)
        leaves = permute_in_parts(backend, others, name, runs, (PERMUTED, HELP))
        values = [facts.domains[n].series().alias(n) for n in (*others, name)]
        shows: dict[str, ShowClasses] = {
            PERMUTED: PermutedRecords(values, own),
            HELP: PermutedBounds(values[-1], facts.schema[name], len(others), own),
        }
        tables = {title: show(one_line(len(values)), 0)[:0] for title, show in shows.items()}
        recodings = recode_exactly(facts, others) | {name: Recoding("permuted")}
        promise, about = word_permuted(self.principle, [name], [own])
        release = self.release(facts, tables, recodings, about, promise)
        return PartedRelease(release, {title: (leaves[title], shows[title]) for title in tables})


def _name_group(data: CodedTable, place: int) -> str:
    """Give the column of groups for a number, which gives way to attributes."""
    return name_own(number_title(GROUP, place), data.schema.published.names)


def _join(parts: list[Principle]) -> Principle:
    """Put what is promised of one number together; several (k,e) are one."""
    spread = [part for part in parts if isinstance(part, KE)]
    if len(spread) == len(parts) > 1:
        e = max((part.e for part in spread), key=ratio)
        return replace(spread[0], k=max(part.k for part in spread), e=e)
    return reduce(and_, parts)
