"""Generation and checking against a real small language model through both of its endpoints.

A model of this size writes no valid item: the expected result is that nothing crashes and every invalid answer
is recorded as failed with its reason, and that nothing else stands in for it.
"""

from __future__ import annotations

from functools import partial

import pytest
from sqlmodel import select

from db.tables import ModelCall
from evaluation.models import CallLimits, _invoke
from pipeline.review import check_stored_version, item_history, list_items
from pipeline.seeds import list_seeds
from pipeline.variants import choose_models, generate_items, pending_seeds
from pipeline.workspace import Workspace, open_workspace
from tests.wire.small_model import MAX_TOKENS, SmallModel

pytestmark = [
    pytest.mark.language_model,
    pytest.mark.sqlite("minutes of replies that are stored as the other models' are, which run on both engines"),
]


@pytest.fixture(autouse=True)
def _without_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server answers a picture, which it cannot read, with status 500: a minute of tries would tell no more."""
    monkeypatch.setattr(_invoke, "CallLimits", partial(CallLimits, max_retries=0))


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_a_seed(with_seeds: Workspace, small_model: SmallModel, monkeypatch: pytest.MonkeyPatch, protocol: str) -> None:
    if protocol == "openai":
        monkeypatch.setenv("SMALL_BASE_URL", small_model.openai_url)
        monkeypatch.setenv("SMALL_API_KEY", "none")
        model = "openai-api/small/smollm2"
    else:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", small_model.anthropic_url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        model = "anthropic/smollm2"
    workspace = open_workspace(with_seeds.root, max_output_tokens=MAX_TOKENS, model_concurrency=1)
    models = choose_models(workspace, generator=model, checker=model)
    seeds = pending_seeds(workspace)[:1]
    report = generate_items(workspace, models=models, seed_ids=seeds, who="test")
    assert {result.seed_id for result in report.results} == set(seeds)
    with workspace.reading() as session:
        calls = list(session.exec(select(ModelCall)))
    assert calls, "every reply is kept"
    for result in report.results:
        if result.state == "ready":
            assert [entry for entry in list_items(workspace) if entry.seed.id == result.seed_id]
        else:
            assert result.state == "failed"
            assert result.reason
            assert all(call.error for call in calls if call.seed_id == result.seed_id)
    failed = {entry.seed.id for entry in list_seeds(workspace, states=("failed",))}
    assert {entry.seed.id for entry in list_items(workspace)}.isdisjoint(failed)


def test_the_check_of_an_item(with_seeds: Workspace, small_model: SmallModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMALL_BASE_URL", small_model.openai_url)
    monkeypatch.setenv("SMALL_API_KEY", "none")
    model = "openai-api/small/smollm2"
    workspace = open_workspace(with_seeds.root, max_output_tokens=MAX_TOKENS, model_concurrency=1)
    models = choose_models(workspace, generator=None, checker=None)
    generate_items(workspace, models=models, seed_ids=pending_seeds(workspace)[:1], who="test")
    entry = list_items(workspace, item_format="mcq")[0]
    with workspace.writing() as session:
        version = session.get_one(type(entry.version), entry.version.id)
        item = session.get_one(type(entry.item), entry.item.id)
        copy = type(version)(
            **{**version.model_dump(), "id": "ver_again", "number": 99, "guess_verdict": None, "parent_id": version.id}
        )
        session.add(copy)
        item.state = "checking"
        item.current_version_id = copy.id
    check_stored_version(workspace, "ver_again", organ="liver", checker=model, who="test")
    trials = item_history(workspace, entry.item.id).trials["ver_again"]
    assert len(trials) == 3
    for trial in trials:
        assert trial.outcome in ("answered", "invalid")
        assert (trial.correct_count is None) == (trial.outcome == "invalid")
        assert trial.outcome == "answered" or trial.error
