"""Evaluate: what a release loses, for the steward who chooses."""

from __future__ import annotations

from discreet.evaluate.bayes import NaiveBayes, learn_bayes
from discreet.evaluate.distributions import compare_distributions, measure_sensitive_loss
from discreet.evaluate.divergence import measure_divergence
from discreet.evaluate.loss import Loss, measure_loss
from discreet.evaluate.tradeoffs import Tradeoff, tradeoff
from discreet.evaluate.workload import count_truth, draw_ranges, draw_workload, measure_error
from discreet.forms.estimates import Estimator, estimate_counts
from discreet.forms.workload import Workload

__all__ = [
    "Estimator",
    "Loss",
    "NaiveBayes",
    "Tradeoff",
    "Workload",
    "compare_distributions",
    "count_truth",
    "draw_ranges",
    "draw_workload",
    "estimate_counts",
    "learn_bayes",
    "measure_divergence",
    "measure_error",
    "measure_loss",
    "measure_sensitive_loss",
    "tradeoff",
]
