"""Planned columns: what a plan says of each by its name, and of many by their roles."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import PlanError, name_closest
from discreet.steward.sections import ColumnPlan, RolesPlan, SourcePlan
from discreet.table.schema import Role, Schema

ANY = "*"
"""Stands in a pattern for whatever characters, or none; all others for themselves."""


@dataclass(frozen=True)
class PlannedColumns:
    """The sections of a plan that make the schema, once the columns of the table are known."""

    sections: Mapping[str, ColumnPlan]
    roles: RolesPlan
    source: SourcePlan
    folder: Path
    """Where the plan lies, and taxonomies from there."""

    @property
    def has_patterns(self) -> bool:
        """Whether it takes the names of the table's columns to know who has a role."""
        return any(ANY in name for names in self.roles.by_role.values() for name in names)

    def describe(self, known: Sequence[str]) -> Schema:
        """Make the schema of a table with some columns."""
        roles = self._spread(known)
        attributes = []
        for name in dict.fromkeys((*self.sections, *roles)):
            section = self.sections.get(name, ColumnPlan())
            place, role = roles.get(name, ("", section.role))
            if role is None:
                raise PlanError(
                    f"columns.{name}: role is missing.",
                    hint="Give it there, or list the column under [roles].",
                )
            if section.role not in (None, role):
                raise PlanError(
                    f"{place} makes {name!r} {role}, and columns.{name}.role makes it "
                    f"{section.role}.",
                    hint="Keep one of them.",
                )
            attributes.append(section.make(name, role, self.folder, self.source))
        return Schema(tuple(attributes), self.source.make_key(), self.source.weight)

    def _spread(self, known: Sequence[str]) -> dict[str, tuple[str, Role]]:
        """Give every column that a role is listed for its role, and the place that says so."""
        given: dict[str, tuple[str, Role]] = {}
        for role, names in self.roles.by_role.items():
            for pattern in names:
                place = f"roles.{role} = {pattern!r}"
                for name in _match(pattern, known, place):
                    before, other = given.setdefault(name, (place, role))
                    if other is not role:
                        raise PlanError(
                            f"{before} and {place} both take {name!r}.",
                            hint="Give every column one role.",
                        )
        return given


def _match(pattern: str, known: Sequence[str], place: str) -> list[str]:
    """List the columns that a pattern stands for; a name without one stands for itself."""
    if ANY not in pattern:
        return [pattern]
    wanted = re.compile(".*".join(map(re.escape, pattern.split(ANY))), re.DOTALL)
    found = [name for name in known if wanted.fullmatch(name)]
    if not found:
        raise PlanError(
            f"{place} matches no column of the table.",
            hint=name_closest(pattern.replace(ANY, ""), [*known]),
        )
    return found
