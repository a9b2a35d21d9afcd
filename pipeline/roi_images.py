"""Images of ROIs: read from the slide as it was added, stored, and found again as they were selected."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from db.tables import Roi, Slide
from evaluation.slides import Region, SlideError, decode_image, encode_png, open_slide
from evaluation.slides import Slide as OpenSlide
from pipeline.errors import InputError
from pipeline.stored_files import picture_file
from pipeline.workspace import Workspace, write_atomically

THUMBNAIL_PX = 256
"""Side of a candidate's stored picture; its full-size PNG is written when it is selected."""

_SAME_PICTURE = 1.0
"""Mean difference in grey levels up to which two readings of one place are the same picture: decoders differ less."""


def open_added_slide(slide: Slide) -> OpenSlide:
    """Open the file of a slide of this workspace; close it, or use it as a context manager.

    Raises:
        SlideError: it is gone, cannot be read, or another slide lies in its place.
    """
    opened = open_slide(Path(slide.path), mpp=slide.mpp)
    if (opened.info.width, opened.info.height) != (slide.width, slide.height):
        opened.close()
        raise SlideError(
            Path(slide.path),
            f"this is not the slide that was added as {slide.id}: it has {opened.info.width:,} × "
            f"{opened.info.height:,} pixels, not {slide.width:,} × {slide.height:,}.",
            "Put the original file back, or add this one under another name.",
        )
    return opened


def thumbnail_region(region: Region) -> Region:
    """Return the region as a candidate's small picture shows it."""
    if region.size <= THUMBNAIL_PX:
        return region
    return Region(region.x, region.y, THUMBNAIL_PX, region.mpp * region.size / THUMBNAIL_PX, region.tissue_share)


def read_roi(workspace: Workspace, roi: Roi, slide: Slide) -> bytes:
    """Read an ROI from its slide at full size and return it as PNG.

    Raises:
        SlideError: the slide cannot be read, or shows something else there than when the ROI was drawn.
        InputError: the ROI has no resolution, or its thumbnail lies where none may.
    """
    mpp = roi.mpp or slide.mpp
    if mpp is None:
        raise InputError(f"ROI {roi.id} has no resolution; import it again with one")
    region = Region(roi.x, roi.y, roi.size, mpp)
    with open_added_slide(slide) as opened:
        pixels = opened.read_region(region)
        small = thumbnail_region(region)
        seen = pixels if small == region else opened.read_region(small)
    stored = picture_file(workspace.root, roi.thumbnail_path) if roi.thumbnail_path else None
    if stored is not None and stored.is_file() and not _same_picture(seen, stored):
        raise SlideError(
            Path(slide.path),
            f"it shows another picture than when ROI {roi.id} was drawn: the file was replaced.",
            "Put the original file back, or add this one under another name.",
        )
    return encode_png(pixels)


def _same_picture(seen: NDArray[np.uint8], stored: Path) -> bool:
    try:
        with Image.open(io.BytesIO(stored.read_bytes())) as image:
            known = np.asarray(image.convert("RGB"), dtype=np.int16)
    except (OSError, SyntaxError, ValueError):
        return True  # A damaged thumbnail says nothing about the slide.
    return known.shape == seen.shape and float(np.abs(known - seen).mean()) <= _SAME_PICTURE


def require_image(workspace: Workspace, roi: Roi, slide: Slide) -> bytes:
    """Return the PNG of a selected ROI; one that was lost is read from its slide again.

    Raises:
        InputError: it was changed, lies where no picture may, or is lost and its slide gives another one or none.
    """
    if roi.image_path is None:
        raise InputError(f"ROI {roi.id} has no image; select it again")
    path = picture_file(workspace.root, roi.image_path)
    if path.is_file():
        data = path.read_bytes()
        if not _is_selected_image(data, roi):
            raise InputError(
                f"ROI {roi.id}: its image {roi.image_path} is not the one that was selected; restore it from a copy, "
                "or move the file away to have it read from the slide again"
            )
        return data
    try:
        data = _read_again(workspace, roi, slide)
    except (SlideError, ValueError) as error:
        raise InputError(
            f"ROI {roi.id}: its image {roi.image_path} is missing and cannot be read again: {error}"
        ) from None
    if not _is_selected_image(data, roi):
        raise InputError(
            f"ROI {roi.id}: its image {roi.image_path} is missing, and {slide.path} gives another one now; restore "
            "the image from a copy"
        )
    write_atomically(path, data)
    return data


def _is_selected_image(data: bytes, roi: Roi) -> bool:
    return hashlib.sha256(data).hexdigest() == roi.image_sha256


def _read_again(workspace: Workspace, roi: Roi, slide: Slide) -> bytes:
    if slide.kind == "image":
        return encode_png(decode_image(Path(slide.path), max_pixels=workspace.settings.max_image_pixels))
    return read_roi(workspace, roi, slide)
