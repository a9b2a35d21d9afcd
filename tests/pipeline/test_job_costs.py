"""What a job cost: sums of what is stored of its replies, with prices where they are known."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from db.tables import GuessTrial, Item, ItemVersion, ModelCall, Seed
from pipeline.benchmarks import run_folder_of_job
from pipeline.job_costs import JobCost, job_cost
from pipeline.jobs import JobStatus
from pipeline.rechecks import OF_JOB
from pipeline.seeds import list_seeds
from pipeline.workspace import Workspace


def job(kind: str, identifier: str = "job-1", **changed: Any) -> JobStatus:
    values: dict[str, Any] = {"done": 0, "total": 0, "message": "", "error": None, "result": None, "who": "a"}
    values |= {"created_at": datetime(2026, 1, 31, tzinfo=UTC), "state": "running", **changed}
    return JobStatus(id=identifier, kind=kind, **values)


def reply(tokens: int, price: float | None, **more: Any) -> dict[str, Any]:
    sums = {"input_tokens": tokens, "output_tokens": 1, "cost_usd": price}
    return {"model": "m", "is_language_model": True, **sums, **more}


@pytest.fixture
def seed(with_seeds: Workspace) -> Seed:
    return list_seeds(with_seeds)[0].seed


def add(workspace: Workspace, seed: Seed, generation: str, call: dict[str, Any], *trials: dict[str, Any]) -> None:
    """One writing call, and an item with trials, of a generation."""
    name = f"{generation}-{len(trials)}"
    with workspace.writing() as session:
        session.add(
            ModelCall(
                id=f"call_{name}",
                created_by="a",
                seed_id=seed.id,
                generation_id=generation,
                purpose="generate",
                outcome="answered",
                provenance=call,
            )
        )
        session.add(Item(id=f"item_{name}", created_by="a", seed_id=seed.id, generation_id=generation, format="mcq"))
        session.flush()
        session.add(
            ItemVersion(id=f"ver_{name}", created_by="a", item_id=f"item_{name}", number=1, content={}, provenance=call)
        )
        session.flush()
        session.add_all(
            GuessTrial(
                id=f"trial_{name}_{number}",
                created_by="a",
                item_version_id=f"ver_{name}",
                trial=number,
                outcome="answered",
                provenance=trial,
            )
            for number, trial in enumerate(trials)
        )


def test_calls_and_trials_of_all_units_are_summed(with_seeds: Workspace, seed: Seed) -> None:
    add(with_seeds, seed, "gen_job-1-3", reply(100, 0.5), reply(10, None), reply(10, 0.25, repaired=reply(7, 0.125)))
    add(with_seeds, seed, "gen_job-1-4", reply(1_000, None))
    add(with_seeds, seed, "gen_job-11-3", reply(5_000, 9.0))
    assert job_cost(with_seeds, job("generate")) == JobCost(5, 1_127, 5, 0.875, 2)


def test_what_others_did_to_its_items_is_not_its_own(with_seeds: Workspace, seed: Seed) -> None:
    add(with_seeds, seed, "gen_job-1-3", reply(100, 0.5), reply(10, 0.25, **{OF_JOB: "job-2"}))
    with with_seeds.writing() as session:
        session.add(
            ItemVersion(
                id="ver_edited",
                created_by="a",
                item_id="item_gen_job-1-3-1",
                number=2,
                content={},
                provenance={"written_by": "anna"},
            )
        )
        session.flush()
        session.add(
            GuessTrial(
                id="trial_edited",
                created_by="a",
                item_version_id="ver_edited",
                trial=0,
                outcome="answered",
                provenance=reply(70, 3.0),
            )
        )
    assert job_cost(with_seeds, job("generate")) == JobCost(1, 100, 1, 0.5, 0)
    assert job_cost(with_seeds, job("check", "job-2")) == JobCost(1, 10, 1, 0.25, 0)


def test_built_in_models_cost_nothing(with_seeds: Workspace, seed: Seed) -> None:
    built_in = {"is_language_model": False, "input_tokens": None, "output_tokens": None, "cost_usd": None}
    add(with_seeds, seed, "gen_job-1-3", built_in, built_in)
    assert job_cost(with_seeds, job("generate")) == JobCost()
    assert job_cost(with_seeds, job("bin")) is None


def test_an_evaluation_is_summed_while_it_runs(workspace: Workspace) -> None:
    running = job("evaluate", parameters={"model": "openai/x", "benchmark": "b"})
    assert job_cost(workspace, running) == JobCost()
    folder = run_folder_of_job(workspace.runs, running.id, running.parameters, running.created_at)
    folder.mkdir()
    lines = [json.dumps(reply(20, 0.5)), json.dumps(reply(30, None)), '{"is_language_model": tr']
    (folder / "predictions.jsonl").write_text("\n".join(lines))
    assert job_cost(workspace, running) == JobCost(2, 50, 2, 0.5, 1)
