"""Choosing: every method on the same table and the same questions, side by side."""

from __future__ import annotations

from discreet.steward.choosing.comparison import Comparison, compare
from discreet.steward.choosing.trial import Refused, Trial, list_contenders

__all__ = ["Comparison", "Refused", "Trial", "compare", "list_contenders"]
