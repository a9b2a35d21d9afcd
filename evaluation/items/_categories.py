"""VIPER's seven question categories (Appendix Table 2) under the slugs of its public dataset."""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

Category = Literal[
    "identify_anatomy",
    "probe_over_reading",
    "localize_in_image",
    "identify_pathology",
    "characterize_feature",
    "identify_artifact",
    "quantify_feature",
]
CATEGORIES: tuple[Category, ...] = get_args(Category)


class CategoryDescription(BaseModel):
    """A category as a pathologist chooses it: its name, what falls under it and one example."""

    model_config = ConfigDict(frozen=True)

    slug: Category
    name: str
    definition: str
    example_question: str
    example_answer: str


@functools.cache
def describe_categories() -> tuple[CategoryDescription, ...]:
    """Return the seven categories in the paper's order of frequency."""
    text = resources.files("assets").joinpath("categories.json").read_text(encoding="utf-8")
    return tuple(CategoryDescription.model_validate(entry) for entry in json.loads(text))
