"""A scripted server on 127.0.0.1 that speaks OpenAI's chat completions and Anthropic's messages, faults included."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

OPENAI_PATH = "/v1/chat/completions"
ANTHROPIC_PATH = "/v1/messages"


@dataclass(frozen=True)
class Answer:
    """A reply with `text`; `stop` is the protocol-neutral reason: stop, length, filter or refusal."""

    text: str
    stop: str = "stop"


@dataclass(frozen=True)
class Fault:
    """An HTTP error with the provider's usual error body around `message`."""

    status: int
    message: str = "scripted fault"
    retry_after: float | None = None


@dataclass(frozen=True)
class Hang:
    """No reply for `seconds`, then the connection closes."""

    seconds: float


@dataclass(frozen=True)
class RawBody:
    """Status 200 with this body; `cut` announces more bytes than it sends."""

    body: str
    cut: bool = False


Step = Answer | Fault | Hang | RawBody
Script = Callable[["Received"], Step]


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    raw: str
    body: dict[str, Any] = field(repr=False)

    @property
    def text(self) -> str:
        """All texts of the messages, system prompt included, joined by line ends."""
        return "\n".join(_texts([self.body.get("system", []), self.body.get("messages", [])]))


class WireStub:
    """Plays `steps` one after the other (the last one again and again), or what a script function decides.

    Use as a context manager; `openai_url` and `anthropic_url` are the base URLs, `received` the requests so far.
    """

    def __init__(self, *steps: Step, script: Script | None = None) -> None:
        if not steps and script is None:
            raise ValueError("give the stub at least one step or a script")
        self._steps = list(steps)
        self._script = script
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.received: list[Received] = []

    def __enter__(self) -> Self:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                stub._serve(self)

            def log_message(self, format: str, *args: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def openai_url(self) -> str:
        """Base URL for an OpenAI-compatible client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def anthropic_url(self) -> str:
        """Base URL for an Anthropic client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        raw = handler.rfile.read(int(handler.headers.get("Content-Length", 0))).decode("utf-8")
        received = Received(handler.path.split("?")[0], dict(handler.headers), raw, json.loads(raw or "{}"))
        with self._lock:
            self.received.append(received)
            number = len(self.received) - 1
        step = self._script(received) if self._script else self._steps[min(number, len(self._steps) - 1)]
        if isinstance(step, Hang):
            self._closing.wait(step.seconds)
            handler.close_connection = True
        elif isinstance(step, Fault):
            error = {"type": "error", "error": {"type": _error_type(step.status), "message": step.message}}
            headers = {} if step.retry_after is None else {"Retry-After": str(step.retry_after)}
            self._send(handler, step.status, json.dumps(error), headers)
        elif isinstance(step, RawBody):
            self._send(handler, 200, step.body, {}, missing=100 if step.cut else 0)
        else:
            reply = _anthropic(step, received) if received.path == ANTHROPIC_PATH else _openai(step, received)
            self._send(handler, 200, json.dumps(reply), {})

    @staticmethod
    def _send(
        handler: BaseHTTPRequestHandler, status: int, body: str, headers: dict[str, str], missing: int = 0
    ) -> None:
        encoded = body.encode("utf-8")
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(encoded) + missing))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(encoded)
        handler.close_connection = handler.close_connection or bool(missing)


def _openai(step: Answer, received: Received) -> dict[str, Any]:
    finish = {"stop": "stop", "length": "length", "filter": "content_filter", "refusal": "stop"}[step.stop]
    refused = step.stop == "refusal"
    message = {
        "role": "assistant",
        "content": None if refused else step.text,
        "refusal": step.text if refused else None,
    }
    return {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": f"{received.body.get('model')}-2026-01-01",
        "choices": [{"index": 0, "finish_reason": finish, "message": message, "logprobs": None}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def _anthropic(step: Answer, received: Received) -> dict[str, Any]:
    stop = {"stop": "end_turn", "length": "max_tokens", "filter": "refusal", "refusal": "refusal"}[step.stop]
    return {
        "id": "msg_stub",
        "type": "message",
        "role": "assistant",
        "model": received.body.get("model"),
        "content": [{"type": "text", "text": step.text}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }


def _error_type(status: int) -> str:
    return {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}.get(status, "api_error")


def _texts(node: Any) -> list[str]:
    if isinstance(node, str):
        return [node]
    if isinstance(node, list):
        return [text for entry in node for text in _texts(entry)]
    if isinstance(node, dict):
        return _texts(node.get("text", node.get("content", [])))
    return []
