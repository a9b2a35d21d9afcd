"""Texts and vocabularies that ship with the product: prompts, categories, organ vocabularies, theme."""

from importlib import resources


def text(name: str) -> str:
    """Return a shipped text file, such as `prompts/judge_system.md`.

    Raises:
        FileNotFoundError: there is none of this name.
    """
    return resources.files("assets").joinpath(name).read_text(encoding="utf-8")
