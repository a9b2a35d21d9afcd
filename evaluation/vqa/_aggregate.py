"""From item scores to means, intervals and counts: over formats, categories and organs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from evaluation.items import ITEM_FORMATS, ItemFormat
from evaluation.statistics import Interval, bootstrap_group_means_interval
from evaluation.vqa._predictions import Prediction
from evaluation.vqa._results import ItemCounts, JudgeSummary, Metric, MetricName, OutcomeCounts, Usage
from evaluation.vqa._rows import BenchmarkRow
from evaluation.vqa._scoring import ItemScore


def metrics_of(scores: Sequence[ItemScore], seed: int) -> dict[MetricName, Metric]:
    """Return the mean of each format that has a scored item and, from those means, the overall score.

    The overall score weighs the formats equally, however many items each has (VIPER Table 1).
    """
    values = {
        name: [score.score for score in scores if score.item.question_type == name and score.score is not None]
        for name in ITEM_FORMATS
    }
    present = {name: found for name, found in values.items() if found}
    metrics: dict[MetricName, Metric] = {name: _metric([found], len(found), seed) for name, found in present.items()}
    if present:
        metrics["overall"] = _metric(list(present.values()), sum(map(len, present.values())), seed)
    return metrics


def _metric(groups: Sequence[Sequence[float]], n: int, seed: int) -> Metric:
    means = [sum(group) / len(group) for group in groups]
    interval: Interval | None = None
    if all(len(group) > 1 for group in groups):
        interval = bootstrap_group_means_interval(groups, seed=seed)
    return Metric(mean=sum(means) / len(means), n=n, ci95=tuple(interval) if interval else None)


def metrics_by(
    scores: Sequence[ItemScore], label: Callable[[BenchmarkRow], str], seed: int
) -> dict[str, dict[MetricName, Metric]]:
    """Return `metrics_of` for the items under each label, in alphabetical order."""
    groups: dict[str, list[ItemScore]] = defaultdict(list)
    for score in scores:
        groups[label(score.item)].append(score)
    return {name: metrics_of(groups[name], seed) for name in sorted(groups)}


def count_outcomes(scores: Iterable[ItemScore]) -> dict[ItemFormat, OutcomeCounts]:
    """Count the answers' outcomes for each format that was asked."""
    counts: dict[ItemFormat, Counter[str]] = defaultdict(Counter)
    for score in scores:
        counts[score.item.question_type].update(score.outcomes)
    return {name: OutcomeCounts.model_validate(counts[name]) for name in ITEM_FORMATS if name in counts}


def count_items(scores: Sequence[ItemScore]) -> dict[ItemFormat, ItemCounts]:
    """Count asked and scored items for each format that was asked."""
    asked = Counter(score.item.question_type for score in scores)
    scored = Counter(score.item.question_type for score in scores if score.score is not None)
    return {name: ItemCounts(asked=asked[name], scored=scored[name]) for name in ITEM_FORMATS if asked[name]}


def summarise_judge(
    model: str, is_language_model: bool, scores: Sequence[ItemScore], predictions: Iterable[Prediction]
) -> JudgeSummary | None:
    """Return what the judge did, or None where no free text was asked."""
    if not any(score.item.question_type == "free_text" for score in scores):
        return None
    calls = [prediction for prediction in predictions if prediction.role == "judge"]
    marked = {call.item_id for call in calls if call.outcome == "scored"}
    return JudgeSummary(
        model=model,
        is_language_model=is_language_model,
        calls=len(calls),
        invalid_replies=sum(call.call_outcome != "failed" and call.outcome != "scored" for call in calls),
        items_unmarked=len({call.item_id for call in calls} - marked),
    )


def sum_usage(predictions: Sequence[Prediction]) -> Usage:
    """Add up tokens and prices over all calls."""
    prices = [prediction.cost_usd for prediction in predictions if prediction.cost_usd is not None]
    return Usage(
        calls=len(predictions),
        input_tokens=sum(prediction.input_tokens or 0 for prediction in predictions),
        output_tokens=sum(prediction.output_tokens or 0 for prediction in predictions),
        cost_usd=sum(prices) if prices else None,
        truncated=sum(prediction.call_outcome == "truncated" for prediction in predictions),
    )
