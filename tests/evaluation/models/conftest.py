"""Keys and base URLs of the stub's two protocols, and requests to ask it with."""

from __future__ import annotations

import pytest

from evaluation.models import ModelRequest

OPENAI_KEY = "sk-stub-0123456789abcdef"
ANTHROPIC_KEY = "sk-ant-stub-0123456789abcdef"
OPENAI_MODEL = "openai-api/stub/tiny"
ANTHROPIC_MODEL = "anthropic/claude-opus-4-8"

SCHEMA = {
    "type": "object",
    "properties": {"answer_index": {"type": "integer", "minimum": 0, "maximum": 4}},
    "required": ["answer_index"],
}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STUB_BASE_URL", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "INSPECT_EVAL_MODEL_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STUB_API_KEY", OPENAI_KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", ANTHROPIC_KEY)


def request_to(model: str, **changes: object) -> ModelRequest:
    """Return a request with all that a call can hold."""
    values: dict[str, object] = {
        "model": model,
        "purpose": "check",
        "system": "You sit an examination.",
        "user": "Which option is right?",
        "image_png": b"\x89PNG not really",
        "facts": {"answer": "HIDDEN-FACT"},
        "json_schema": SCHEMA,
        "schema_name": "guess",
        "temperature": 0.0,
        "max_tokens": 50,
        "seed": 3,
    }
    return ModelRequest.model_validate(values | changes)
