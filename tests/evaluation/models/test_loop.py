"""All threads of a process make their model calls on one event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evaluation.models import call_model, run_models
from evaluation.models._loop import THREAD
from tests.evaluation.models.conftest import OPENAI_MODEL, request_to
from tests.wire.stub import Answer, Received, WireStub


async def _loop() -> int:
    await asyncio.sleep(0.05)
    return id(asyncio.get_running_loop())


def test_threads_share_a_loop_and_work_side_by_side() -> None:
    together = threading.Barrier(6)

    async def meet() -> int:
        # Would never come back if one waited for the other's end.
        await asyncio.to_thread(together.wait, 10)
        return await _loop()

    with ThreadPoolExecutor(6) as threads:
        loops = set(threads.map(lambda _: run_models(meet()), range(6)))
    assert len(loops) == 1


def test_an_error_comes_to_who_asked() -> None:
    async def fail() -> None:
        raise ValueError("of this work")

    with pytest.raises(ValueError, match="of this work"):
        run_models(fail())
    assert run_models(_loop())


def test_work_that_is_interrupted_ends_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    began, ended = threading.Event(), threading.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    class Interrupted:
        """A wait that ends as Ctrl+C ends it."""

        def __init__(self, future: object) -> None:
            self.future = future

        def result(self) -> None:
            began.wait(10)
            raise KeyboardInterrupt

        def cancel(self) -> bool:
            return bool(self.future.cancel())  # type: ignore[attr-defined]

    scheduled = asyncio.run_coroutine_threadsafe
    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", lambda *given: Interrupted(scheduled(*given)))
    with pytest.raises(KeyboardInterrupt):
        run_models(work())
    assert ended.is_set()


def test_who_is_on_the_loop_is_told_to_await() -> None:
    async def nested() -> str:
        assert threading.current_thread().name == THREAD
        with pytest.raises(RuntimeError, match="await the work"):
            run_models(_loop())
        return "told"

    assert run_models(nested()) == "told"


def test_real_calls_of_many_threads_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two event loops would hang here, which is why there is one."""

    def slow(_: Received) -> Answer:
        time.sleep(0.1)
        return Answer("yes")

    with WireStub(script=slow) as stub, ThreadPoolExecutor(8) as threads:
        monkeypatch.setenv("STUB_BASE_URL", stub.openai_url)
        monkeypatch.setenv("STUB_API_KEY", "key")
        replies = list(threads.map(lambda _: run_models(call_model(request_to(OPENAI_MODEL))), range(16)))
        assert len(stub.received) == 16
    assert [reply.text for reply in replies] == ["yes"] * 16
