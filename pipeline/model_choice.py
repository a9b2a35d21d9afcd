"""Which models write and check, and whose prompts they get, settled before any work begins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evaluation.items.prompts import PromptLibrary
from evaluation.models import check_model, use_workspace
from pipeline.workspace import Workspace


@dataclass(frozen=True)
class ModelChoice:
    """Which model writes and which checks (inspect_ai names)."""

    generator: str
    checker: str


def choose_models(workspace: Workspace, *, generator: str | None, checker: str | None) -> ModelChoice:
    """Return the models to use, the settings' where none is given, after checking that they can be called.

    Raises:
        evaluation.models.ModelConfigurationError: a model is unknown, or its key or package is missing.
        evaluation.items.prompts.PromptError: the workspace's own prompts cannot be used.
    """
    choice = ModelChoice(
        generator=generator or workspace.settings.generator, checker=checker or workspace.settings.checker
    )
    use_workspace(workspace.root)
    for name in dict.fromkeys((choice.generator, choice.checker)):
        check_model(name)
    PromptLibrary(prompt_folder(workspace))
    return choice


def prompt_folder(workspace: Workspace) -> Path | None:
    """Return the folder of the workspace's own prompts, or None where it uses those that ship."""
    folder = workspace.settings.prompts
    if folder is None:
        return None
    return folder if folder.is_absolute() else workspace.root / folder
