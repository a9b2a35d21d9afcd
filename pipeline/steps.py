"""How generation makes its model calls and its writes: at once in the foreground, as durable steps in a job."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

from evaluation.models import ModelReply, ModelRequest, call_model

P = ParamSpec("P")
T = TypeVar("T")


class Steps(Protocol):
    """One model call is one step, one transaction is one step; both keep their order when they are repeated."""

    async def call(self, request: ModelRequest) -> ModelReply:
        """Make a model call; never raises for what a provider does."""
        ...

    async def write(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a transaction off the event loop."""
        ...


class ForegroundSteps:
    """Calls and writes at once, at most `concurrency` calls at a time."""

    def __init__(self, concurrency: int) -> None:
        self._slots = asyncio.Semaphore(concurrency)

    async def call(self, request: ModelRequest) -> ModelReply:
        """See Steps."""
        async with self._slots:
            return await call_model(request)

    async def write(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """See Steps."""
        return await asyncio.to_thread(function, *args, **kwargs)
