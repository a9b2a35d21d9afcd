"""Intervals and tests on item scores, as the papers of this field compute them."""

from evaluation.statistics._bootstrap import (
    CONFIDENCE,
    RESAMPLES,
    Interval,
    bootstrap_group_means_interval,
    bootstrap_mean_interval,
)

__all__ = [
    "CONFIDENCE",
    "RESAMPLES",
    "Interval",
    "bootstrap_group_means_interval",
    "bootstrap_mean_interval",
]
