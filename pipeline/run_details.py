"""Inside a run: each item's replies and score, where a model is weak, and how it is drawn to places and to yes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, pvariance

from sqlmodel import col, select

from db.tables import Item, Roi, Run, Seed
from evaluation.answers import AnswerOutcome
from evaluation.items import OPTION_COUNT, OPTION_LETTERS
from evaluation.vqa import (
    BenchmarkError,
    BenchmarkRow,
    Prediction,
    Predictions,
    PredictionsError,
    VqaResults,
    load_benchmark,
    score_item,
)
from pipeline.benchmarks import load_results
from pipeline.errors import InputError
from pipeline.permissions import Permission, needs
from pipeline.workspace import Workspace

PREDICTIONS_FILE = "predictions.jsonl"


@dataclass(frozen=True)
class RunItem:
    """One item of a run: the question (`row`, without its image), what came back and what it scored.

    `answers` are the rotations of an MCQ, the statements of a KPrim, or one reply; `verdict` is the judge's
    last word on a free text. `score` is 0 to 1, or None where a call failed.
    """

    row: BenchmarkRow
    score: float | None
    outcomes: tuple[AnswerOutcome, ...]
    answers: tuple[Prediction, ...]
    verdict: Prediction | None


@dataclass(frozen=True)
class RunDetails:
    """A run with its items by item id, in stored order."""

    run: Run
    results: VqaResults
    items: dict[str, RunItem]


@dataclass(frozen=True)
class Cell:
    """A score over `n` scored items: the unweighted mean of the means of the formats that are present.

    That is how VIPER's overall score is formed, so that a cell compares with the run's row.
    """

    mean: float
    n: int


@dataclass(frozen=True)
class PlaceCounts:
    """How often each place (A to E) was answered as shown, and how often the right option stood there."""

    answered: dict[str, int]
    right_there: dict[str, int]


@dataclass(frozen=True)
class TrueRate:
    """How many KPrim verdicts said true, how many statements are true, among `n` read verdicts."""

    said_true: int
    are_true: int
    n: int


@dataclass(frozen=True)
class DisputedItem:
    """An item with its scores by run id; `disagreement` is their population variance (0 for one run)."""

    item_id: str
    row: BenchmarkRow
    scores: dict[str, float | None]
    disagreement: float
    mean: float


def load_rows(results: VqaResults) -> dict[str, BenchmarkRow]:
    """Read the questions that a run asked, without their images, by item id in stored order.

    Raises:
        InputError: the benchmark is gone, or is not the one that was evaluated any more.
    """
    provenance = results.provenance
    try:
        benchmark = load_benchmark(provenance.benchmark, provenance.benchmark_revision)
    except BenchmarkError as error:
        raise InputError(f"The benchmark of this run cannot be read, so its items cannot be shown: {error}") from None
    if benchmark.sha256 != provenance.configuration.benchmark_sha256:
        raise InputError(
            f"{provenance.benchmark} is not what it was when this run was made (its content's SHA-256 differs). "
            "The scores stand; to see the items, put the old benchmark back."
        )
    return {row.identity(): row.model_copy(update={"image": b""}) for row in benchmark.items}


def read_run(run: Run, rows: Mapping[str, BenchmarkRow]) -> RunDetails:
    """Put a run's replies together with its questions.

    Args:
        run: a registered run.
        rows: the questions of its benchmark, from `load_rows`.

    Raises:
        InputError: results or predictions cannot be read.
    """
    results = load_results(run)
    path = Path(run.path) / PREDICTIONS_FILE
    if not path.is_file():
        raise InputError(f"The replies of run {run.id} are gone: there is no {path}")
    try:
        predictions = Predictions(path)
    except PredictionsError as error:
        raise InputError(str(error)) from None
    configuration = results.provenance.configuration
    by_item: dict[str, list[Prediction]] = defaultdict(list)
    for prediction in predictions:
        by_item[prediction.item_id].append(prediction)
    items: dict[str, RunItem] = {}
    for item_id, row in rows.items():
        if item_id not in by_item:
            continue
        score = score_item(row, predictions, configuration.rotations, configuration.kprim_mode)
        answers = sorted((p for p in by_item[item_id] if p.role == "answer"), key=lambda p: p.part)
        verdicts = sorted((p for p in by_item[item_id] if p.role == "judge"), key=lambda p: p.part)
        items[item_id] = RunItem(row, score.score, score.outcomes, tuple(answers), verdicts[-1] if verdicts else None)
    return RunDetails(run, results, items)


def _overall(items: Sequence[RunItem]) -> Cell | None:
    by_format: dict[str, list[float]] = defaultdict(list)
    for item in items:
        if item.score is not None:
            by_format[item.row.question_type].append(item.score)
    if not by_format:
        return None
    return Cell(fmean(fmean(scores) for scores in by_format.values()), sum(map(len, by_format.values())))


def heat_map(details: RunDetails) -> dict[tuple[str, str], Cell]:
    """Return the score by (category, organ); a pair without a scored item is absent."""
    groups: dict[tuple[str, str], list[RunItem]] = defaultdict(list)
    for item in details.items.values():
        groups[item.row.category, item.row.organ].append(item)
    cells = {pair: _overall(group) for pair, group in groups.items()}
    return {pair: cell for pair, cell in cells.items() if cell is not None}


def count_places(details: RunDetails) -> PlaceCounts | None:
    """Count the places that MCQ replies chose, as they were shown; None where no MCQ was asked.

    Over all five rotations the right option stands at each place equally often; with fewer it need not.
    """
    answered: Counter[str] = Counter()
    right_there: Counter[str] = Counter()
    asked = False
    for item in details.items.values():
        if item.row.question_type != "mcq":
            continue
        asked = True
        for answer in item.answers:
            if answer.outcome == "scored":
                answered[str(answer.parsed)] += 1
                # Rotation r shows stored option (place + r) at each place (evaluation.vqa).
                right_there[OPTION_LETTERS[(item.row.key - answer.part) % OPTION_COUNT]] += 1
    if not asked:
        return None
    return PlaceCounts(
        {letter: answered[letter] for letter in OPTION_LETTERS},
        {letter: right_there[letter] for letter in OPTION_LETTERS},
    )


def count_true(details: RunDetails) -> TrueRate | None:
    """Count how often KPrim verdicts said true; None where no KPrim item was asked."""
    said_true = are_true = n = 0
    asked = False
    for item in details.items.values():
        if item.row.question_type != "kprim":
            continue
        asked = True
        for answer in item.answers:
            if answer.outcome != "scored":
                continue
            together = isinstance(answer.parsed, list | tuple)
            verdicts = list(answer.parsed) if together else [answer.parsed]
            facts = item.row.truth if together else (item.row.truth[answer.part],)
            said_true += sum(bool(verdict) for verdict in verdicts)
            are_true += sum(facts)
            n += len(verdicts)
    return TrueRate(said_true, are_true, n) if asked else None


def most_disputed(
    runs: Sequence[RunDetails], *, wanted: Callable[[BenchmarkRow], bool] = lambda _row: True
) -> list[DisputedItem]:
    """Return the items of the runs on which their scores differ most first, then the hardest first.

    Args:
        runs: runs on one benchmark; items that not all of them asked count over those that did.
        wanted: which items.
    """
    rows: dict[str, BenchmarkRow] = {}
    for details in runs:
        rows.update({item_id: item.row for item_id, item in details.items.items() if wanted(item.row)})
    found = []
    for item_id, row in rows.items():
        scores = {details.run.id: details.items[item_id].score for details in runs if item_id in details.items}
        known = [score for score in scores.values() if score is not None]
        found.append(
            DisputedItem(item_id, row, scores, pvariance(known) if known else 0.0, fmean(known) if known else 0.0)
        )
    return sorted(found, key=lambda item: (-item.disagreement, item.mean, item.item_id))


@needs(Permission.VIEW_RUNS)
def rois_of_items(workspace: Workspace, rows: Iterable[BenchmarkRow]) -> dict[str, Roi]:
    """Return the ROI of each item that this workspace made, by item id.

    Only where the ROI's image is the one that the benchmark holds, told by the digest in its image id.
    """
    wanted = {row.identity(): row.image_id for row in rows}
    with workspace.reading() as session:
        query = select(Item.id, Roi).where(Item.seed_id == Seed.id, Seed.roi_id == Roi.id)
        query = query.where(col(Item.id).in_(wanted))
        return {
            item_id: roi
            for item_id, roi in session.exec(query)
            if roi.image_sha256 is not None and wanted[item_id].endswith(roi.image_sha256[:12])
        }
