"""VIPER's visual question-answering benchmark: read and write it, run a model on it, score the replies."""

from evaluation.vqa._benchmark import Benchmark, BenchmarkError
from evaluation.vqa._config import DEFAULT_JUDGE, DEFAULT_ROTATIONS, Configuration, KprimMode, VqaConfig
from evaluation.vqa._images import Ablation
from evaluation.vqa._load import load_benchmark
from evaluation.vqa._parquet import VIPER_COLUMNS, write_benchmark
from evaluation.vqa._predictions import Prediction, Predictions, PredictionsError
from evaluation.vqa._results import (
    ItemCounts,
    JudgeSummary,
    Metric,
    MetricName,
    OutcomeCounts,
    Provenance,
    Usage,
    VqaResults,
)
from evaluation.vqa._rows import BenchmarkRow
from evaluation.vqa._run import run_vqa
from evaluation.vqa._run_folder import RunFolderError
from evaluation.vqa._scoring import ItemScore, score_item

__all__ = [
    "DEFAULT_JUDGE",
    "DEFAULT_ROTATIONS",
    "VIPER_COLUMNS",
    "Ablation",
    "Benchmark",
    "BenchmarkError",
    "BenchmarkRow",
    "Configuration",
    "ItemCounts",
    "ItemScore",
    "JudgeSummary",
    "KprimMode",
    "Metric",
    "MetricName",
    "OutcomeCounts",
    "Prediction",
    "Predictions",
    "PredictionsError",
    "Provenance",
    "RunFolderError",
    "Usage",
    "VqaConfig",
    "VqaResults",
    "load_benchmark",
    "run_vqa",
    "score_item",
    "write_benchmark",
]
