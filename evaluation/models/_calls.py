"""What one model call is asked and what came of it, whichever provider answered."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

CallPurpose = Literal["generate", "regenerate", "check", "answer", "judge"]

CallOutcome = Literal["answered", "truncated", "refused", "failed"]
"""A reply that was cut by the token limit, refused or never came is an outcome of its own, never an answer."""


class ModelRequest(BaseModel):
    """One call: the texts, the image and the limits.

    `model` is any inspect_ai model name. `facts` is a JSON-serialisable description of the same question for
    the built-in offline models, which read no prose; it never holds an answer key for a model under test or a
    checker, and no network provider ever receives it.
    """

    model_config = ConfigDict(frozen=True)

    model: str
    purpose: CallPurpose
    system: str
    user: str
    image_png: bytes | None = None
    facts: dict[str, Any] = Field(default_factory=dict)
    json_schema: dict[str, Any] | None = None
    schema_name: str | None = None
    temperature: float | None = None
    max_tokens: int = 4096
    seed: int | None = None


class ModelReply(BaseModel):
    """What came of a call.

    `text` is what the model wrote ("" where nothing came). `error` says why a call failed. `sent` are the
    parameters that reached the provider (empty where it keeps no record), `dropped` those that it does not
    take. `model` is the name that was asked for, `served_model` what the provider says answered. `seconds` is
    wall time.
    """

    model_config = ConfigDict(frozen=True)

    outcome: CallOutcome
    text: str = ""
    error: str | None = None
    stop_reason: str | None = None
    model: str
    served_model: str | None = None
    is_language_model: bool = True
    prompt_sha256: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    sent: dict[str, Any] = Field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    seconds: float = 0.0
