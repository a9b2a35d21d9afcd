"""Whether a slide can be used at all, decided before anything is stored of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evaluation.slides._files import content_digest, primary_file, slide_files
from evaluation.slides._opening import refuse_cut_off
from evaluation.slides._slide import Slide, open_slide
from evaluation.slides._types import SlideError, SlideInfo

_PROBES_PER_SIDE = 6
"""Probes form a grid of 6 × 6 over level 0, corners included: a lost tail or stripe meets one."""

_PROBES_PER_SIDE_ABOVE = 3
_PROBE_PX = 32

MAX_COARSEST_PIXELS = 400_000_000
"""Showing a whole slide reads its coarsest level; of a huge one without a pyramid that would take hours."""


def check_slide(path: Path, *, mpp: float | None = None) -> SlideInfo:
    """Open a slide, decide its resolution, read spread probes of every level and return its facts.

    Reads the whole file once for `content_sha256` (a DICOM or MIRAX slide: all files of the slide).

    Args:
        path: a file that OpenSlide knows, or the folder of one DICOM slide.
        mpp: micrometres per level-0 pixel where the file states none.

    Raises:
        SlideError: anything that makes the slide unusable, with the reason and the remedy.
    """
    with open_slide(path, mpp=mpp) as slide:
        file = primary_file(path)
        refuse_cut_off(path, file, slide.info.vendor)
        _refuse_without_pyramid(slide)
        _probe(slide)
        try:
            digest = content_digest(slide_files(file, slide.info.vendor, slide.properties))
        except OSError as error:
            raise SlideError(path, f"the file cannot be read ({error}).", "Copy it again.") from error
        return replace(slide.info, content_sha256=digest)


def _refuse_without_pyramid(slide: Slide) -> None:
    coarsest = slide.info.levels[-1]
    if coarsest.width * coarsest.height > MAX_COARSEST_PIXELS:
        raise SlideError(
            slide.info.path,
            f"its smallest level has {coarsest.width:,} × {coarsest.height:,} pixels, more than "
            f"{MAX_COARSEST_PIXELS:,} in all.",
            "Export it as a pyramid, with smaller levels.",
        )


def _probe(slide: Slide) -> None:
    for index, level in enumerate(slide.info.levels):
        per_side = _PROBES_PER_SIDE if index == 0 else _PROBES_PER_SIDE_ABOVE
        for y in _spread(level.height, per_side):
            for x in _spread(level.width, per_side):
                slide.read_level(int(x * level.downsample), int(y * level.downsample), index, _PROBE_PX, _PROBE_PX)


def _spread(length: int, count: int) -> list[int]:
    """Return starts of probes from the first to the last pixels of a side, without repeats."""
    last = max(0, length - _PROBE_PX)
    return sorted({round(last * step / (count - 1)) for step in range(count)})
