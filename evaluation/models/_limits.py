"""How long and how often one model call is tried."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

MAX_RETRIES = 4
"""Retries of one call after rate limits, server errors and timeouts; waits grow from 3 s to about 25 s."""

ATTEMPT_TIMEOUT_SECONDS = 300
"""One attempt: long enough for a reasoning model, short enough that a dead connection is noticed."""

TIMEOUT_SECONDS = 900
"""No further attempt starts after this time, so that a call ends within the two timeouts together."""


class CallLimits(BaseModel):
    """Retries and timeouts of one call; every call has all three, since the provider layer has no defaults."""

    model_config = ConfigDict(frozen=True)

    max_retries: int = Field(default=MAX_RETRIES, ge=0)
    attempt_timeout: int = Field(default=ATTEMPT_TIMEOUT_SECONDS, ge=1)
    timeout: int = Field(default=TIMEOUT_SECONDS, ge=1)
