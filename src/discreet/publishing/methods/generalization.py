"""Generalization: every quasi-identifier is blurred until groups of people look the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import polars as pl

from discreet.errors import SchemaError
from discreet.forms.generalized.wording import word_generalized, word_suppressed
from discreet.principles.base import Number, Principle, ratio, require_choice, require_ratio
from discreet.principles.parts import PartBound
from discreet.publishing.backends import Backend, FinishedLeaves
from discreet.publishing.draws import Draws
from discreet.publishing.method import Method, PartedRelease, refuse_scale
from discreet.publishing.methods.boxes import Ends, ShownBoxes, blur, open_presence
from discreet.publishing.methods.boxes_in_parts import (
    BoxLabels,
    deal_in_parts,
    label_in_parts,
    split_in_parts,
)
from discreet.publishing.methods.exact import recode_exactly
from discreet.publishing.partition import Partition, sort_within_groups
from discreet.publishing.partitioners.guards import bind_guards
from discreet.publishing.partitioners.mondrian import Categories, mondrian
from discreet.publishing.partitioners.proximity import Dealing, split_and_deal
from discreet.publishing.partitioners.regions import find_regions
from discreet.publishing.partitioners.simulatable import (
    Resisted,
    drop_plain,
    split_simulatably,
)
from discreet.publishing.partitioners.suppression import Suppressed, allow, suppress, trim
from discreet.publishing.partitioners.units import count_units
from discreet.release import Recoding, Release, name_own
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import Microdata
from discreet.table.public_domain import widen

TABLE, CLASS = "generalized", "class"


@dataclass(frozen=True)
class Generalization(Method):
    """Groups by Mondrian, and one box per group in place of its quasi-identifiers.

    Strict recoding (ANGEL, section 2): boxes of different groups never overlap, unless no split
    need keep the principle. Then people are split as far as their groups can be found, and dealt
    (Li, Tao, Xiao, SIGMOD 2008, section 5): ``dealing="local"`` keeps people who are close
    together as far as their numbers allow, ``"round-robin"`` is the paper's. Numbers, dates and
    ordinals become intervals. With ``categories="set"`` a category becomes the set of values
    in the group, named by the taxonomy where a node covers just these; with ``"ancestor"`` it
    becomes the lowest common ancestor in its taxonomy. All of these are somebody's values, so that
    who knows the population may be certain of a person's presence. With ``ends="cuts"`` boxes end
    where the table was cut, at random between the people on both sides, and tile the public
    domain. With ``suppress`` up to that share of people, who stand apart from their groups, are put
    into groups of their own that show ``*`` wherever they differ, or are left out, if all others
    gain more by that: the promise holds for these groups as well. With ``resist="method"`` cuts are
    chosen without a look at whose values are whose, and chance forbids some of them, so that who
    knows how groups are found learns no more than is promised; groups are larger then where a
    value is frequent.

    >>> import discreet as dc
    >>> frame = pl.DataFrame({"age": [21, 23, 38, 40, 41, 43, 58, 60], "sex": list("MMFFMMFF"),
    ...                       "disease": ["pneumonia"] * 2 + ["bronchitis"] * 2
    ...                                + ["pneumonia"] * 2 + ["bronchitis"] * 2})
    >>> data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age", "sex"],
    ...                                       sensitive=["disease"]))
    >>> release = dc.publish(data, dc.Generalization(dc.FrequencyDiversity(2)))
    >>> release.tables["generalized"].select("age", "sex").unique(maintain_order=True).rows()
    [('[21, 40]', '*'), ('[41, 60]', '*')]

    **Guarantee**: the principle holds for the group of every person, against an adversary who
    knows all quasi-identifiers of everyone; with ``resist="method"`` who knows this method, too
    (:mod:`discreet.publishing.partitioners.simulatable` has the proof). Kept columns are published
    unchanged and are protected by nothing.
    """

    title: ClassVar[str] = "generalization"
    form: ClassVar[str] = "generalized"
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan: Mondrian, ICDE 2006"
    keeps_personal: ClassVar[bool] = True

    categories: Categories = "set"
    dealing: Dealing = "local"
    ends: Ends = "tight"
    suppress: Number = 0
    resist: Resisted = "reader"

    @classmethod
    def variants(cls, principle: Principle) -> list[Method]:
        """As ever, and where that is known how and tells more, against who knows the method."""
        bounded = all(isinstance(part, PartBound) for part in principle.parts)
        told = any(part.reads_values for part in principle.parts)
        made = cls(principle)
        return [made, replace(made, resist="method")] if bounded and told else [made]

    def __post_init__(self) -> None:
        require_choice("resist", self.resist, Literal["reader", "method"])
        if self.resist == "method" and ratio(self.suppress):
            raise SchemaError(
                f'suppress = {self.suppress} does not go with resist = "method": who is taken out '
                "follows from whose values are whose.",
                hint="Leave one of them out.",
            )
        require_suppressible(self.suppress, self.principle, self.ends)
        require_choice("categories", self.categories, Categories)
        require_choice("ends", self.ends, Ends)
        require_choice("dealing", self.dealing, Dealing)
        if self.principle.dealt and any(part.personal for part in self.principle.parts):
            raise SchemaError(
                f"{self.principle}: people cannot be dealt by what each of them guards.",
                hint="Promise one of them, or personal privacy beside what is monotone.",
            )
        if self.dealing != "local" and not self._deals:
            resisting = "" if self.resist == "reader" else f" with resist = {self.resist!r}"
            raise SchemaError(
                f"dealing = {self.dealing!r}: nobody is dealt under {self.principle}{resisting}.",
                hint="Leave it out; it is for principles such as proximity.",
            )

    def parameters(self) -> dict[str, object]:
        """The parameters besides the principle; how people are dealt only where they are."""
        given = drop_plain(super().parameters())
        if not self._deals:
            del given["dealing"]
        if not ratio(self.suppress):
            del given["suppress"]
        return given

    @property
    def _deals(self) -> bool:
        return self.principle.dealt and self.resist == "reader"

    @property
    def counts_people(self) -> bool:
        """Where people are split by what holds of people, not where they are dealt."""
        return not self.principle.dealt and self.resist == "reader"

    @property
    def draws_groups(self) -> bool:
        """Where coins forbid some cuts."""
        return self.resist == "method"

    def publish(self, data: Microdata, draws: Draws) -> Release:
        """Partition, blur each group to its box, and put the people in canonical order."""
        self._require_taxonomy(data)
        if self.ends == "cuts":
            data = widen(data, trees=self.categories == "ancestor")
        if self.resist == "method":
            partition = split_simulatably(data, self.principle, draws, categories=self.categories)
        elif not self.principle.dealt:
            keyed, asked = count_units(*bind_guards(data, self.principle))
            partition = mondrian(keyed, asked, data.quasi_identifiers, categories=self.categories)
            budget = allow(data, self.suppress)
            if budget:
                apart = trim(keyed, asked, partition, budget, self._list_trimmed(data))
                found = suppress(keyed, asked, partition, apart)
                if found is not None:
                    return self._release_suppressed(data, found)
        else:
            partition = split_and_deal(
                data, self.principle, categories=self.categories, dealing=self.dealing
            )
        names, regions = data.quasi_identifiers, None
        if self.ends == "cuts":
            regions = find_regions(data, partition, names, self.categories, draws)
        boxes, recodings = blur(data, partition, names, self.categories, regions=regions)
        return release_boxes(self, data, (partition, boxes, recodings), self.ends)

    def publish_in_parts(self, backend: Backend) -> PartedRelease:
        """Do the same with rows that are elsewhere."""
        facts, known = backend.facts, backend.facts.quasi_identifiers
        exact = [a.name for a in facts.schema.published if a.name not in known]
        self._require_taxonomy(facts)
        fixed = (backend, self.principle, known, exact, self.categories, TABLE)
        if self.principle.dealt:
            leaves = deal_in_parts(*fixed, self.dealing)
        else:
            leaves = split_in_parts(*fixed)
        labels, sample, recodings = label_in_parts(
            backend, leaves, known, exact, self.categories, name_class(facts)
        )
        return release_in_parts(self, facts, leaves, labels, sample, recodings)

    def _require_taxonomy(self, data: CodedTable) -> None:
        known = data.quasi_identifiers
        if self.categories == "ancestor" and not any(data.schema[n].taxonomy for n in known):
            raise SchemaError(
                'categories = "ancestor" needs a taxonomy, but no quasi-identifier has one.',
                hint='Give one in the plan: taxonomy = { file = "…" }, or leave categories out.',
            )

    def require_parts(self) -> None:
        """People who are suppressed, and regions, need all rows at hand."""
        if self.resist == "method":
            raise refuse_scale('Generalization with resist = "method"')
        require_scalable("Generalization", self.principle, self.suppress, self.ends)

    def _list_trimmed(self, data: Microdata) -> list[str]:
        """Give the attributes of which a group shows less without whoever stands apart.

        An ancestor covers them still.
        """
        known = data.quasi_identifiers
        return [name for name in known
                if self.categories == "set" or data.domains[name].taxonomy is None]  # fmt: skip

    def _release_suppressed(self, data: Microdata, found: Suppressed) -> Release:
        """Blur groups as ever, but for those of people who were taken out of others."""
        shown = data.taken(found.rows).narrowed()
        boxes, recodings = blur(
            shown, found.partition, data.quasi_identifiers, self.categories, blank=found.blank
        )
        return release_boxes(self, shown, (found.partition, boxes, recodings), self.ends, found)


def name_class(data: CodedTable) -> str:
    """Give the column of classes, which gives way to attributes."""
    return name_own(CLASS, data.schema.published.names)


def require_scalable(title: str, principle: Principle, share: Number, ends: Ends) -> None:
    """Refuse what needs all rows at hand, of tables beyond memory."""
    what = None
    if any(part.personal for part in principle.parts):
        what = "what each person guards"
    elif ratio(share):
        what = "suppress"
    elif ends != "tight":
        what = f"ends = {ends!r}"
    if what is not None:
        raise refuse_scale(f"{title} with {what}")


def require_suppressible(share: Number, principle: Principle, ends: Ends) -> None:
    """Refuse to leave people out where that would do nothing, or nothing is known of it."""
    require_ratio("suppress", share, 0, 1)
    if ratio(share) and (not principle.monotone or ends != "tight"):
        what = f"ends = {ends!r}" if principle.monotone else f"{principle}, which is not monotone"
        raise SchemaError(
            f"suppress = {share} does not go with {what}.", hint="Leave one of them out."
        )


def release_boxes(
    method: Method,
    data: Microdata,
    shown: ShownBoxes,
    ends: Ends = "tight",
    suppressed: Suppressed | None = None,
) -> Release:
    """Make the release in which people show their boxes and keep all other columns."""
    partition, boxes, recodings = shown
    exact = [a.name for a in data.schema.published if a.name not in data.quasi_identifiers]
    table = assemble(data, partition, boxes, exact)
    return describe_boxes(method, data, table, recodings, ends, suppressed)


def describe_boxes(
    method: Method,
    data: CodedTable,
    table: pl.DataFrame,
    recodings: dict[str, Recoding],
    ends: Ends = "tight",
    suppressed: Suppressed | None = None,
) -> Release:
    """Say of a table, which has all its columns if not its rows, what it is and promises."""
    exact = [a.name for a in data.schema.published if a.name not in data.quasi_identifiers]
    kept = recode_exactly(data, exact)
    presence = open_presence(data, ends)
    parameters = method.parameters()
    if "suppress" in parameters:
        parameters["left_out"] = suppressed.left_out if suppressed else 0
        parameters["blanked"] = suppressed.blanked if suppressed else 0
    told = (*presence, *word_suppressed(parameters))
    known, own = data.quasi_identifiers, name_class(data)
    blind = parameters.get("resist") == "method"
    promise, about = word_generalized(method.principle, known, told, own, blind=blind)
    return method.release(
        data, {TABLE: table}, recodings | kept, about, promise, parameters=parameters
    )


def release_in_parts(
    method: Method,
    facts: CodedTable,
    leaves: FinishedLeaves,
    labels: BoxLabels,
    sample: pl.DataFrame,
    recodings: dict[str, Recoding],
) -> PartedRelease:
    """Make the release of classes that are still where the rows were."""
    release = describe_boxes(method, facts, sample, recodings)
    return PartedRelease(release, {TABLE: (leaves, labels)})


def assemble(
    data: Microdata, partition: Partition, boxes: pl.DataFrame, exact: list[str]
) -> pl.DataFrame:
    """One row per person: class, box, exact values; rows sorted by what they show.

    Sorting by the published values leaves nothing of the order in which people came in.
    """
    domains = [data.domains[name] for name in exact]
    columns = [data.codes[name][partition.order] for name in exact]
    classes = partition.sorted_labels
    codes = sort_within_groups(partition, columns, [domain.size for domain in domains])
    own = name_class(data)
    frame = boxes.with_row_index(own).with_columns(pl.col(own).cast(pl.Int32))
    values = [
        domain.series().alias(name).gather(code)
        for name, domain, code in zip(exact, domains, codes, strict=True)
    ]
    return frame.select(pl.all().gather(classes)).with_columns(values)
