"""Loads the texts that models are asked with: one file each, replaceable by a user's own folder."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

PROMPT_NAMES: tuple[str, ...] = (
    "generation_system",
    "generation_user",
    "regeneration_mcq",
    "regeneration_kprim",
    "regeneration_rejection_system",
    "regeneration_rejection_user",
    "checker_mcq_system",
    "checker_mcq_user",
    "checker_kprim_system",
    "checker_kprim_user",
    "answer_mcq",
    "answer_kprim_statement",
    "answer_kprim_joint",
    "answer_free_text",
    "judge_system",
    "judge_user",
    "repair",
)
"""Every prompt of the product; each is a Jinja template `NAME.md`."""

_SUFFIX = ".md"


class PromptError(Exception):
    """A prompt cannot be used: which file, why, and what to do about it."""


class PromptLibrary:
    """The prompts of assets/prompts; a file of the same name in `folder` takes the place of the product's own.

    Raises:
        PromptError: `folder` is no folder, or holds a `.md` file under a name that no prompt has.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}
        self._environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined,
            autoescape=False,
            keep_trailing_newline=False,
        )
        if folder is not None:
            _check_folder(folder)

    def render(self, name: str, **values: Any) -> str:
        """Return the prompt `name` filled with `values`.

        Raises:
            PromptError: no such prompt, a faulty template, or a variable that is not given.
        """
        text = self._text(name)
        try:
            return self._environment.from_string(text).render(**values).strip()
        except TemplateSyntaxError as error:
            raise PromptError(f"{self._place(name)}, line {error.lineno}: {error.message}. Correct it.") from None
        except UndefinedError as error:
            given = ", ".join(sorted(values)) or "none"
            raise PromptError(
                f"{self._place(name)}: {error.message}. Variables given: {given}; use only these."
            ) from None
        except SecurityError as error:
            raise PromptError(f"{self._place(name)}: {error}. Prompts may only fill in values.") from None
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise PromptError(f"{self._place(name)}: the template failed: {error}. Correct it.") from None

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of the prompt's template, as hex digits.

        Raises:
            PromptError: no such prompt, or its file cannot be read.
        """
        return hashlib.sha256(self._text(name).encode("utf-8")).hexdigest()

    def _text(self, name: str) -> str:
        if name not in self._texts:
            self._texts[name] = self._read(name)
        return self._texts[name]

    def _read(self, name: str) -> str:
        if name not in PROMPT_NAMES:
            raise PromptError(f"There is no prompt {name + _SUFFIX!r}. Prompts: {', '.join(PROMPT_NAMES)}.")
        own = self._own_file(name)
        try:
            if own is not None:
                return own.read_text(encoding="utf-8")
            return resources.files("assets").joinpath("prompts", name + _SUFFIX).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PromptError(f"{self._place(name)} cannot be read as UTF-8 text: {error}.") from None

    def _own_file(self, name: str) -> Path | None:
        if self._folder is None:
            return None
        path = self._folder / (name + _SUFFIX)
        return path if path.is_file() else None

    def _place(self, name: str) -> str:
        return str(self._own_file(name) or f"assets/prompts/{name}{_SUFFIX}")


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise PromptError(f"The prompt folder {folder} does not exist. Create it or leave the setting empty.")
    strangers = sorted(path.name for path in folder.glob("*" + _SUFFIX) if path.stem not in PROMPT_NAMES)
    strangers = [name for name in strangers if name.lower() != "readme.md"]
    if strangers:
        raise PromptError(
            f"{folder / strangers[0]}: no prompt has this name, so the file would change nothing. "
            f"Rename it to one of: {', '.join(PROMPT_NAMES)}."
        )
