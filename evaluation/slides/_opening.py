"""Opening a file with a library that reads it, with a plain reason where that fails."""

from __future__ import annotations

from pathlib import Path

import openslide

from evaluation.slides._backend import Backend, OpenSlideBackend
from evaluation.slides._tiff_extent import missing_bytes
from evaluation.slides._types import SlideError

MAX_LEVEL0_PIXELS = 400_000_000_000
"""Level-0 pixels: a whole 76 × 26 mm slide at 80× has about 130 gigapixels, so more is a broken header."""

_IMAGE_SIGNATURES = {
    b"\x89PNG": "a plain PNG image",
    b"\xff\xd8\xff": "a plain JPEG image",
    b"BM": "a plain BMP image",
    b"GIF8": "a GIF image",
}
_FILE_SIGNATURES = {b"PK\x03\x04": "a ZIP archive", b"%PDF": "a PDF document", b"\x1f\x8b": "a gzip archive"}


def open_backend(path: Path, file: Path) -> Backend:
    """Open `file` with the library that reads it, or say of `path` in plain words why not.

    Raises:
        SlideError: the file is no slide, does not open or claims an impossible size.
    """
    try:
        vendor = openslide.OpenSlide.detect_format(file)
        if vendor is None:
            raise _unknown_format(path, file)
        handle = openslide.OpenSlide(file)
    except openslide.OpenSlideError as error:
        if _is_cut_off(file):
            raise _cut_off(path) from error
        raise SlideError(
            path,
            f"the slide does not open ({error}).",
            "Check it in the scanner's viewer or export it again.",
        ) from error
    except OSError as error:
        raise SlideError(path, f"the file cannot be read ({error}).", "Check its permissions.") from error
    width, height = handle.dimensions
    if width <= 0 or height <= 0 or width * height > MAX_LEVEL0_PIXELS:
        handle.close()
        raise SlideError(
            path,
            f"the file claims {width:,} × {height:,} pixels, more than {MAX_LEVEL0_PIXELS:,} in all.",
            "Its header is broken: export it again.",
        )
    return OpenSlideBackend(handle)


def refuse_cut_off(path: Path, file: Path, vendor: str | None) -> None:
    """Refuse a TIFF-based slide whose directories point past the end of the file.

    Raises:
        SlideError: the file is cut off.
    """
    if vendor not in {"hamamatsu", "dicom", "mirax", "sakura", "zeiss"} and _is_cut_off(file):
        raise _cut_off(path)


def _is_cut_off(file: Path) -> bool:
    return bool(missing_bytes(file))


def _cut_off(path: Path) -> SlideError:
    return SlideError(
        path,
        f"the file is cut off: its directory points past its end at {path.stat().st_size:,} bytes.",
        "Copy it again from its source.",
    )


def _unknown_format(path: Path, file: Path) -> SlideError:
    if _is_cut_off(file):
        return _cut_off(path)
    with file.open("rb") as stream:
        head = stream.read(1024)
    for signature, name in _IMAGE_SIGNATURES.items():
        if head.startswith(signature):
            return SlideError(path, f"this is {name}, not a slide.", "Import it as an ROI (rois import).")
    for signature, name in _FILE_SIGNATURES.items():
        if head.startswith(signature):
            return SlideError(path, f"this is {name}, not a slide.", "Name a slide file.")
    if _is_text(head):
        return SlideError(path, "this is a text file, not a slide.", "Name a slide file, or copy it again.")
    return SlideError(
        path,
        "no slide format that OpenSlide knows.",
        "Name a slide file (such as .svs, .ndpi, .mrxs, .scn, .bif, DICOM or a tiled pyramidal TIFF).",
    )


def _is_text(head: bytes) -> bool:
    return b"\x00" not in head and all(byte >= 0x20 or byte in b"\t\n\r\f" for byte in head)
