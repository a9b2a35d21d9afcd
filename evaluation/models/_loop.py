"""The one event loop on which a process makes its model calls, whichever thread asks for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from evaluation.models._resolve import close_models

CANCEL_S = 10.0
"""How long an interrupted caller waits for its work to end in order."""

THREAD = "model-calls"

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_at_work = 0


def run_models(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that calls models, together with those of other threads, and return what it returns.

    The provider layer hangs where two loops of a process call it, so all callers share one. HTTP clients are closed
    when nobody is at work. A caller that is interrupted cancels its work and waits for its end.

    Raises:
        RuntimeError: it is called on that loop itself.
    """
    loop = _running()
    if threading.current_thread().name == THREAD:
        work.close()
        raise RuntimeError("This is the loop of the model calls already: await the work instead.")
    ended = threading.Event()
    future = asyncio.run_coroutine_threadsafe(_counted(work, ended), loop)
    try:
        return future.result()
    except BaseException:
        if future.cancel():
            ended.wait(CANCEL_S)
        raise


async def _counted(work: Coroutine[Any, Any, T], ended: threading.Event) -> T:
    global _at_work
    _at_work += 1
    try:
        return await work
    finally:
        _at_work -= 1
        try:
            if not _at_work:
                await close_models()
        finally:
            ended.set()


def _running() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name=THREAD, daemon=True).start()
        return _loop
