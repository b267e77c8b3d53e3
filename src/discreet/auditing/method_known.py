"""What somebody learns who knows by which method a release was made; measured by the steward."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.auditing.wording import say_share


@dataclass(frozen=True)
class ShadowAttack:
    """Telling members of a table from others, learned on releases that the attacker makes."""

    auc: float
    """How often a member is put before another person; a half is chance."""
    low: float
    high: float
    """Of 95 %, by how shadow releases differ."""
    shadows: int
    """Releases of random halves that were made, each tried by what was learned of the others."""
    people: int
    """How many people each release was made from, and as many others were told from them."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        return dict(vars(self))

    def __str__(self) -> str:
        return (
            f"Membership, learned on shadow releases: a member is told from another person in "
            f"{self.auc:.1%} of pairs ({self.low:.1%} to {self.high:.1%}; chance: 50 %), over "
            f"{self.shadows} releases of {self.people:,} people by the plan's method."
        )


@dataclass(frozen=True)
class MinimalityAttack:
    """What follows from the release being the one the method makes of a table, and no other."""

    worst: Fraction
    """The largest belief in a value of anyone tried, to somebody who knows the method."""
    unaware: Fraction
    """The largest to somebody who knows the same people's values, but not the method."""
    raised: int
    """People tried whose largest belief the method raises."""
    tried: int
    worlds: int
    """Arrangements of values that were published again."""
    kept: int
    """Those that give this very release."""
    known: str
    """Whose values the adversary knows already."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        found = {**vars(self), "worst": float(self.worst), "unaware": float(self.unaware)}
        return {**found, "exact": str(self.worst)}

    def __str__(self) -> str:
        return (
            f"Minimality: who knows the method and {self.known} believes a value of somebody with "
            f"{say_share(self.worst)}, without the method {say_share(self.unaware)}; it raises the "
            f"belief about {self.raised:,} of {self.tried:,} people tried ({self.kept:,} of "
            f"{self.worlds:,} arrangements of values give this very release)."
        )


@dataclass(frozen=True)
class MethodKnown:
    """Both attacks, or why one was not made."""

    membership: ShadowAttack | str
    minimality: MinimalityAttack | str

    def to_dict(self) -> dict[str, Any]:
        """Give both as plain values, each with a sentence that says it."""
        said = zip(vars(self).items(), self.lines, strict=True)
        return {
            name: {**({} if isinstance(found, str) else found.to_dict()), "said": line}
            for (name, found), line in said
        }

    @property
    def lines(self) -> list[str]:
        """Both in words."""
        return [
            f"{name.capitalize()}, to who knows the method: not measured, as {found}."
            if isinstance(found, str)
            else str(found)
            for name, found in vars(self).items()
        ]
