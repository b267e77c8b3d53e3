"""Analysis: what analysts do beyond single questions, from a release alone."""

from __future__ import annotations

from discreet.analysis.imputation import Combined, combine, impute
from discreet.analysis.regression import Fit, regress
from discreet.analysis.tabulation import Crosstab, Histogram, crosstab, histogram

__all__ = [
    "Combined",
    "Crosstab",
    "Fit",
    "Histogram",
    "combine",
    "crosstab",
    "histogram",
    "impute",
    "regress",
]
