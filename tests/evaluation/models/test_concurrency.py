"""Many calls at once: order, bound, progress, and one event loop per process."""

from __future__ import annotations

import asyncio
import threading

import pytest

from evaluation.models import CallLimits, ModelConfigurationError, ModelReply, call_model, call_models, close_models
from tests.evaluation.models.conftest import OPENAI_MODEL, request_to
from tests.wire.stub import Answer, Hang, Received, Step, WireStub

QUICK = CallLimits(max_retries=0, attempt_timeout=5, timeout=10)


def _echo(received: Received) -> Step:
    return Answer(received.text.splitlines()[-1])


def test_replies_come_in_request_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    async def note(place: int, reply: ModelReply) -> None:
        assert reply.text == f"question {place}"
        seen.append(place)

    async def run() -> list[ModelReply]:
        requests = [request_to(OPENAI_MODEL, user=f"question {number}") for number in range(20)]
        try:
            return await call_models(requests, concurrency=5, on_reply=note, limits=QUICK)
        finally:
            await close_models()

    with WireStub(script=_echo) as stub:
        monkeypatch.setenv("STUB_BASE_URL", stub.openai_url)
        replies = asyncio.run(run())

    assert [reply.text for reply in replies] == [f"question {number}" for number in range(20)]
    assert sorted(seen) == list(range(20))


def test_no_more_calls_run_at_once_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    running, peak, lock = 0, 0, threading.Lock()

    def script(_: Received) -> Step:
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
        threading.Event().wait(0.05)
        with lock:
            running -= 1
        return Answer("hello")

    async def run() -> None:
        await call_models([request_to(OPENAI_MODEL)] * 12, concurrency=3, limits=QUICK)
        await close_models()

    with WireStub(script=script) as stub:
        monkeypatch.setenv("STUB_BASE_URL", stub.openai_url)
        asyncio.run(run())
    assert 1 < peak <= 3


def test_a_faulty_model_stops_the_job_before_its_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with WireStub(Answer("hello")) as stub:
        monkeypatch.setenv("STUB_BASE_URL", stub.openai_url)
        with pytest.raises(ModelConfigurationError):
            asyncio.run(call_models([request_to(OPENAI_MODEL), request_to("nosuchprovider/model")]))
        assert stub.received == []


def test_concurrency_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="give 1 or more"):
        asyncio.run(call_models([], concurrency=0))


def test_a_second_event_loop_is_refused_instead_of_hanging(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = CallLimits(max_retries=0, attempt_timeout=3, timeout=3)
    first: list[ModelReply] = []
    with WireStub(Hang(2)) as stub:
        monkeypatch.setenv("STUB_BASE_URL", stub.openai_url)
        thread = threading.Thread(
            target=lambda: first.append(asyncio.run(call_model(request_to(OPENAI_MODEL), limits)))
        )
        thread.start()
        while not stub.received:
            threading.Event().wait(0.02)
        with pytest.raises(RuntimeError, match="another event loop"):
            asyncio.run(call_model(request_to(OPENAI_MODEL), limits))
        thread.join(20)
    assert first[0].outcome == "failed"
