"""A synthetic census of any size, with the correlations that make grouping interesting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.table.microdata import Microdata, read
from discreet.table.schema import Attribute, Missing, Role, Schema, Type

QUASI_IDENTIFIERS = (
    "age",
    "sex",
    "region",
    "education",
    "marital",
    "household",
    "birthplace",
    "workclass",
)
MARITAL = ("single", "married", "separated", "divorced", "widowed", "partnership")
WORKCLASS = ("private", "government", "self-employed", "family", "none", "military", "other")


def census_frame(n: int, seed: int = 0) -> pl.DataFrame:
    """Draw ``n`` people: eight quasi-identifiers, an occupation and an income.

    Age shapes marital state, household and work; education shapes occupation; occupation, age
    and hours shape income. Regions and birthplaces are skewed as real ones are.
    """
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(6.5, 6.8, n) + 12, 17, 95).astype(np.int32)
    sex = (rng.random(n) < 0.52).astype(np.int32)
    region = _skewed(rng, n, 50, 0.9)
    birthplace = np.where(rng.random(n) < 0.86, 0, 1 + _skewed(rng, n, 59, 1.1))
    youth = (age < 25).astype(np.int32)
    education = np.clip(rng.normal(9 - 3 * youth, 2.6, n).round(), 0, 15).astype(np.int32)
    grown = np.clip((age - 17) / 25, 0, 1)
    never = rng.random(n) > grown
    marital = np.where(never, 0, 1 + _skewed(rng, n, 5, 1.4))
    marital = np.where((age > 70) & (rng.random(n) < 0.4), 4, marital).astype(np.int32)
    household = np.clip(1 + rng.poisson(0.6 + 1.5 * (marital == 1), n), 1, 8).astype(np.int32)
    workclass = np.where(age > 67, 4, _skewed(rng, n, 7, 1.3)).astype(np.int32)
    occupation = (education * 1.5 + rng.normal(0, 4, n) + 3 * sex).round().astype(np.int32) % 25
    scale = 9.2 + 0.07 * education + 0.03 * occupation + 0.5 * np.clip((age - 17) / 30, 0, 1)
    income = np.exp(rng.normal(scale, 0.5, n)).round(-1).astype(np.int32)
    return pl.DataFrame(
        {
            "age": age,
            "sex": _named(sex, ("male", "female")),
            "region": _named(region, [f"R{i:02}" for i in range(50)]),
            "education": education,
            "marital": _named(marital, MARITAL),
            "household": household,
            "birthplace": _named(birthplace, [f"B{i:02}" for i in range(60)]),
            "workclass": _named(workclass, WORKCLASS),
            "occupation": _named(occupation, [f"O{i:02}" for i in range(25)]),
            "income": income,
        }
    )


def census(n: int, seed: int = 0, *, sensitive: str | Sequence[str] = "occupation") -> Microdata:
    """Give a synthetic census as microdata.

    >>> census(1000, seed=1).n
    1000
    """
    named = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    frame = census_frame(n, seed)
    return read(frame, census_schema(frame, named))


def census_schema(frame: pl.DataFrame, sensitive: Sequence[str]) -> Schema:
    """Give the schema of a census frame: numbers as integers, the rest as categories."""
    attributes = []
    for name, dtype in frame.schema.items():
        role = (
            Role.SENSITIVE
            if name in sensitive
            else Role.QUASI_IDENTIFIER
            if name in QUASI_IDENTIFIERS
            else Role.OTHER
        )
        kind = Type.INTEGER if dtype.is_integer() else Type.CATEGORY
        attributes.append(Attribute(name, role, kind, Missing.REJECT))
    return Schema(tuple(attributes))


def _skewed(rng: np.random.Generator, n: int, size: int, power: float) -> NDArray[np.int32]:
    """Draw codes whose frequency falls as a power of their rank."""
    shares = np.cumsum(1 / np.arange(1, size + 1) ** power)
    return np.searchsorted(shares / shares[-1], rng.random(n)).astype(np.int32)


def _named(codes: NDArray[np.integer], names: Sequence[str]) -> pl.Series:
    return pl.Series(names, dtype=pl.Enum(list(names))).gather(codes)
