"""The one error that a model's configuration raises before any call is made."""

from __future__ import annotations


class ModelConfigurationError(Exception):
    """A model cannot be used as this machine is set up: which model, why, and which setting to change."""

    def __init__(self, model: str, reason: str, remedy: str) -> None:
        super().__init__(f"model {model!r}: {reason} {remedy}")
        self.model = model
        self.reason = reason
        self.remedy = remedy
