"""Reads from the provider layer's own record which parameters went out with a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evaluation.models._secrets import scrub, scrub_known

if TYPE_CHECKING:
    from inspect_ai.event import ModelEvent

_NOT_PARAMETERS = frozenset(
    {"messages", "contents", "input", "prompt", "system", "instructions", "model", "extra_headers", "headers"}
)
"""The texts and images of a call and its headers: they are recorded as a hash, or not at all."""

_ON_THE_WIRE = {
    "temperature": ("temperature",),
    "seed": ("seed", "random_seed"),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxTokens"),
    "response_schema": (
        "response_format",
        "response_schema",
        "format",
        "output_format",
        "response_json_schema",
        "guided_json",
    ),
}
"""What providers call the parameters that a request can ask for."""


class CallRecord:
    """Collects what one call sent, whether or not it runs inside an inspect_ai sample.

    The raw request is read when an attempt completes: inspect_ai drops it from its events soon after.
    """

    def __init__(self) -> None:
        self._parameters: dict[str, Any] | None = None
        self._rejected = False

    def on_pending(self, event: ModelEvent) -> None:
        """Let the log of a sample, if there is one, have the attempt's event."""
        from inspect_ai.log import transcript

        if _inside_sample():
            transcript()._event(event)

    def on_complete(self, event: ModelEvent) -> None:
        """Take note of what the attempt sent."""
        from inspect_ai.log import transcript

        _scrub(event)
        if event.call is not None:
            self._rejected = bool(event.call.error)
            self._parameters = {
                key: _without_schema(value)
                for key, value in event.call.request.items()
                if key not in _NOT_PARAMETERS and value is not None and value != []
            }
        if _inside_sample():
            transcript()._event_updated(event)

    @property
    def rejected(self) -> bool:
        """Whether the provider answered with an error body that was turned into a reply."""
        return self._rejected

    def parameters(self) -> dict[str, Any] | None:
        """Return the parameters of the last attempt on record, None where the provider keeps none."""
        return self._parameters


def _scrub(event: ModelEvent) -> None:
    """Take keys off what a provider answered before a log keeps it: some repeat the key that they refuse."""
    for name in ("error", "traceback", "traceback_ansi"):
        text = getattr(event, name, None)
        if isinstance(text, str):
            setattr(event, name, scrub(text))
    if event.output.error is not None:
        event.output.error = scrub(event.output.error)
    for choice in event.output.choices:
        if isinstance(choice.message.content, str):
            choice.message.content = scrub_known(choice.message.content)
    if event.output.completion:
        event.output.completion = scrub_known(event.output.completion)
    if event.call is not None:
        event.call.response = _scrubbed(event.call.response)


def _scrubbed(node: Any) -> Any:
    if isinstance(node, str):
        return scrub(node)
    if isinstance(node, dict):
        return {key: _scrubbed(value) for key, value in node.items()}
    return [_scrubbed(value) for value in node] if isinstance(node, list) else node


@contextmanager
def recorded_call() -> Iterator[CallRecord]:
    """Record the calls made inside the block.

    Outside an evaluation inspect_ai would otherwise keep every event, images included, for as long as the
    process lives.
    """
    from inspect_ai.model._model import use_model_event_sink

    record = CallRecord()
    with use_model_event_sink(record):
        yield record


def dropped_parameters(asked: dict[str, Any], sent: dict[str, Any]) -> tuple[str, ...]:
    """Return the names in `asked` of which the sent request shows no trace."""
    on_the_wire = set(_keys(sent))
    return tuple(name for name in asked if not on_the_wire.intersection(_ON_THE_WIRE.get(name, (name,))))


def _without_schema(node: Any) -> Any:
    """Leave the reply schema out: it is part of the prompt's hash, and every record would repeat it."""
    if isinstance(node, dict):
        return {key: "…" if key == "schema" else _without_schema(value) for key, value in node.items()}
    return node


def _keys(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            if key not in ("schema", "properties"):
                yield from _keys(value)


def _inside_sample() -> bool:
    from inspect_ai.log._samples import sample_active

    return sample_active() is not None
