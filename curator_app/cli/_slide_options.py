"""An option for every field that can be said of a slide, for the commands that take them all."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

SLIDE_OPTIONS: dict[str, Any] = {
    "organ": typer.Option(help="Organ that the slides show."),
    "source": typer.Option(help="Where the slides come from."),
    "licence": typer.Option("--licence", "--license", help="Licence of the images."),
    "organ_system": typer.Option(help="Organ system, of an organ that the organs file lacks."),
    "structure": typer.Option(help="Structure; the organs file's where not given."),
    "species": typer.Option(help="Species; the project's where not given."),
    "strain": typer.Option(help="Strain or breed."),
    "sex": typer.Option(help="male, female, male neutered or female spayed."),
    "age": typer.Option(help="Age with its unit, such as '13 weeks'."),
    "stain": typer.Option(help="Stain; the project's where not given."),
    "study": typer.Option(help="Study that the slides belong to."),
    "subject": typer.Option(help="The animal or patient, by a code."),
    "dose_group": typer.Option(help="Dose group, as the study names it."),
    "sacrifice": typer.Option(help="scheduled or unscheduled."),
    "institution": typer.Option(help="Where the slides were made."),
    "scanner": typer.Option(help="Scanner that made the images."),
}
"""The fields of `pipeline.ingest.SLIDE_FIELDS`, which a command reads only when it runs."""

_SAID = "said"


def with_slide_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `SLIDE_OPTIONS` in place of its parameter `said`: what was given, by field."""
    signature = inspect.signature(command, eval_str=True)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option])
        for name, option in SLIDE_OPTIONS.items()
    ]
    shown: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        named = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        shown += options if parameter.name == _SAID else [named]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        said = {name: value for name in SLIDE_OPTIONS if (value := given.pop(name)) is not None}
        command(**given, **{_SAID: said})

    run.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return run
