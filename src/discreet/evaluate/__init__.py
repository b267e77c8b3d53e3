"""Evaluate: what a release loses, for the steward who chooses."""

from __future__ import annotations

from discreet.evaluate.loss import Loss, measure_loss

__all__ = ["Loss", "measure_loss"]
