"""`python -m evaluation.vqa`: one evaluation in a process of its own, for a caller that must not block or share.

Reads a VqaConfig as JSON from standard input, prints a JSON line with `done` and `total` for each finished item,
then one with `results`, or with `error` (exit 2) where the input is at fault.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pydantic import BaseModel

from evaluation.items.prompts import PromptError
from evaluation.models import ModelConfigurationError, use_workspace
from evaluation.vqa import BenchmarkError, PredictionsError, RunFolderError, VqaConfig, run_vqa


class Order(BaseModel):
    """What to evaluate, and the folder below which the provider layer keeps its caches and logs."""

    config: VqaConfig
    workspace: Path


def _say(**message: object) -> None:
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever asked is gone: no further call is paid for. The replies so far are on disk.
        os._exit(1)


def main() -> int:
    """Run the evaluation that standard input describes and return the exit code."""
    order = Order.model_validate_json(sys.stdin.read())
    use_workspace(order.workspace)
    try:
        results = run_vqa(order.config, lambda done, total: _say(done=done, total=total))
    except (BenchmarkError, ModelConfigurationError, PredictionsError, PromptError, RunFolderError) as error:
        _say(error=str(error))
        return 2
    _say(results=results.model_dump(mode="json"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
