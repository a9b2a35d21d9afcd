"""Makes many model calls in one event loop, a bounded number at a time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence

from evaluation.models._calls import ModelReply, ModelRequest
from evaluation.models._invoke import call_model
from evaluation.models._limits import CallLimits
from evaluation.models._resolve import check_model

DEFAULT_CONCURRENCY = 8

OnReply = Callable[[int, ModelReply], Awaitable[None] | None]
"""Called with a request's place and its reply as soon as that is there, so that progress can be stored."""


async def call_models(
    requests: Sequence[ModelRequest],
    concurrency: int = DEFAULT_CONCURRENCY,
    on_reply: OnReply | None = None,
    limits: CallLimits | None = None,
) -> list[ModelReply]:
    """Make all calls, at most `concurrency` (1 or more) at once, and return the replies in request order.

    An exception of `on_reply` ends the job: calls in flight are cancelled.

    Raises:
        ModelConfigurationError: a model cannot be used; raised before the first call is made.
        ValueError: `concurrency` is below 1.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}; give 1 or more")
    for name in sorted({request.model for request in requests}):
        check_model(name)
    slots = asyncio.Semaphore(concurrency)

    async def one(place: int, request: ModelRequest) -> ModelReply:
        async with slots:
            reply = await call_model(request, limits)
        if on_reply is not None:
            noted = on_reply(place, reply)
            if inspect.isawaitable(noted):
                await noted
        return reply

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(place, request)) for place, request in enumerate(requests)]
    return [task.result() for task in tasks]
