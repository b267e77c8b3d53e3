"""Roles: what an adversary knows, and what there is to learn, whoever says so.

A release that calls a column harmless is not believed where the microdata or the plan call it
known or sensitive. Who judged a release by its own roles would take the forger's word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from discreet.errors import StoreError
from discreet.forms import find_form
from discreet.release import Release
from discreet.table.arrays import Ints
from discreet.table.coarsening import Coarsening
from discreet.table.microdata import Microdata
from discreet.table.schema import Attribute, Role, Schema

WORDS = {
    Role.QUASI_IDENTIFIER: "a quasi-identifier",
    Role.SENSITIVE: "sensitive",
    Role.IDENTIFIER: "an identifier",
    Role.OTHER: "other",
}


@dataclass(frozen=True, eq=False)
class Onlooker:
    """Who reads a release, and knows what anybody calls a quasi-identifier."""

    release: Release
    """As it is to the adversary, as far as its form can tell."""
    known: list[str]
    told: list[str]
    """The sensitive attributes of which the form says what is believed."""
    added: list[str]
    """Those that the release does not call sensitive."""
    certain: list[str]
    """The sensitive attributes that are known, or of which the form does not say: taken as told."""
    unmatched: bool
    """Whether something is known by which the form matches nobody."""
    conflicts: list[str]
    notes: list[str]

    @property
    def sensitive(self) -> list[str]:
        """All that there is to learn."""
        return [*self.told, *self.certain]

    def limit_candidates(self, counts: Sequence[Ints], data: Microdata) -> Ints:
        """Give the fewest of any table, and no more than look alike by all that is known.

        That is counted where a form does not do so. They look the same to the adversary, so each of
        their records may be a person's; that the release leaves more possible nobody says.
        """
        candidates = reduce(np.minimum, counts)
        if not self.unmatched:
            return candidates
        number = data.number(self.known) if self.known else np.zeros(data.n, dtype=np.int64)
        alike = data.count_people(number, int(number.max()) + 1)
        return np.minimum(candidates, alike[number])


def unite_roles(release: Release, data: Microdata, plan: Schema | None) -> Onlooker:
    """Take for known, and for sensitive, what release, microdata or plan call so."""
    said = {"the microdata": data.schema, **({"the plan": plan} if plan is not None else {})}
    conflicts, kept, secret = [], [], []
    known, certain = list(release.schema.quasi_identifiers), []
    for attribute in release.schema:
        name = attribute.name
        roles = {attribute.role}
        for where, schema in reversed(said.items()):
            if name not in schema.names:
                continue
            other = schema[name]
            if _word(other) != _word(attribute) and roles == {attribute.role}:
                conflicts.append(
                    f"{name} is {_word(attribute)} in the release and {_word(other)} in {where}"
                )
            if Coarsening.of(other) != Coarsening.of(attribute):
                conflicts.append(f"{name} is not as coarse in the release as {where} says")
            roles.add(other.role)
        identified = bool(roles & {Role.QUASI_IDENTIFIER, Role.IDENTIFIER})
        if identified and name not in known:
            known.append(name)
        if Role.SENSITIVE in roles and identified:
            certain.append(name)
        elif attribute.role is Role.OTHER and identified:
            kept.append(name)
        elif attribute.role is Role.OTHER and Role.SENSITIVE in roles:
            secret.append(name)
    seen = _show(release, kept, secret)
    told = [name for name in release.schema.sensitive if name not in certain]
    if seen is not None:
        told += secret
    else:
        seen = _show(release, kept, []) or release
        certain += secret
    matched = set(seen.schema.quasi_identifiers) | set(find_form(seen.form).matched_by(seen))
    unmatched = not set(known) <= matched
    if unmatched:  # what follows from that for the rest nobody says
        told, certain = [], [*told, *certain]
    unlisted = [n for n in release.schema.names if plan is not None and n not in plan.names]
    notes = [f"the plan says nothing of {', '.join(unlisted)}"] if unlisted else []
    return Onlooker(seen, known, told, secret, certain, unmatched, conflicts, notes)


def widen(schema: Schema, shown: Schema) -> Schema:
    """Give what a schema publishes, what people guard, and whatever else a release shows."""
    names = [a.name for a in schema if a.published]
    names += [a.name for a in schema if a.guards is not None and a.name not in shown.names]
    if schema.weight is not None and schema.weight not in shown.names:
        names.append(schema.weight)  # not published, and read for what is counted by it
    wanted = schema.only(names)
    more = [attribute for attribute in shown if attribute.name not in names]
    weight = schema.weight
    if weight is None and shown.weight in [attribute.name for attribute in more]:
        weight = shown.weight
    return replace(wanted, attributes=(*wanted, *more), weight=weight)


def _word(attribute: Attribute) -> str:
    if attribute.role is Role.OTHER and not attribute.keep:
        return "not published"
    return WORDS[attribute.role]


def _show(release: Release, kept: list[str], secret: list[str]) -> Release | None:
    """Give the release to somebody who knows some kept columns and learns of others.

    ``None`` where its form does not say what follows: records would have to show whose they are.
    """
    form = find_form(release.form)
    seen = form.add_known(release, kept) if kept else release
    if secret:
        changed = (replace(seen.schema[name], role=Role.SENSITIVE) for name in secret)
        seen = replace(seen, schema=seen.schema.changed(*changed))
    try:
        whose = all(view.shows_whose for view in seen.views)
    except StoreError:  # it is no release of its form any more
        return None
    return seen if whose or not secret else None
