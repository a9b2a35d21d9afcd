"""Evaluations from a workspace: each runs in its own process into a run folder, which is registered here."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from sqlmodel import col, select

from db import new_id, record_event, utc_now
from db.tables import Run
from evaluation.vqa import VqaConfig, VqaResults
from pipeline.errors import InputError
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.workspace import Workspace

RESULTS_FILE = "results.json"
PREDICTIONS_FILE = "predictions.jsonl"

LEFT_S = 60.0
"""So long an evaluation is given to notice that the worker is gone which began it."""


@needs(Permission.EVALUATE)
def evaluate_in_process(
    workspace: Workspace, parameters: dict[str, Any], *, who: str, progress: Progress = silent
) -> dict[str, Any]:
    """Evaluate a model in a process of its own and register the run.

    Args:
        workspace: takes the run folder, unless `out` names another.
        parameters: fields of evaluation.vqa.VqaConfig; `benchmark` and `model` are required.
        who: the account.
        progress: told after each item.

    Returns:
        the run's id and folder, and how many items failed because a call got no answer.

    Raises:
        InputError: benchmark, model or setting is wrong, or the process ended without results.
    """
    fields = {"judge": workspace.settings.judge, "concurrency": workspace.settings.model_concurrency}
    out = Path(parameters.get("out") or _new_run_folder(workspace, str(parameters.get("model"))))
    config = VqaConfig.model_validate({**fields, **parameters, "out": out})
    order = {"config": config.model_dump(mode="json"), "workspace": str(workspace.root)}
    _wait_until_left(out)
    # A file, since a pipe that nobody reads stops the process once it is full.
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "evaluation.vqa"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            results = _follow(process, order, errors, progress)
        except BaseException:
            # A cancelled or failing watcher must not leave an evaluation behind that still costs money.
            process.terminate()
            raise
    run = register_run(workspace, out, results, who=who)
    return {"run": run.id, "path": str(out), "items_failed": results.n_failed}


def _follow(process: subprocess.Popen[str], order: dict[str, Any], errors: IO[str], progress: Progress) -> VqaResults:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the evaluation process has no pipes")
    process.stdin.write(json.dumps(order))
    process.stdin.close()
    results: VqaResults | None = None
    for line in process.stdout:
        try:
            message = json.loads(line)
        except ValueError:
            continue  # A library printed; only JSON lines are ours.
        if not isinstance(message, dict):
            continue
        if "error" in message:
            raise InputError(str(message["error"]))
        if "results" in message:
            results = VqaResults.model_validate(message["results"])
        elif "done" in message:
            progress(int(message["done"]), int(message["total"]), "")
    code = process.wait()
    if results is None:
        errors.seek(0)
        last = (errors.read().strip().splitlines() or ["it said nothing"])[-1]
        raise InputError(f"The evaluation ended with exit code {code} and no results: {last}")
    return results


def _wait_until_left(folder: Path) -> None:
    """Wait for an evaluation of the same folder whose worker was killed: it ends after the item it is at."""
    end = time.monotonic() + LEFT_S
    while time.monotonic() < end:
        try:
            with (folder / ".lock").open("r") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return
        except BlockingIOError:
            time.sleep(0.2)
        else:
            return


def run_folder_of_job(runs: Path, job_id: str, parameters: Mapping[str, Any], created_at: datetime) -> Path:
    """Return the folder that a job's evaluation writes into: always the same, so that it goes on after a restart."""
    if parameters.get("out"):
        return Path(parameters["out"])
    return runs / _run_name(str(parameters.get("model")), created_at, job_id[:8])


def _new_run_folder(workspace: Workspace, model: str) -> Path:
    return workspace.runs / _run_name(model, utc_now(), new_id("run")[-6:])


def _run_name(model: str, begun: datetime, distinct: str) -> str:
    name = "".join(character if character.isalnum() else "-" for character in model).strip("-")
    return f"{begun:%Y%m%dT%H%M%S}-{name[:60]}-{distinct}"


@needs(Permission.EVALUATE)
def register_run(workspace: Workspace, path: Path, results: VqaResults, *, who: str) -> Run:
    """Register a run folder, or bring its entry up to date if it is registered."""
    path = path.expanduser().absolute()
    configuration = results.provenance.configuration
    summary = {
        "metrics": {name: metric.model_dump(mode="json") for name, metric in results.metrics.items()},
        "n_items": results.n_items,
        "n_failed": results.n_failed,
        "judge": configuration.judge,
        "rotations": configuration.rotations,
        "is_language_model": results.provenance.model_is_language_model,
    }
    new = {"complete": results.complete, "summary": summary}
    with workspace.writing() as session:
        run = session.exec(select(Run).where(Run.path == str(path))).first()
        if run is None:
            run = Run(
                id=new_id("run"),
                created_by=who,
                path=str(path),
                benchmark=results.provenance.benchmark,
                benchmark_sha256=configuration.benchmark_sha256,
                model=configuration.model,
                ablation=configuration.ablation,
                complete=results.complete,
                summary=summary,
            )
            record_event(session, who=who, action="register", row=run, new={"path": str(path), **new})
        elif (old := {"complete": run.complete, "summary": run.summary}) != new:
            run.complete, run.summary = results.complete, summary
            record_event(session, who=who, action="update", row=run, old=old, new=new)
        session.add(run)
        return run


@needs(Permission.VIEW_RUNS)
def list_runs(workspace: Workspace) -> list[Run]:
    """Return the registered runs, newest first."""
    with workspace.reading() as session:
        query = select(Run).where(col(Run.withdrawn_at).is_(None)).order_by(col(Run.created_at).desc())
        return list(session.exec(query))


def load_results(run: Run) -> VqaResults:
    """Read a run's results.json.

    Raises:
        InputError: the folder is gone or its results cannot be read.
    """
    path = Path(run.path) / RESULTS_FILE
    try:
        return VqaResults.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"The results of run {run.id} cannot be read: {path}: {error}") from None
