"""discreet: publish tables about people, and prove what is protected.

>>> import discreet as dc
>>> dc.KAnonymity(5).title
'k-anonymity'

Names are imported when first used, so that ``import discreet`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet import datasets as datasets
    from discreet import evaluate as evaluate
    from discreet.auditing import AuditReport as AuditReport
    from discreet.auditing import audit as audit
    from discreet.choosing import Comparison as Comparison
    from discreet.choosing import compare as compare
    from discreet.errors import DiscreetError as DiscreetError
    from discreet.evaluate import Tradeoff as Tradeoff
    from discreet.evaluate import tradeoff as tradeoff
    from discreet.groups import Groups as Groups
    from discreet.ledger import Ledger as Ledger
    from discreet.methods import Anatomy as Anatomy
    from discreet.methods import Angelization as Angelization
    from discreet.methods import Generalization as Generalization
    from discreet.methods import Permutation as Permutation
    from discreet.methods import Perturbation as Perturbation
    from discreet.methods import RankSwapping as RankSwapping
    from discreet.methods import Sequential as Sequential
    from discreet.methods import Slicing as Slicing
    from discreet.methods import publish as publish
    from discreet.microdata import Microdata as Microdata
    from discreet.microdata import read as read
    from discreet.plan import Plan as Plan
    from discreet.principles import KE as KE
    from discreet.principles import AlphaK as AlphaK
    from discreet.principles import DistinctDiversity as DistinctDiversity
    from discreet.principles import EntropyDiversity as EntropyDiversity
    from discreet.principles import FrequencyDiversity as FrequencyDiversity
    from discreet.principles import KAnonymity as KAnonymity
    from discreet.principles import Principle as Principle
    from discreet.principles import Proximity as Proximity
    from discreet.principles import RecursiveDiversity as RecursiveDiversity
    from discreet.principles import TCloseness as TCloseness
    from discreet.principles import Variance as Variance
    from discreet.principles import XYAnonymity as XYAnonymity
    from discreet.principles import XYLinkability as XYLinkability
    from discreet.ratings import read_ratings as read_ratings
    from discreet.release import Release as Release
    from discreet.schema import Attribute as Attribute
    from discreet.schema import Missing as Missing
    from discreet.schema import Role as Role
    from discreet.schema import Schema as Schema
    from discreet.schema import Type as Type
    from discreet.store import load as load
    from discreet.taxonomy import Dates as Dates
    from discreet.taxonomy import Intervals as Intervals
    from discreet.taxonomy import Prefixes as Prefixes
    from discreet.taxonomy import Taxonomy as Taxonomy

__version__ = "0.1.0"

_ROOMS = {
    "auditing": ("AuditReport", "audit"),
    "choosing": ("Comparison", "compare"),
    "errors": ("DiscreetError",),
    "evaluate": ("Tradeoff", "tradeoff"),
    "groups": ("Groups",),
    "ledger": ("Ledger",),
    "methods": (
        "Anatomy",
        "Angelization",
        "Generalization",
        "Permutation",
        "Perturbation",
        "RankSwapping",
        "Sequential",
        "Slicing",
        "publish",
    ),
    "microdata": ("Microdata", "read"),
    "plan": ("Plan",),
    "principles": (
        "KE",
        "AlphaK",
        "DistinctDiversity",
        "EntropyDiversity",
        "FrequencyDiversity",
        "KAnonymity",
        "Principle",
        "Proximity",
        "RecursiveDiversity",
        "TCloseness",
        "Variance",
        "XYAnonymity",
        "XYLinkability",
    ),
    "ratings": ("read_ratings",),
    "release": ("Release",),
    "schema": ("Attribute", "Missing", "Role", "Schema", "Type"),
    "store": ("load",),
    "taxonomy": ("Dates", "Intervals", "Prefixes", "Taxonomy"),
}
_SUBPACKAGES = ("datasets", "evaluate")
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [*_HOMES, *_SUBPACKAGES]  # noqa: PLE0604 -- the same names as above, checked by a test


def __getattr__(name: str) -> object:
    if name in _SUBPACKAGES:
        return import_module(f"discreet.{name}")
    if name in _HOMES:
        return getattr(import_module(f"discreet.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
