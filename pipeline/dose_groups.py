"""Who sees which dose group a slide comes from: where the project hides it, nobody who judges the tissue."""

from __future__ import annotations

from db.tables import Slide
from evaluation.items import normalise_text
from pipeline.permissions import Permission
from pipeline.workspace import Workspace


def sees_dose_groups(workspace: Workspace) -> bool:
    """Say whether the actor may see dose groups: anybody, unless the setting `hide_dose_group` keeps them back."""
    return not workspace.settings.hide_dose_group or workspace.actor.may(Permission.VIEW_DOSE_GROUPS)


def without_hidden(workspace: Workspace, slide: Slide) -> Slide:
    """Return a row that was read, without its dose group where the actor may not see it."""
    if sees_dose_groups(workspace):
        return slide
    return Slide(**{**slide.model_dump(), "dose_group": None})


def is_control(workspace: Workspace, slide: Slide) -> bool:
    """Say whether a slide's dose group is one of the setting `control_dose_groups`; case and spaces do not matter."""
    controls = {_as_compared(group) for group in workspace.settings.control_dose_groups}
    return slide.dose_group is not None and _as_compared(slide.dose_group) in controls


def _as_compared(group: str) -> str:
    return " ".join(normalise_text(group).casefold().split())
