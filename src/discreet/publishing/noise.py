"""Noise: whole numbers of the discrete Laplace distribution, by OpenDP.

What is drawn for a release that goes out is drawn by OpenDP, from the operating system's generator
and exactly, so that floating-point numbers open no side door (Mironov, CCS 2012; Canonne, Kamath,
Steinke, NeurIPS 2020). OpenDP takes no seed. A release that is made with one, for tests and
comparisons, is of the same distribution, drawn otherwise, and protects nothing.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, nextafter
from typing import Any

import numpy as np

from discreet.errors import SchemaError
from discreet.publishing.draws import Draws, SeededDraws
from discreet.table.arrays import Ints


def find_scale(epsilon: Fraction, sensitivity: int) -> float:
    """Give a scale at which a change by so much in all is told with ε at most.

    It is the next number above the quotient where that is none of 53 bits.
    """
    scale = float(sensitivity / epsilon)
    while sensitivity / Fraction(scale) > epsilon:
        scale = nextafter(scale, inf)
    return scale


def add_noise(counts: Ints, scale: float, draws: Draws) -> Ints:
    """Add a draw to every count, each by itself."""
    if isinstance(draws, SeededDraws):
        return counts + _draw_seeded(len(counts), scale, draws)
    dp = _import_opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measurement = dp.m.make_laplace(*space, scale=scale)
    return np.array(measurement(counts.tolist()), dtype=np.int64)


def _draw_seeded(count: int, scale: float, draws: Draws) -> Ints:
    """Draw from the same distribution as the difference of two geometric numbers."""
    q = exp(-1 / scale)
    one, other = (np.floor(np.log1p(-draws.shares(count)) / np.log(q)) for _ in range(2))
    return np.asarray(one - other, dtype=np.int64)


def _import_opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise SchemaError(
            "Noise for differential privacy is drawn by OpenDP, which is not installed.",
            hint="Install it: pip install 'discreet[dp]'",
        ) from error
    dp.enable_features("contrib")
    return dp
