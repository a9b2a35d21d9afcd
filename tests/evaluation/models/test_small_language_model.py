"""A real small language model over both protocols: nothing crashes, and an invalid answer is refused with a reason."""

from __future__ import annotations

import asyncio
import random

import pytest

from evaluation.items.generation import InvalidReplyError, generation_request, read_variants
from evaluation.items.guessing import guess_request, read_mcq_guess
from evaluation.items.prompts import PromptLibrary
from evaluation.models import CallLimits, ModelReply, ModelRequest, call_model, close_models
from evaluation.models._offline._author import write_items
from tests.evaluation.models.seeds import SEEDS, facts_of
from tests.wire.small_model import SmallModel, small_model

__all__ = ["small_model"]

LIMITS = CallLimits(max_retries=0, attempt_timeout=280, timeout=280)

REPLY_TOKENS = 100
"""Fewer than the server allows: reading the prompt alone takes it up to a minute on two busy cores."""


def _ask(request: ModelRequest) -> ModelReply:
    async def call() -> ModelReply:
        try:
            return await call_model(request, LIMITS)
        finally:
            await close_models()

    return asyncio.run(call())


@pytest.mark.language_model
@pytest.mark.parametrize("model", ["openai-api/small/smollm2", "anthropic/smollm2"])
def test_generation_and_check_survive_a_weak_model(
    small_model: SmallModel, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMALL_API_KEY", "not-needed")
    monkeypatch.setenv("SMALL_BASE_URL", small_model.openai_url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-needed")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", small_model.anthropic_url)
    prompts = PromptLibrary()
    seed = SEEDS[0]

    generated = _ask(generation_request(seed, model=model, image_png=None, prompts=prompts, max_tokens=REPLY_TOKENS))
    item = read_variants(write_items(facts_of(seed))).mcq.to_item(random.Random(0))
    request = guess_request(item, model=model, prompts=prompts, seed_key="small")
    guessed = _ask(request.model_copy(update={"max_tokens": REPLY_TOKENS}))

    for reply in (generated, guessed):
        assert reply.outcome in ("answered", "truncated"), reply.error
        assert reply.text
        assert reply.is_language_model
        assert reply.output_tokens is not None
        assert reply.output_tokens <= REPLY_TOKENS
    for reply, read in ((generated, read_variants), (guessed, read_mcq_guess)):
        try:
            read(reply.text)  # type: ignore[operator]
        except InvalidReplyError as error:
            reason = error.reason
        else:
            reason = "valid"
        assert reason
        assert "\n" not in reason
