"""Choosing: every method on the same table and the same questions, side by side."""

from __future__ import annotations

from discreet.choosing.comparison import Comparison, compare
from discreet.choosing.contenders import list_contenders
from discreet.choosing.trial import Refused, Trial

__all__ = ["Comparison", "Refused", "Trial", "compare", "list_contenders"]
