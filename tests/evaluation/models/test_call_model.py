"""Calls against the wire stub: what is sent, what is recorded, and what becomes of every kind of fault."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import pytest

from evaluation.models import CallLimits, ModelReply, ModelRequest, call_model, close_models, prompt_sha256
from tests.evaluation.models.conftest import (
    ANTHROPIC_KEY,
    ANTHROPIC_MODEL,
    OPENAI_KEY,
    OPENAI_MODEL,
    request_to,
)
from tests.wire.stub import Answer, Fault, Hang, RawBody, Received, Step, WireStub

BOTH = pytest.mark.parametrize("model", [OPENAI_MODEL, ANTHROPIC_MODEL])
QUICK = CallLimits(max_retries=0, attempt_timeout=5, timeout=10)


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """A function that makes one call to a stub that plays the given steps."""

    def run(request: ModelRequest, *steps: Step, limits: CallLimits = QUICK) -> tuple[ModelReply, list[Received]]:
        async def call() -> ModelReply:
            try:
                return await call_model(request, limits)
            finally:
                await close_models()

        with WireStub(*steps) as stub:
            monkeypatch.setenv("STUB_BASE_URL", stub.openai_url)
            monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.anthropic_url)
            return asyncio.run(call()), stub.received

    return run


@BOTH
def test_an_answer_is_recorded_with_what_was_sent(ask, model: str) -> None:
    request = request_to(model)
    reply, received = ask(request, Answer('{"answer_index": 2}'))

    assert reply.outcome == "answered"
    assert reply.text == '{"answer_index": 2}'
    assert reply.error is None
    assert reply.model == model
    assert reply.served_model is not None
    assert reply.is_language_model
    assert (reply.input_tokens, reply.output_tokens) == (11, 7)
    assert reply.prompt_sha256 == prompt_sha256(request)
    assert reply.seconds > 0
    assert len(received) == 1
    assert "You sit an examination." in received[0].raw
    assert "Which option is right?" in received[0].text
    assert base64.b64encode(b"\x89PNG not really").decode() in received[0].raw


@BOTH
def test_neither_facts_nor_keys_leak(ask, model: str) -> None:
    reply, received = ask(request_to(model), Answer("hello"))

    wire = "".join(request.raw for request in received)
    assert "HIDDEN-FACT" not in wire
    assert "facts" not in wire
    assert OPENAI_KEY not in wire
    assert ANTHROPIC_KEY not in wire
    record = reply.model_dump_json()
    assert OPENAI_KEY not in record
    assert ANTHROPIC_KEY not in record


def test_metadata_of_a_message_stays_off_the_wire(monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect_ai.model import ChatMessageUser, get_model

    async def call(url: str) -> None:
        model = get_model(OPENAI_MODEL, base_url=url, memoize=False)
        await model.generate([ChatMessageUser(content="hello", metadata={"facts": {"answer": "HIDDEN-FACT"}})])
        await model.api.aclose()

    with WireStub(Answer("hello")) as stub:
        asyncio.run(call(stub.openai_url))
        assert "HIDDEN-FACT" not in stub.received[0].raw


def test_openai_gets_every_parameter(ask) -> None:
    reply, received = ask(request_to(OPENAI_MODEL), Answer("hello"))

    body = received[0].body
    assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.0, 3, 50)
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["additionalProperties"] is False
    assert reply.dropped == ()
    assert reply.sent["temperature"] == 0.0
    assert "answer_index" not in json.dumps(reply.sent), "the schema belongs to the prompt's hash, not to each record"


def test_parameters_that_anthropic_does_not_take_are_named(ask) -> None:
    reply, received = ask(request_to(ANTHROPIC_MODEL), Answer("hello"))

    assert "temperature" not in received[0].body
    assert {"temperature", "seed"} <= set(reply.dropped)
    assert "max_tokens" not in reply.dropped
    assert received[0].body["max_tokens"] == 50
    assert ("response_schema" in reply.dropped) == ("answer_index" not in received[0].raw)


@BOTH
def test_a_rate_limit_is_waited_out(ask, model: str) -> None:
    reply, received = ask(request_to(model), Fault(429, retry_after=0.05), Answer("second try"))

    assert (reply.outcome, reply.text) == ("answered", "second try")
    assert len(received) == 2


@BOTH
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Fault(500, "the stub is on fire"), "HTTP 500"),
        (Fault(401, "unknown key"), "HTTP 401"),
        (Fault(400, "no such parameter"), "no such parameter"),
        (RawBody('{"id": "x", "choi', cut=True), "onnection"),
        (RawBody('{"id": "x", "choi'), "malformed"),
        (RawBody("{}"), "malformed"),
    ],
    ids=["500", "401", "400", "cut body", "malformed JSON", "empty object"],
)
def test_faults_become_failed(ask, model: str, step: Step, expected: str) -> None:
    reply, _ = ask(request_to(model), step)

    assert (reply.outcome, reply.text) == ("failed", "")
    assert reply.error is not None
    assert expected in reply.error


@BOTH
def test_a_hanging_server_ends_in_a_timeout(ask, model: str) -> None:
    limits = CallLimits(max_retries=0, attempt_timeout=1, timeout=1)
    reply, _ = ask(request_to(model), Hang(30), limits=limits)

    assert reply.outcome == "failed"
    assert reply.error is not None
    assert "timeout" in reply.error.casefold()
    assert reply.seconds < 10


def test_retries_are_counted_in_the_error(ask) -> None:
    limits = CallLimits(max_retries=1, attempt_timeout=1, timeout=30)
    reply, received = ask(request_to(OPENAI_MODEL), Hang(30), limits=limits)

    assert reply.outcome == "failed"
    assert reply.error is not None
    assert "after 2 attempts" in reply.error
    assert len(received) == 2


@BOTH
@pytest.mark.parametrize("stop", ["refusal", "filter"])
def test_refusals_are_an_outcome_of_their_own(ask, model: str, stop: str) -> None:
    reply, _ = ask(request_to(model), Answer("I will not judge this.", stop))

    assert reply.outcome == "refused"
    assert "I will not judge this." in (reply.text + (reply.error or ""))


@BOTH
def test_a_reply_cut_by_the_token_limit_is_truncated(ask, model: str) -> None:
    reply, _ = ask(request_to(model), Answer('{"answer_ind', "length"))

    assert (reply.outcome, reply.stop_reason) == ("truncated", "max_tokens")


@pytest.mark.parametrize("key", [OPENAI_KEY, ANTHROPIC_KEY])
def test_a_key_in_a_providers_message_is_redacted(ask, key: str) -> None:
    reply, _ = ask(request_to(OPENAI_MODEL), Fault(401, f"the key {key} is unknown"))

    assert reply.error is not None
    assert key not in reply.error
    assert "[redacted]" in reply.error


def test_the_prompts_digest_depends_on_texts_and_image_alone() -> None:
    base = request_to(OPENAI_MODEL)
    same = request_to(ANTHROPIC_MODEL, facts={}, temperature=1.0, seed=None, max_tokens=9)

    assert prompt_sha256(base) == prompt_sha256(same)
    for change in ({"user": "other"}, {"system": "other"}, {"image_png": None}, {"json_schema": None}):
        assert prompt_sha256(request_to(OPENAI_MODEL, **change)) != prompt_sha256(base)


def test_a_later_event_loop_gets_clients_of_its_own(ask) -> None:
    for _ in range(3):
        reply, _ = ask(request_to(OPENAI_MODEL), Answer("hello"))
        assert reply.outcome == "answered"


def test_a_seed_that_allows_no_item_is_refused_with_the_writers_reason() -> None:
    from evaluation.items.generation import generation_request
    from evaluation.items.prompts import PromptLibrary
    from tests.evaluation.models.seeds import SEEDS

    seed = SEEDS[0].model_copy(update={"answer": "no necrosis"})
    request = generation_request(seed, model="offline/author", image_png=b"png", prompts=PromptLibrary())
    reply = asyncio.run(call_model(request))

    assert reply.outcome == "refused"
    assert "what is not there" in (reply.error or "")
    assert not reply.is_language_model


def test_facts_reach_the_built_in_models_inside_an_evaluation(tmp_path: Path) -> None:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    from evaluation.models import QuestionFacts

    replies: list[ModelReply] = []
    facts = QuestionFacts(format="mcq", stem="Which?", choices=("a", "b", "c", "d", "e")).model_dump(mode="json")

    @solver
    def ask_first() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            replies.append(await call_model(request_to("offline/first", purpose="answer", facts=facts)))
            return state

        return solve

    task = Task(dataset=[Sample(input="x")], solver=ask_first())
    log = eval(task, model="none/none", log_dir=str(tmp_path), display="none")[0]
    assert log.status == "success", log.error
    assert replies[0].text.endswith("ANSWER: A")
    events = [event for event in (log.samples or [])[0].events if event.event == "model"]
    assert len(events) == 1
    assert events[0].pending is None
