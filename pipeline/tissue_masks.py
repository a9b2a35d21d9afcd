"""The tissue mask of a slide, kept beside its thumbnail."""

from __future__ import annotations

from pathlib import Path

from db.tables import Slide
from evaluation.slides import TissueMask
from pipeline.workspace import Workspace, write_atomically


def mask_path(workspace: Workspace, slide_id: str) -> Path:
    """Return where the mask of a slide is kept."""
    return workspace.slides / slide_id / "tissue.png"


def keep_tissue_mask(workspace: Workspace, slide_id: str, mask: TissueMask) -> None:
    """Store the mask of a slide."""
    write_atomically(mask_path(workspace, slide_id), mask.to_png_bytes())


def tissue_mask(workspace: Workspace, slide: Slide) -> TissueMask | None:
    """Return the mask of a slide, None where its file is gone."""
    path = mask_path(workspace, slide.id)
    return TissueMask.from_png_bytes(path.read_bytes()) if path.is_file() else None
