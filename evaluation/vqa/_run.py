"""Runs a model on a benchmark into a run folder, or goes on with a run that was interrupted."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Any

from evaluation.answers import PARSER_VERSION
from evaluation.items import ItemFormat
from evaluation.models import check_model, is_offline
from evaluation.vqa._aggregate import (
    count_items,
    count_outcomes,
    metrics_by,
    metrics_of,
    sum_usage,
    summarise_judge,
)
from evaluation.vqa._asking import Asker
from evaluation.vqa._benchmark import Benchmark, BenchmarkError
from evaluation.vqa._config import Configuration, VqaConfig
from evaluation.vqa._images import ImageSource
from evaluation.vqa._load import load_benchmark
from evaluation.vqa._predictions import Prediction, Predictions
from evaluation.vqa._requests import Requests, prompt_names
from evaluation.vqa._results import Provenance, VqaResults
from evaluation.vqa._rows import BenchmarkRow
from evaluation.vqa._run_folder import RunFolder, write_whole
from evaluation.vqa._scoring import CHANCE, ItemScore
from evaluation.vqa._task import build_task

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

    from evaluation.items.prompts import PromptLibrary

OnProgress = Callable[[int, int], None]
"""Called with how many items are done and how many there are."""

_PACKAGES = ("histocurator", "inspect_ai", "openai", "anthropic", "numpy", "pillow", "pyarrow")


def run_vqa(config: VqaConfig, on_progress: OnProgress | None = None) -> VqaResults:
    """Evaluate a model, write the run folder and return the results.

    A folder whose run of the same configuration is complete is only read; an incomplete one is gone on with:
    each call that has an answer on disk is kept, each that failed or was never made is made. Calls
    inspect_ai's `eval` once, so that this must not be called from a running event loop.

    Raises:
        BenchmarkError: the benchmark cannot be used, or no item is left after the filters.
        ModelConfigurationError: a model cannot be used on this machine.
        RunFolderError: the folder belongs to something else, or another process evaluates into it.
        PredictionsError: the folder's predictions are damaged.
        PromptError: a prompt cannot be used.
    """
    from evaluation.items.prompts import PromptLibrary

    benchmark = load_benchmark(config.benchmark, config.revision)
    items = select_items(benchmark, config)
    formats = {item.question_type for item in items}
    check_model(config.model)
    if "free_text" in formats:
        check_model(config.judge)
    images = ImageSource(benchmark, config.ablation, config.seed)
    prompts = PromptLibrary(config.prompts)
    configuration = _configuration(config, benchmark, prompts, formats)
    requests = Requests(config, prompts)
    requests.check(items)
    folder = RunFolder(config.out)
    finished = folder.check(configuration)
    if finished is not None:
        return finished
    with folder.held():
        predictions = Predictions(folder.predictions)
        started, sittings = folder.begin(configuration)
        asker = Asker(config, requests, images, predictions, config.limits)
        try:
            _ask_all(config, items, asker, folder, on_progress)
        except RuntimeError:
            # What stopped the items: a reply that could not be kept, on a full disk.
            if predictions.fault is not None:
                raise predictions.fault from None
            raise
        predictions.rewrite([key for item in items for key in asker.keys(item)])
        results = _results(config, benchmark, items, asker, list(predictions), images, configuration, started, sittings)
        write_whole(folder.results, results.model_dump_json(indent=2) + "\n")
    return results


def select_items(benchmark: Benchmark, config: VqaConfig) -> list[BenchmarkRow]:
    """Return the items that a configuration asks about, in stored order.

    Raises:
        BenchmarkError: no item is of the organ or category; names those that there are.
    """
    items = list(benchmark.items)
    for name, wanted in (("organ", config.organ), ("category", config.category)):
        if wanted is None:
            continue
        left = [item for item in items if getattr(item, name).casefold() == wanted.casefold()]
        if not left:
            there = ", ".join(sorted({getattr(item, name) for item in items}))
            raise BenchmarkError(benchmark.where, [f"no item is left with the {name} {wanted!r}"], f"It has: {there}.")
        items = left
    return items[: config.limit]


def _configuration(
    config: VqaConfig, benchmark: Benchmark, prompts: PromptLibrary, formats: set[ItemFormat]
) -> Configuration:
    return Configuration(
        benchmark_sha256=benchmark.sha256,
        prompts={name: prompts.sha256(name) for name in prompt_names(formats, config.kprim_mode)},
        parser_version=PARSER_VERSION,
        **config.model_dump(include=set(Configuration.model_fields) - {"prompts"}),
    )


def _ask_all(
    config: VqaConfig,
    items: Sequence[BenchmarkRow],
    asker: Asker,
    folder: RunFolder,
    on_progress: OnProgress | None,
) -> None:
    """Ask every item that is not settled, in one inspect_ai evaluation whose log lies in the run folder."""
    from inspect_ai import eval as inspect_eval

    open_items = [item for item in items if not asker.is_settled(item)]
    done = len(items) - len(open_items)

    def report(score: ItemScore | None = None) -> None:
        nonlocal done
        done += score is not None
        if on_progress is not None:
            on_progress(done, len(items))

    report()
    if not open_items:
        return
    logs = inspect_eval(
        build_task(open_items, asker, report),
        model=config.model,
        log_dir=str(folder.logs),
        display="none",
        log_level="warning",
        log_images=False,
        log_realtime=False,
        log_header_only=True,
        ctl_server=False,
        score_display=False,
        fail_on_error=False,
        max_samples=config.concurrency,
        max_connections=config.concurrency,
        **config.limits.model_dump(),
    )
    if not logs:
        # inspect_ai takes an interrupt for itself and returns without a log.
        raise KeyboardInterrupt
    _require_finished(logs[0])


def _require_finished(log: EvalLog) -> None:
    """Make sure that every sample ran: a provider's faults are outcomes, so that an error is one of our own.

    Raises:
        KeyboardInterrupt: the evaluation was interrupted.
        RuntimeError: it stopped.
    """
    from inspect_ai.log import read_eval_log_sample_summaries

    if log.status == "cancelled":
        raise KeyboardInterrupt
    errors = [sample.error for sample in read_eval_log_sample_summaries(log.location) if sample.error]
    if log.error is not None:
        errors.append(log.error.message)
    if errors:
        raise RuntimeError(f"{len(errors)} items stopped with an error, first: {errors[0]}. Log: {log.location}")


def _results(
    config: VqaConfig,
    benchmark: Benchmark,
    items: Sequence[BenchmarkRow],
    asker: Asker,
    predictions: Sequence[Prediction],
    images: ImageSource,
    configuration: Configuration,
    started: str,
    sittings: int,
) -> VqaResults:
    scores = [asker.score(item) for item in items]
    n_failed = sum(score.score is None for score in scores)
    counts = count_items(scores)
    answers = [prediction for prediction in predictions if prediction.role == "answer"]
    sent = {json.dumps(answer.sent, sort_keys=True, default=str): answer.sent for answer in answers if answer.sent}
    provenance = Provenance(
        benchmark=benchmark.where,
        benchmark_revision=benchmark.revision,
        configuration=configuration,
        model_is_language_model=not is_offline(config.model),
        packages=_versions(),
        python=platform.python_version(),
        started=started,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        sittings=sittings,
        parameters_sent=[sent[text] for text in sorted(sent)],
        parameters_dropped=sorted({name for answer in answers for name in answer.dropped}),
        random_images_of_the_same_slide=images.same_slide_count() if config.ablation == "random" else None,
    )
    return VqaResults(
        complete=n_failed == 0,
        n_items=len(items),
        n_failed=n_failed,
        metrics=metrics_of(scores, config.seed),
        chance={name: CHANCE[name] for name in counts},
        outcomes=count_outcomes(scores),
        items=counts,
        by_category=metrics_by(scores, lambda item: item.category, config.seed),
        by_organ=metrics_by(scores, lambda item: item.organ, config.seed),
        judge=summarise_judge(config.judge, not is_offline(config.judge), scores, predictions),
        usage=sum_usage(predictions),
        warnings=_warnings(config, scores, predictions),
        provenance=provenance,
    )


def _versions() -> dict[str, str]:
    versions: dict[str, Any] = {}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed as a distribution"
    return versions


def _why_calls_failed(predictions: Sequence[Prediction]) -> str:
    """Name the most frequent reason for which calls failed."""
    errors = Counter(call.error for call in predictions if call.call_outcome == "failed" and call.error)
    if not errors:
        return ""
    (error, count), *_ = errors.most_common(1)
    return f"Most often ({count} of {errors.total()} calls): {error}"


def _warnings(config: VqaConfig, scores: Sequence[ItemScore], predictions: Sequence[Prediction]) -> list[str]:
    """Say in words what a reader of the scores must know."""
    warnings = []
    if is_offline(config.model):
        warnings.append(f"{config.model} is a built-in baseline, not a language model.")
    if is_offline(config.judge) and any(score.item.question_type == "free_text" for score in scores):
        warnings.append(
            f"Free text was marked by {config.judge}, which compares words and is no language model: "
            "its marks are not comparable with those of a language-model judge."
        )
    failed = sum(score.score is None for score in scores)
    if failed:
        warnings.append(
            f"{failed} of {len(scores)} items are unscored because a call failed; they are in no mean. "
            f"Run the same command again to ask only those. {_why_calls_failed(predictions)}".rstrip()
        )
    asked = {score.item.question_type for score in scores}
    scored = {score.item.question_type for score in scores if score.score is not None}
    if scored and scored != asked:
        warnings.append(
            f"Overall is the mean of {' and '.join(sorted(scored))} alone: no item of "
            f"{' or '.join(sorted(asked - scored))} could be scored."
        )
    truncated = sum(call.call_outcome == "truncated" and call.role == "answer" for call in predictions)
    if truncated:
        warnings.append(
            f"{truncated} replies were cut at {config.max_tokens} tokens and count as unparsed. "
            "Allow more tokens in a new run."
        )
    return warnings
