"""Apriori: sets of items, some of which show a label that stands for several, or nothing at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from discreet.errors import SchemaError, name_closest
from discreet.forms.recoded.wording import word_recoded
from discreet.principles.base import demands, ratio
from discreet.principles.itemsets import KMAnonymity, RhoUncertainty
from discreet.publishing.draws import Draws
from discreet.publishing.item_recoding import ItemRecoding, grow_taxonomy
from discreet.publishing.method import Method
from discreet.release import Recoding, Release
from discreet.table.item_sets import write_items
from discreet.table.microdata import Microdata
from discreet.table.schema import Attribute, Role, Type
from discreet.table.taxonomy import Taxonomy

TRANSACTIONS, ITEMS, RECODED = "transactions", "items_of_labels", "recoded"


@dataclass(frozen=True)
class Apriori(Method):
    """Generalize items along a taxonomy, for everybody alike, and suppress what is rare still.

    Terrovitis, Mamoulis, Kalnis, VLDB 2008, section 4.3, with items suppressed where that loses
    less, as they are without a taxonomy; and for ρ-uncertainty the suppression of Cao, Karras,
    Raïssi, Tan, VLDB 2010 (:mod:`discreet.publishing.item_recoding`).

    >>> import discreet as dc, polars as pl
    >>> frame = pl.DataFrame({"items": ["beer|milk", "beer|milk", "beer", "beer|tofu"]})
    >>> schema = dc.Schema((dc.Attribute("items", dc.Role.SENSITIVE, dc.Type.SET),))
    >>> release = dc.publish(dc.read(frame, schema), dc.Apriori(dc.KMAnonymity(k=2, m=2)))
    >>> release.tables["transactions"]["items"].to_list()
    ['beer', 'beer', 'beer|milk', 'beer|milk']

    **Guarantee**: what is promised holds of the sets as they are shown, and an item that somebody
    knows tells no more than the label that stands for it: every transaction shows all labels of its
    items, but for those that nobody shows. Nothing else is published, and nothing is drawn.
    """

    title: ClassVar[str] = "apriori"
    form: ClassVar[str] = "recoded"
    paper: ClassVar[str] = (
        "Terrovitis, Mamoulis, Kalnis: Privacy-preserving Anonymization of Set-valued Data, "
        "VLDB 2008"
    )
    takes_sets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        kinds = KMAnonymity | RhoUncertainty
        if not all(isinstance(part, kinds) for part in self.principle.parts):
            raise SchemaError(
                f"Apriori promises k^m-anonymity and ρ-uncertainty, not {self.principle}.",
                hint="Give KMAnonymity(k, m) or RhoUncertainty(rho), or use generalization for "
                "other principles.",
            )

    def publish(self, data: Microdata, draws: Draws) -> Release:  # noqa: ARG002
        """Recode the items, and show everybody's sets in their order."""
        name = _find_set(data)
        attribute, domain = data.schema[name], data.domains[name]
        sets = [domain.item_sets[code] for code in data.codes[name].tolist()]
        items = sorted({item for held in domain.item_sets for item in held})
        tree = grow_taxonomy(items, _take_taxonomy(attribute), name, attribute.separator)
        asked = [part for part, _ in demands(self.principle, [name])]
        inferred = [part for part in asked if isinstance(part, RhoUncertainty)]
        recoding = ItemRecoding(tree, sets, _list_secret(inferred, tree))
        recoding.keep_km([(part.k, part.m) for part in asked if isinstance(part, KMAnonymity)])
        for part in inferred:  # k^m-anonymity outlasts suppression
            recoding.keep_rho(ratio(part.rho), part.sensitive)
        labels = recoding.list_labels()
        label_of = {item: label for label, meant in labels.items() for item in meant}
        shown = sorted(
            write_items([label_of[i] for i in held if i in label_of], attribute.separator)
            for held in sets
        )
        listed = [(label, i) for label, meant in labels.items() if len(meant) > 1 for i in meant]
        tables = {TRANSACTIONS: pl.DataFrame({name: pl.Series(shown, dtype=pl.String)})}
        if listed:
            columns = {"label": pl.String, "item": pl.String}
            tables[ITEMS] = pl.DataFrame(sorted(listed), schema=columns, orient="row")
        suppressed = len(recoding.suppressed)
        promise, about = word_recoded(self.principle, attribute, suppressed, labels=bool(listed))
        recodings = {name: Recoding(RECODED)}
        told = {"items_left_out": suppressed}
        return self.release(data, tables, recodings, about, promise, parameters=told)


def _find_set(data: Microdata) -> str:
    """Give the only column that is published, a sensitive set; refuse any other table."""
    published = list(data.schema.published)
    if len(published) != 1 or published[0].type is not Type.SET:
        others = [a.name for a in published if a.type is not Type.SET]
        said = f"and not {', '.join(map(repr, others))}" if others else "and one of them only"
        raise SchemaError(
            f"Apriori publishes one column of sets of items, {said}.",
            hint='Set type = "set" and role = "sensitive" for that column, and role = "other" for '
            "the rest.",
        )
    assert published[0].role is Role.SENSITIVE  # a set can have no other role
    return published[0].name


def _take_taxonomy(attribute: Attribute) -> Taxonomy | None:
    """Give the taxonomy of items; a rule would make labels tell which items somebody has."""
    given = attribute.taxonomy
    if given is None or isinstance(given, Taxonomy):
        return given
    raise SchemaError(
        f"Column {attribute.name!r}: the taxonomy of a set is a file that lists all items, whoever "
        "has them, not a rule.",
        hint="Give taxonomy = { file = … }, or leave it out.",
    )


def _list_secret(parts: list[RhoUncertainty], tree: Taxonomy) -> set[str] | None:
    """List all sensitive items, ``None`` for all there are; refuse any that may be misspelt."""
    if any(part.sensitive is None for part in parts):
        return None
    secret = {item for part in parts for item in part.sensitive or ()}
    for item in sorted(secret - set(tree.leaves)):
        raise SchemaError(
            f"Nobody has the item {item!r}, which is to be sensitive.",
            hint=name_closest(item, list(tree.leaves)[:50]),
        )
    return secret
