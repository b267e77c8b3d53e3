"""Schema: what each column of a table is, who may learn it, and why we think so."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from discreet.errors import SchemaError, name_closest
from discreet.table.people_key import ROWS_ARE_ALONE, Fold, PeopleKey
from discreet.table.spelling import PLAIN, Spelling
from discreet.table.taxonomy import Taxonomy, TaxonomyRule, canonical_text

if TYPE_CHECKING:
    from discreet.table.readers import TableLike

UNUSABLE_NAME = re.compile(r'["\n\r]|^\*$|^\^.*\$$|^#')


class Role(StrEnum):
    """What a column tells an adversary, and so what happens to it."""

    IDENTIFIER = "identifier"
    """Names a person. Never leaves."""
    QUASI_IDENTIFIER = "quasi-identifier"
    """Known to others and, together with the rest, identifying. Published blurred."""
    SENSITIVE = "sensitive"
    """What must not be learned about a person. Published, unlinked."""
    OTHER = "other"
    """Neither. Dropped unless the steward keeps it."""


class Type(StrEnum):
    """How the values of a column are written and ordered."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    DATE = "date"
    ORDINAL = "ordinal"
    CATEGORY = "category"
    BOOLEAN = "boolean"
    SET = "set"

    @property
    def numeric(self) -> bool:
        """Whether differences between values mean something."""
        return self in (Type.INTEGER, Type.DECIMAL, Type.DATE)

    @property
    def ordered(self) -> bool:
        """Whether a range from one value to another means something."""
        return self.numeric or self is Type.ORDINAL


class Missing(StrEnum):
    """What to do with a missing cell."""

    REJECT = "reject"
    """Refuse the table and say how many cells are missing."""
    VALUE = "value"
    """Treat missing as one value of its own."""
    DROP = "drop"
    """Leave the row out, and count it."""


Unreadable = Literal["reject", "missing"]
"""What to do with a cell from which the type cannot be read."""


@dataclass(frozen=True)
class Attribute:
    """One column: its role, its type, and how to read it.

    ``spelling`` says how numbers and dates are written where they are text; cells that cannot be
    read are refused, or missing if ``unreadable`` says so. ``order`` lists the values of an ordinal
    from low to high. ``decimals`` is the number of digits kept after the point of a decimal; ``na``
    lists the texts that mean missing. ``low`` and ``high`` of a number or date, and ``values`` of a
    category, are its public domain: what it can be, whoever is in the table. An ordinal's is its
    order. ``separator`` stands between the items of a set; its taxonomy is one of items.

    Numbers may be made coarser as they are read: those from ``top`` on, and up to ``bottom``, show
    these, others are rounded to a multiple of ``round``; or ``aggregate`` people or more with
    consecutive values show their mean.
    """

    name: str
    role: Role
    type: Type
    missing: Missing = Missing.REJECT
    taxonomy: Taxonomy | TaxonomyRule | None = None
    order: tuple[str, ...] = ()
    decimals: int | None = None
    na: tuple[str, ...] = ()
    low: int | float | str | dt.date | None = None
    high: int | float | str | dt.date | None = None
    values: tuple[str, ...] = ()
    top: int | float | str | dt.date | None = None
    bottom: int | float | str | dt.date | None = None
    round: int | float | str | None = None
    aggregate: int | None = None
    keep: bool = False
    fold: Fold | None = None
    """What becomes of it where a person's rows are folded into one; ``None`` if all are equal."""
    guards: str | None = None
    """The sensitive attribute of which it says what each person guards. It never leaves."""
    spelling: Spelling = PLAIN
    unreadable: Unreadable = "reject"
    separator: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", tuple(map(canonical_text, self.order)))
        object.__setattr__(self, "na", tuple(map(canonical_text, self.na)))
        object.__setattr__(self, "values", tuple(map(canonical_text, self.values)))
        if not self.name.strip() or UNUSABLE_NAME.search(self.name):
            raise SchemaError(
                f"Column {self.name!r} has a name that tables and queries cannot carry.",
                hint="Rename it: no quotes or line breaks, no # in front, not * alone, not ^…$.",
                subject=self,
            )
        if self.type is Type.ORDINAL and (not self.order or len(set(self.order)) < len(self.order)):
            what = "has no order" if not self.order else "repeats a value in its order"
            raise SchemaError(
                f"Column {self.name!r} is ordinal but {what}.",
                hint='List its values once, from low to high: order = ["low", "mid", "high"].',
                subject=self,
            )
        if self.type is Type.DECIMAL and self.decimals is None:
            raise SchemaError(
                f"Column {self.name!r} is decimal, but not to how many digits.",
                hint="Say how many digits after the point to keep: decimals = 2.",
                subject=self,
            )
        self._check_public_domain()
        self._check_spelling()
        numbers = self.type in (Type.INTEGER, Type.DECIMAL)
        if (self.fold in ("sum", "mean") and not numbers) or (
            self.fold in ("min", "max") and not self.type.numeric
        ):
            raise SchemaError(
                f"Column {self.name!r} is a {self.type}: it has no {self.fold}.",
                hint='Fold it by "first", "last", "set" or "count".',
                subject=self,
            )
        if self.fold == "set" and self.role is Role.SENSITIVE:
            raise SchemaError(
                f"Column {self.name!r} is sensitive: of sets of values nobody says how likely one "
                "is.",
                hint='Publish all rows of everybody, or fold it by "first", "last" or "count".',
                subject=self,
            )
        if self.keep and self.role is Role.IDENTIFIER:
            raise SchemaError(
                f"Column {self.name!r} is an identifier and cannot be kept.",
                hint="Identifiers never leave. Give it another role if it names nobody.",
                subject=self,
            )
        if self.guards is not None and self.published:
            raise SchemaError(
                f"Column {self.name!r} says what people guard and never leaves, but it is "
                f"{'kept' if self.keep else f'a {self.role} attribute'}.",
                hint=f'Set role = "other" for {self.name!r}, and do not keep it.',
                subject=self,
            )
        from discreet.table.coarsening import refuse_coarsening
        from discreet.table.item_sets import SEPARATOR, refuse_set_settings

        refuse_coarsening(self)
        if self.type is Type.SET and not self.separator:
            object.__setattr__(self, "separator", SEPARATOR)
        refuse_set_settings(self)

    def _check_public_domain(self) -> None:
        ends = [end for end in (self.low, self.high) if end is not None]
        if ends and (len(ends) < 2 or not self.type.numeric):
            raise SchemaError(
                f"Column {self.name!r}: low and high are the two ends of what a number or date "
                "can be.",
                hint="Give both, and only for integer, decimal and date columns.",
                subject=self,
            )
        if self.values and self.type is not Type.CATEGORY:
            raise SchemaError(
                f"Column {self.name!r} is a {self.type}: values lists what a category can be.",
                hint="Give low and high for numbers and dates; an ordinal has its order.",
                subject=self,
            )

    def _check_spelling(self) -> None:
        if self.spelling == PLAIN:
            return
        problem = self.spelling.problem
        told = replace(self.spelling, date_format=PLAIN.date_format, last_year=None)
        if problem is None and self.type is not Type.DATE and told != self.spelling:
            problem = f"date_format is about dates, and it is a {self.type}"
        if problem is None and self.type not in (Type.INTEGER, Type.DECIMAL) and told != PLAIN:
            problem = f"decimal, thousands and unit are about numbers, and it is a {self.type}"
        if problem is not None:
            raise SchemaError(f"Column {self.name!r}: {problem}.", subject=self)

    @property
    def has_public_domain(self) -> bool:
        """Whether it is known what its values can be, whoever is in the table."""
        known = self.type in (Type.ORDINAL, Type.BOOLEAN)
        return known or self.low is not None or bool(self.values)

    @property
    def folded(self) -> Attribute:
        """What it is once the rows of everybody are folded into one."""
        if self.fold == "set":
            plain = replace(self, type=Type.CATEGORY, taxonomy=None, order=(), decimals=None)
        elif self.fold == "count":
            plain = replace(self, type=Type.INTEGER, taxonomy=None, order=(), decimals=None, na=())
        elif self.fold == "sum":
            plain = self
        else:
            return self
        spelled = PLAIN if plain.type is not self.type else self.spelling
        return replace(plain, low=None, high=None, values=(), fold=None, spelling=spelled)

    def reads_like(self, other: Attribute) -> bool:
        """Whether its values can be compared with those of another attribute."""
        how = ("type", "decimals", "order", "separator")
        return all(getattr(self, one) == getattr(other, one) for one in how)

    @property
    def published(self) -> bool:
        """Whether the column appears in a release at all."""
        return self.keep or self.role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE)


@dataclass(frozen=True)
class Schema:
    """The attributes of a table, each with one role.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [23, 41, 38], "disease": ["flu", "ulcer", "flu"]})
    >>> schema = Schema.infer(frame, quasi_identifiers=["age"], sensitive=["disease"])
    >>> schema["age"].type, schema["disease"].role
    (<Type.INTEGER: 'integer'>, <Role.SENSITIVE: 'sensitive'>)
    """

    attributes: tuple[Attribute, ...]
    people: PeopleKey = ROWS_ARE_ALONE
    """Whose rows are whose. The steward's, never published."""
    weight: str | None = None
    """The column that says how many people of the population a row stands for."""

    def __post_init__(self) -> None:
        names = self.names
        if self.weight is not None:
            self._check_weight(self[self.weight])
        for what in ("person", "cluster"):
            name = getattr(self.people, what)
            shown = [a for a in self.attributes if a.name == name and a.published]
            if shown:
                role = "kept" if shown[0].keep else f"a {shown[0].role}"
                raise SchemaError(
                    f"{what} = {name!r} says whose rows are whose and never leaves, but the column "
                    f"is {role}.",
                    hint=f'Set role = "identifier" for {name!r}.',
                    subject=self,
                )
        folded = [name.casefold() for name in names]
        alike = [name for name in names if folded.count(name.casefold()) > names.count(name)]
        if alike:
            raise SchemaError(
                f"Columns {', '.join(map(repr, alike))} differ only in upper and lower case, which "
                "databases do not tell apart.",
                hint="Rename one of them.",
                subject=self,
            )
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise SchemaError(
                f"Columns with more than one role: {', '.join(map(repr, twice))}.",
                hint="Give every column one role.",
                subject=self,
            )
        self._check_guards()

    def _check_guards(self) -> None:
        guarded = [a.guards for a in self.attributes if a.guards is not None]
        for name in guarded:
            if name not in self.sensitive:
                raise SchemaError(
                    f"guards = {name!r}: there is no such sensitive attribute.",
                    hint=name_closest(name, self.sensitive),
                    subject=self,
                )
            if guarded.count(name) > 1:
                raise SchemaError(
                    f"Several columns say what people guard of {name!r}.",
                    hint="Keep guards for one of them.",
                    subject=self,
                )

    def _check_weight(self, attribute: Attribute) -> None:
        if attribute.folded.type not in (Type.INTEGER, Type.DECIMAL):
            raise SchemaError(
                f"weight = {attribute.name!r} is a {attribute.folded.type}, not a number.",
                hint='Set type = "integer" or "decimal" for it, and correct cells that are none.',
                subject=self,
            )

    @staticmethod
    def infer(
        frame: TableLike,
        *,
        quasi_identifiers: Sequence[str] | None = None,
        sensitive: Sequence[str] | None = None,
        identifiers: Sequence[str] | None = None,
        keep: Sequence[str] = (),
        person: str | None = None,
        cluster: str | None = None,
        rows_are_people: bool = False,
        weight: str | None = None,
        guards: Mapping[str, str] | None = None,
    ) -> Schema:
        """Infer the types of all columns and propose the roles that are not given.

        A role that is given is kept as given; the rest are proposed with a reason. Columns
        named in ``keep`` are published unchanged, so they must be harmless. ``person`` is the
        column that says which rows are of one person, ``cluster`` who would be found together,
        such as a household; see :class:`PeopleKey`. ``weight`` is the column that says how many
        people of the population a row stands for: it is kept, unless it is a quasi-identifier.
        ``guards`` says of columns whose cells are what people guard (:class:`PersonalPrivacy`)
        which sensitive attribute these are about.
        """
        from discreet.table.inference import infer

        people = PeopleKey(person, cluster, rows_are_people=rows_are_people)
        schema = infer(frame, quasi_identifiers, sensitive, identifiers, keep, people, weight)
        named = (*(quasi_identifiers or ()), *(sensitive or ()))
        return schema.changed(
            *(
                replace(schema[n], role=schema[n].role if n in named else Role.OTHER, guards=about)
                for n, about in (guards or {}).items()
            )
        )

    @property
    def names(self) -> list[str]:
        """Column names in table order."""
        return [attribute.name for attribute in self.attributes]

    def having(self, role: Role) -> list[Attribute]:
        """Attributes of one role, in table order."""
        return [attribute for attribute in self.attributes if attribute.role is role]

    @property
    def quasi_identifiers(self) -> list[str]:
        """Names of the quasi-identifiers."""
        return [attribute.name for attribute in self.having(Role.QUASI_IDENTIFIER)]

    @property
    def sensitive(self) -> list[str]:
        """Names of the sensitive attributes."""
        return [attribute.name for attribute in self.having(Role.SENSITIVE)]

    @property
    def published(self) -> Schema:
        """The part of the schema that a release shows."""
        return replace(self, people=PeopleKey()).only([a.name for a in self if a.published])

    @property
    def of_rows(self) -> Schema:
        """The same of a table in which nobody says whose rows are whose."""
        return replace(self, people=PeopleKey(rows_are_people=True))

    def __getitem__(self, name: str) -> Attribute:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise SchemaError(
            f"Column {name!r} is not in the schema.", hint=name_closest(name, self.names)
        )

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def only(self, names: Container[str]) -> Schema:
        """The same without attributes that are not named."""
        weight = self.weight if self.weight is not None and self.weight in names else None
        kept = [a for a in self.attributes if a.name in names]
        left = [a.name for a in kept]
        kept = [a if a.guards in (None, *left) else replace(a, guards=None) for a in kept]
        return replace(self, attributes=tuple(kept), weight=weight)

    def changed(self, *attributes: Attribute) -> Schema:
        """Give a schema with these attributes in place of those of the same name."""
        new = {attribute.name: attribute for attribute in attributes}
        for name in new:
            self[name]  # an unknown name raises before anything is replaced
        return replace(self, attributes=tuple(new.get(a.name, a) for a in self.attributes))

    def with_taxonomies(self, taxonomies: dict[str, Taxonomy | TaxonomyRule]) -> Schema:
        """Give a schema in which the named attributes have these taxonomies."""
        return self.changed(
            *(replace(self[name], taxonomy=taxonomy) for name, taxonomy in taxonomies.items())
        )


def refuse_other_kind(one: Attribute, other: Attribute) -> None:
    """Refuse to compare the values of attributes of one name that are of different types."""
    if not one.reads_like(other):
        kinds = [
            f"{a.type}" + (f" with {a.decimals} decimals" if a.decimals is not None else "")
            for a in (one, other)
        ]
        raise SchemaError(
            f"{one.name!r} is {kinds[0]} in one table and {kinds[1]} in another, or has another "
            "order.",
            hint="Read them with the same type, decimals and order.",
        )
