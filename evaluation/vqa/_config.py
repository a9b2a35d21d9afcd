"""What an evaluation is asked to do, and the part of it that makes two runs the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from evaluation.items import OPTION_COUNT
from evaluation.models import CallLimits
from evaluation.vqa._images import Ablation

KprimMode = Literal["statement", "joint"]
"""One call for each statement, or one call for all four."""

DEFAULT_ROTATIONS = 5
"""Cyclic rotations of an MCQ's options (VIPER section 4)."""

DEFAULT_JUDGE = "offline/synonyms"
"""Compares words with the expected answer and its synonyms; no language model, and the results say so."""

MAX_SEED = 2**31 - 1
"""The largest seed that every provider takes."""

MAX_CONCURRENCY = 256


class VqaConfig(BaseModel):
    """One evaluation of one model on one benchmark.

    `benchmark` is what `load_benchmark` takes, `model` and `judge` are inspect_ai model names, `out` is the
    run folder. `limit` takes the first items in stored order, after the filters `organ` and `category`. One
    rotation keeps the stored order of options. `temperature` is 0 as in VIPER section 4. `prompts` is a
    folder of the user's own prompts. `concurrency` is how many items are in work at once.
    """

    model_config = ConfigDict(frozen=True)

    benchmark: str
    model: str
    out: Path
    revision: str | None = None
    judge: str = DEFAULT_JUDGE
    limit: int | None = Field(default=None, ge=1)
    organ: str | None = None
    category: str | None = None
    rotations: int = Field(default=DEFAULT_ROTATIONS, ge=1, le=OPTION_COUNT)
    ablation: Ablation = "normal"
    kprim_mode: KprimMode = "statement"
    seed: int = Field(default=0, ge=0, le=MAX_SEED)
    temperature: float = Field(default=0.0, ge=0.0)
    max_tokens: int = Field(default=4096, ge=1)
    prompts: Path | None = None
    concurrency: int = Field(default=8, ge=1, le=MAX_CONCURRENCY)
    limits: CallLimits = CallLimits()


class Configuration(BaseModel):
    """All that the scores depend on; a run folder belongs to one configuration.

    `prompts` maps the prompts in use to their SHA-256. `benchmark_sha256` is the content's digest, so that a
    moved benchmark is the same and an edited one is not.
    """

    model_config = ConfigDict(frozen=True)

    benchmark_sha256: str
    model: str
    judge: str
    limit: int | None
    organ: str | None
    category: str | None
    rotations: int
    ablation: Ablation
    kprim_mode: KprimMode
    seed: int
    temperature: float
    max_tokens: int
    prompts: dict[str, str]
    parser_version: str

    def differences(self, other: Configuration) -> list[str]:
        """Return in words each setting in which `other` differs from this one."""
        mine, theirs = self.model_dump(), other.model_dump()
        return [f"{name}: {mine[name]} before, {theirs[name]} now" for name in mine if mine[name] != theirs[name]]
