"""Opens models by name, one client per event loop, and says plainly what is missing where one cannot open."""

from __future__ import annotations

import asyncio
import re
import weakref
from typing import TYPE_CHECKING

from evaluation.models._errors import ModelConfigurationError
from evaluation.models._secrets import scrub

if TYPE_CHECKING:
    from inspect_ai.model import Model

OFFLINE_PREFIX = "offline/"
"""Names of the built-in models, which need no key and no network and are no language models."""

_MARKUP = re.compile(r"\[/?[a-z ]+\]")
_SETTING = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_PACKAGES = re.compile(r"pip install ([\w\-\[\] ]+)")

_open: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Model]] = weakref.WeakKeyDictionary()


def is_offline(name: str) -> bool:
    """Whether `name` is one of the built-in models, which are no language models."""
    return name.startswith(OFFLINE_PREFIX)


def check_model(name: str) -> None:
    """Make sure that `name` can be called: the provider exists, its package is there and its key is set.

    Nothing is sent. Call it before a long job.

    Raises:
        ModelConfigurationError: names the model, what is missing and the setting to change.
    """
    _build(name)


def open_model(name: str) -> Model:
    """Return the model for the running event loop (its HTTP client cannot outlive the loop).

    Raises:
        ModelConfigurationError: as `check_model`.
    """
    models = _open.setdefault(asyncio.get_running_loop(), {})
    if name not in models:
        models[name] = _build(name)
    return models[name]


async def close_models() -> None:
    """Close the HTTP clients that were opened on the running event loop."""
    for model in _open.pop(asyncio.get_running_loop(), {}).values():
        await model.api.aclose()


def _build(name: str) -> Model:
    from inspect_ai.model import get_model

    import evaluation.models._registry  # noqa: F401 (registers the built-in provider)

    if "/" not in name.strip("/"):
        raise ModelConfigurationError(
            name, "names no provider.", "Write PROVIDER/MODEL, for example offline/test-wise or openai/gpt-5.2."
        )
    try:
        return get_model(name, memoize=False)
    except ModelConfigurationError:
        raise
    except Exception as error:
        raise _explained(name, error) from None


def _explained(name: str, error: Exception) -> ModelConfigurationError:
    text = scrub(_MARKUP.sub("", str(getattr(error, "message", None) or error))).strip()
    first_line = " ".join(text.split())
    if "not recognized" in text:
        return ModelConfigurationError(
            name,
            f"there is no provider {name.split('/')[0]!r}.",
            "Use a provider that inspect_ai knows (openai, anthropic, google, vllm, openai-api/NAME, …) "
            "or a built-in offline/… model.",
        )
    packages = _PACKAGES.search(text)
    if packages:
        return ModelConfigurationError(
            name, "its client is not installed.", f"Run: pip install {packages.group(1).strip()}"
        )
    missing = getattr(error, "name", None) if isinstance(error, ImportError) else None
    if missing:
        return ModelConfigurationError(name, f"the package {missing} is missing.", f"Run: pip install {missing}")
    settings = sorted({word for word in _SETTING.findall(text) if not word.startswith("INSPECT_")})
    if settings:
        return ModelConfigurationError(
            name, "a setting is missing.", f"Set the environment variable {' or '.join(settings)}."
        )
    return ModelConfigurationError(name, first_line or type(error).__name__, "Correct the model's settings.")
