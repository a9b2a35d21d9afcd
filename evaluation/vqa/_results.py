"""What an evaluation reports: `results.json` as a typed document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from evaluation.items import ItemFormat
from evaluation.vqa._config import Configuration

MetricName = Literal["mcq", "kprim", "free_text", "overall"]

RESULTS_VERSION = 1
"""Raised when a field of `results.json` changes its meaning."""


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True)


class Metric(_Document):
    """A mean score (0 to 1) over `n` scored items, with its 95 % bootstrap interval (None below two items).

    `overall` is the unweighted mean of the format means that are present (VIPER), its `n` all their items.
    """

    mean: float
    n: int
    ci95: tuple[float, float] | None


class OutcomeCounts(_Document):
    """How many answers of a format came to each outcome.

    For an mcq each rotation is an answer, for a kprim by statement each statement. A free text that its judge
    could not mark counts as failed.
    """

    scored: int = 0
    unparsed: int = 0
    refused: int = 0
    failed: int = 0


class ItemCounts(_Document):
    """How many items of a format were asked, and how many of them have a score."""

    asked: int
    scored: int


class JudgeSummary(_Document):
    """Who marked the free texts, how many replies were invalid, and how many items stayed unmarked."""

    model: str
    is_language_model: bool
    calls: int
    invalid_replies: int
    items_unmarked: int


class Usage(_Document):
    """What the run's calls cost; what a provider does not report is left out of the sums."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    truncated: int


class Provenance(_Document):
    """All that is needed to trace and repeat a run. Times are UTC.

    `parameters_sent` lists each distinct set of parameters that reached the provider under test,
    `parameters_dropped` those that it does not take. `sittings` counts the first run and every resumption.
    """

    benchmark: str
    benchmark_revision: str | None
    configuration: Configuration
    model_is_language_model: bool
    packages: dict[str, str]
    python: str
    started: str
    finished: str
    sittings: int
    parameters_sent: list[dict[str, Any]]
    parameters_dropped: list[str]
    random_images_of_the_same_slide: int | None = None


class VqaResults(_Document):
    """The results of a run.

    `by_category` and `by_organ` hold the same metrics over the items of each. `chance` is the expected score
    of uniform guessing (None where there is none). `n_failed` items are unscored because a call or the judge
    failed: they are in no mean, and `complete` is then false.
    """

    version: int = RESULTS_VERSION
    benchmark_task: Literal["vqa"] = "vqa"
    complete: bool
    n_items: int
    n_failed: int
    metrics: dict[MetricName, Metric]
    chance: dict[ItemFormat, float | None]
    outcomes: dict[ItemFormat, OutcomeCounts]
    items: dict[ItemFormat, ItemCounts]
    by_category: dict[str, dict[MetricName, Metric]]
    by_organ: dict[str, dict[MetricName, Metric]]
    judge: JudgeSummary | None
    usage: Usage
    warnings: list[str] = Field(default_factory=list)
    provenance: Provenance
