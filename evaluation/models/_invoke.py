"""Makes one model call and turns whatever happens into a `ModelReply`."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evaluation.models._calls import CallOutcome, ModelReply, ModelRequest
from evaluation.models._limits import CallLimits
from evaluation.models._resolve import is_offline, open_model
from evaluation.models._schema import response_schema
from evaluation.models._secrets import scrub, scrub_known
from evaluation.models._wire import CallRecord, dropped_parameters, recorded_call

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput

MAX_ERROR_LENGTH = 500
"""Characters of a provider's message that a record keeps."""

_MALFORMED = (json.JSONDecodeError, TypeError, AttributeError, KeyError, IndexError)
"""What provider clients raise when a reply of status 200 is no reply of their protocol."""

_STOP_OUTCOMES: dict[str, CallOutcome] = {
    "content_filter": "refused",
    "max_tokens": "truncated",
    "model_length": "truncated",
}


async def call_model(request: ModelRequest, limits: CallLimits | None = None) -> ModelReply:
    """Make one call; what a provider does wrong becomes an outcome, never an exception.

    Rate limits, server errors and timeouts are retried within `limits`, then reported as `failed`. A content
    filter or a refusal is `refused`, a reply cut by the token limit is `truncated`.

    Raises:
        ModelConfigurationError: the model's provider, package or key is missing.
        RuntimeError: calls are already running on another event loop of this process.
    """
    model = open_model(request.model)
    started = time.monotonic()
    with _only_loop(), recorded_call() as record:
        config, asked = _config(request, limits or CallLimits())
        try:
            output = await model.generate(messages(request), config=config)
        except Exception as error:
            reply = ModelReply(
                outcome="failed", error=_describe(error), model=request.model, prompt_sha256=prompt_sha256(request)
            )
        else:
            reply = _reply(request, model, output, record)
    sent = record.parameters()
    return reply.model_copy(
        update={
            "is_language_model": not is_offline(request.model),
            "sent": sent or {},
            "dropped": dropped_parameters(asked, sent) if sent is not None else (),
            "seconds": time.monotonic() - started,
        }
    )


def prompt_sha256(request: ModelRequest) -> str:
    """Return a digest of all that is asked, whichever model is asked: texts, image and reply schema."""
    image = hashlib.sha256(request.image_png).hexdigest() if request.image_png is not None else None
    parts = [request.system, request.user, image, request.json_schema]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def messages(request: ModelRequest) -> list[ChatMessage]:
    """Return the chat messages of a request; only the built-in models get its facts."""
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, Content, ContentImage, ContentText

    metadata = {"facts": request.facts, "purpose": request.purpose} if is_offline(request.model) else None
    content: list[Content] = []
    if request.image_png is not None:
        encoded = base64.b64encode(request.image_png).decode("ascii")
        content.append(ContentImage(image=f"data:image/png;base64,{encoded}"))
    content.append(ContentText(text=request.user))
    chat: list[ChatMessage] = [ChatMessageUser(content=content, metadata=metadata)]
    if request.system:
        chat.insert(0, ChatMessageSystem(content=request.system))
    return chat


def _config(request: ModelRequest, limits: CallLimits) -> tuple[GenerateConfig, dict[str, Any]]:
    from inspect_ai.model import GenerateConfig

    asked: dict[str, Any] = {"max_tokens": request.max_tokens}
    if request.temperature is not None:
        asked["temperature"] = request.temperature
    if request.seed is not None:
        asked["seed"] = request.seed
    if request.json_schema is not None:
        asked["response_schema"] = response_schema(request.json_schema, request.schema_name or "reply")
    return (
        GenerateConfig(
            max_retries=limits.max_retries,
            timeout=limits.timeout,
            attempt_timeout=limits.attempt_timeout,
            cache=False,
            **asked,
        ),
        asked,
    )


def _reply(request: ModelRequest, model: Model, output: ModelOutput, record: CallRecord) -> ModelReply:
    text = "" if output.empty else scrub_known(_storable(output.completion))
    outcome: CallOutcome = "answered"
    error = output.error
    if output.empty:
        outcome, error = "failed", error or "the provider sent a reply without any content"
    else:
        outcome = _STOP_OUTCOMES.get(output.stop_reason, "answered")
        if _is_refusal(output):
            outcome = "refused"
    if record.rejected:
        # The provider layer hands an error body (over-long prompt, blocked prompt) on as if it were a reply.
        error, text = text or error, ""
    usage = output.usage
    if outcome == "refused":
        error = error or text
    return ModelReply(
        outcome=outcome,
        text=text,
        error=_shorten(error) if error else None,
        stop_reason=None if output.empty else output.stop_reason,
        model=request.model,
        served_model=output.model or model.name,
        prompt_sha256=prompt_sha256(request),
        input_tokens=_input_tokens(output),
        output_tokens=usage.output_tokens if usage else None,
        cost_usd=usage.total_cost if usage else None,
    )


def _input_tokens(output: ModelOutput) -> int | None:
    usage = output.usage
    if usage is None:
        return None
    return usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)


def _is_refusal(output: ModelOutput) -> bool:
    content = output.choices[0].message.content
    return not isinstance(content, str) and any(getattr(part, "refusal", None) for part in content)


def _describe(error: BaseException) -> str:
    from tenacity import RetryError

    attempts = ""
    if isinstance(error, RetryError):
        count = error.last_attempt.attempt_number
        attempts = f" (after {count} attempts)" if count > 1 else ""
        error = error.last_attempt.exception() or error
    message = getattr(error, "provider_message", None) or getattr(error, "message", None) or str(error)
    if isinstance(error, _MALFORMED):
        return _shorten(f"the provider's reply is malformed: {message}")
    status = getattr(error, "status_code", None)
    name = type(error.__cause__ or error).__name__ if status else type(error).__name__
    return _shorten(f"{name}{f' (HTTP {status})' if status else ''}: {message}") + attempts


def _storable(text: str) -> str:
    """Replace what neither a file nor a database takes: half of a surrogate pair, and NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


def _shorten(text: str) -> str:
    text = " ".join(scrub(_storable(text)).split())
    return text if len(text) <= MAX_ERROR_LENGTH else text[:MAX_ERROR_LENGTH] + "…"


_guard = threading.Lock()
_running: dict[int, int] = {}


@contextmanager
def _only_loop() -> Iterator[None]:
    """Refuse a second event loop while calls run on one: the provider layer would hang, not fail."""
    loop = id(asyncio.get_running_loop())
    with _guard:
        if any(other != loop for other in _running):
            raise RuntimeError(
                "Model calls are already running on another event loop of this process. "
                "Make all calls from one event loop, or run this job in a process of its own."
            )
        _running[loop] = _running.get(loop, 0) + 1
    try:
        yield
    finally:
        with _guard:
            _running[loop] -= 1
            if not _running[loop]:
                del _running[loop]
