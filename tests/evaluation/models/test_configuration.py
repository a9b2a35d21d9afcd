"""Configuration faults are found before any call, named with their remedy, and show no key."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.models import ModelConfigurationError, call_model, check_model, scrub, use_workspace
from tests.evaluation.models.conftest import OPENAI_KEY, request_to


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nosuchprovider/model", "no provider 'nosuchprovider'"),
        ("gpt-5.2", "PROVIDER/MODEL"),
        ("", "PROVIDER/MODEL"),
        ("openai/gpt-5.2", "OPENAI_API_KEY"),
        ("openai-api/elsewhere/model", "ELSEWHERE_API_KEY"),
        ("openai-api/stub/model", "STUB_BASE_URL"),
        ("offline/nobody", "offline/test-wise"),
        ("mistral/large", "mistral"),
    ],
)
def test_a_faulty_model_name_is_explained(name: str, hint: str) -> None:
    with pytest.raises(ModelConfigurationError) as caught:
        check_model(name)
    message = str(caught.value)
    assert repr(name) in message
    assert hint.casefold() in message.casefold()
    assert "[bold]" not in message


@pytest.mark.parametrize("name", ["author", "test-wise", "random", "first", "synonyms"])
def test_the_built_in_models_need_nothing(name: str) -> None:
    check_model(f"offline/{name}")


def test_a_call_raises_for_configuration_alone() -> None:
    with pytest.raises(ModelConfigurationError):
        asyncio.run(call_model(request_to("nosuchprovider/model")))


def test_a_fresh_process_knows_the_offline_provider() -> None:
    code = "from inspect_ai.model import get_model; print(get_model('offline/first').name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "first"


def test_importing_the_package_loads_no_provider_library() -> None:
    code = "import sys, evaluation.models, evaluation.items.guessing; print('inspect_ai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "False", done.stderr


def test_logs_and_cache_go_into_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_LOG_DIR", "elsewhere")
    monkeypatch.setenv("INSPECT_CACHE_DIR", "elsewhere")
    use_workspace(tmp_path)
    for name in ("INSPECT_LOG_DIR", "INSPECT_CACHE_DIR"):
        folder = Path(os.environ[name])
        assert folder.is_dir()
        assert tmp_path in folder.parents


@pytest.mark.parametrize(
    "text",
    [
        f"key {OPENAI_KEY}",
        "Authorization: Bearer abcdefghijklmnop",
        "x-api-key: abcdefghijklmnop",
        "'api_key': 'abcdefghijklmnop'",
        "http://user:abcdefghijklmnop@host/v1",
        "Incorrect API key provided: sk-abcd****wxyz",
    ],
)
def test_scrub_removes_keys(text: str) -> None:
    clean = scrub(text)
    assert "abcdefghijklmnop" not in clean
    assert OPENAI_KEY not in clean
    assert "sk-abcd" not in clean
    assert "[redacted]" in clean


def test_scrub_leaves_other_text_alone() -> None:
    text = "HTTP 500: the key option is B; see http://host/v1/chat for the tokens used"
    assert scrub(text) == text
