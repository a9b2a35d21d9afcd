"""Calls to language models, and the built-in offline models that stand in for them without key or network."""

from evaluation.models._calls import CallOutcome, CallPurpose, ModelReply, ModelRequest
from evaluation.models._concurrency import DEFAULT_CONCURRENCY, OnReply, call_models
from evaluation.models._errors import ModelConfigurationError
from evaluation.models._facts import GenerationFacts, JudgeFacts, QuestionFacts
from evaluation.models._invoke import call_model, messages, prompt_sha256
from evaluation.models._limits import ATTEMPT_TIMEOUT_SECONDS, MAX_RETRIES, TIMEOUT_SECONDS, CallLimits
from evaluation.models._loop import run_models
from evaluation.models._resolve import OFFLINE_PREFIX, check_model, close_models, is_offline
from evaluation.models._secrets import scrub
from evaluation.models._workspace import use_workspace

__all__ = [
    "ATTEMPT_TIMEOUT_SECONDS",
    "DEFAULT_CONCURRENCY",
    "MAX_RETRIES",
    "OFFLINE_PREFIX",
    "TIMEOUT_SECONDS",
    "CallLimits",
    "CallOutcome",
    "CallPurpose",
    "GenerationFacts",
    "JudgeFacts",
    "ModelConfigurationError",
    "ModelReply",
    "ModelRequest",
    "OnReply",
    "QuestionFacts",
    "call_model",
    "call_models",
    "check_model",
    "close_models",
    "is_offline",
    "messages",
    "prompt_sha256",
    "run_models",
    "scrub",
    "use_workspace",
]
