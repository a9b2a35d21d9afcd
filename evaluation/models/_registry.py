"""Registers the `offline` provider with inspect_ai; its entry point loads this module in any process."""

from __future__ import annotations

from inspect_ai.model import ModelAPI, modelapi


@modelapi(name="offline")
def offline() -> type[ModelAPI]:
    """Return the provider of the built-in models."""
    from evaluation.models._offline._api import OfflineAPI

    return OfflineAPI
