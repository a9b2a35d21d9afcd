"""Opening a file with a library that reads it, with a plain reason where that fails."""

from __future__ import annotations

from pathlib import Path

import openslide

from evaluation.slides._backend import Backend, OpenSlideBackend, ReadError
from evaluation.slides._tiatoolbox import OME_NGFF, OME_TIFF, TiatoolboxBackend, format_of, is_installed
from evaluation.slides._tiff_extent import missing_bytes
from evaluation.slides._types import SlideError

MAX_LEVEL0_PIXELS = 400_000_000_000
"""Level-0 pixels: a whole 76 × 26 mm slide at 80× has about 130 gigapixels, so more is a broken header."""

_KINDS = {OME_TIFF: "OME-TIFF", OME_NGFF: "OME-NGFF folder"}

_FEW_PIXELS = 4096 * 4096
"""An OME-TIFF of more, of which OpenSlide sees the full resolution alone, is read with its smaller levels instead."""

_IMAGE_SIGNATURES = {
    b"\x89PNG": "a plain PNG image",
    b"\xff\xd8\xff": "a plain JPEG image",
    b"BM": "a plain BMP image",
    b"GIF8": "a GIF image",
}
_FILE_SIGNATURES = {b"PK\x03\x04": "a ZIP archive", b"%PDF": "a PDF document", b"\x1f\x8b": "a gzip archive"}


def open_backend(path: Path, file: Path) -> Backend:
    """Open `file` with the library that reads it, or say of `path` in plain words why not.

    OpenSlide is asked first; what it does not open and TIAToolbox may is asked of that, where it is installed.

    Raises:
        SlideError: the file is no slide, does not open or claims an impossible size.
    """
    kind = format_of(file)
    backend: Backend
    try:
        backend = _open_with_openslide(path, file)
    except SlideError as error:
        if kind is None or _is_cut_off(file):
            raise
        backend = _open_with_tiatoolbox(path, file, kind, error)
    else:
        if kind is not None:
            backend = _with_its_levels(backend, file, kind)
    width, height = backend.dimensions
    if width <= 0 or height <= 0 or width * height > MAX_LEVEL0_PIXELS:
        backend.close()
        raise SlideError(
            path,
            f"the file claims {width:,} × {height:,} pixels, more than {MAX_LEVEL0_PIXELS:,} in all.",
            "Its header is broken: export it again.",
        )
    return backend


def _open_with_openslide(path: Path, file: Path) -> OpenSlideBackend:
    try:
        vendor = openslide.OpenSlide.detect_format(file)
        if vendor is None:
            raise _unknown_format(path, file)
        return OpenSlideBackend(openslide.OpenSlide(file))
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


def _with_its_levels(opened: OpenSlideBackend, file: Path, kind: str) -> Backend:
    """Return a backend that sees the smaller levels of a large image, where TIAToolbox is there and finds some."""
    width, height = opened.dimensions
    if len(opened.level_dimensions) > 1 or width * height <= _FEW_PIXELS or not is_installed():
        return opened
    try:
        other = TiatoolboxBackend(file, kind)
    except ReadError:
        return opened
    if len(other.level_dimensions) == 1:
        other.close()
        return opened
    opened.close()
    return other


def _open_with_tiatoolbox(path: Path, file: Path, kind: str, why: SlideError) -> TiatoolboxBackend:
    if not is_installed():
        raise SlideError(
            path,
            f"OpenSlide does not read this {_KINDS[kind]} ({why.reason.rstrip('.')}).",
            "Install the extra tiatoolbox, whose reader knows this format, or export the slide as a pyramidal TIFF.",
        )
    try:
        return TiatoolboxBackend(file, kind)
    except ReadError as error:
        raise SlideError(
            path,
            f"neither OpenSlide nor TIAToolbox opens this {_KINDS[kind]} ({error}).",
            "Export it again, as 8-bit RGB.",
        ) from error


def refuse_cut_off(path: Path, file: Path, vendor: str | None) -> None:
    """Refuse a TIFF-based slide whose directories point past the end of the file.

    Raises:
        SlideError: the file is cut off.
    """
    if vendor not in {"hamamatsu", "dicom", "mirax", "sakura", "zeiss", OME_NGFF} and _is_cut_off(file):
        raise _cut_off(path)


def _is_cut_off(file: Path) -> bool:
    return file.is_file() and bool(missing_bytes(file))


def _cut_off(path: Path) -> SlideError:
    return SlideError(
        path,
        f"the file is cut off: its directory points past its end at {path.stat().st_size:,} bytes.",
        "Copy it again from its source.",
    )


def _unknown_format(path: Path, file: Path) -> SlideError:
    if _is_cut_off(file):
        return _cut_off(path)
    if file.is_dir():
        return SlideError(path, "it is a folder that OpenSlide does not know.", "Name a slide file.")
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
