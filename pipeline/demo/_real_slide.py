"""Fetches OpenSlide's small CC0 test slide and adds it to the demo, its bytes checked against a pinned sum."""

from __future__ import annotations

import hashlib
import urllib.error
import urllib.request

from pipeline.ingest import SlideMetadata, add_slides, list_slides
from pipeline.progress import Progress, silent
from pipeline.workspace import Workspace, write_atomically

URL = "https://openslide.cs.cmu.edu/download/openslide-testdata/Aperio/CMU-1-Small-Region.svs"
SHA256 = "ed92d5a9f2e86df67640d6f92ce3e231419ce127131697fbbce42ad5e002c8a7"
FILE_NAME = "CMU-1-Small-Region.svs"
MAX_BYTES = 5_000_000
TIMEOUT_S = 30


class RealSlideError(Exception):
    """The slide could not be fetched; the rest of the demo is there."""


def add_real_slide(workspace: Workspace, *, who: str, progress: Progress = silent, url: str = URL) -> str:
    """Fetch the slide unless it is there, add it, and return what was done in a sentence.

    Raises:
        RealSlideError: it cannot be fetched, or is not the file that is expected.
    """
    path = workspace.root / "drawings" / FILE_NAME
    if not path.is_file():
        data = _fetch(url)
        found = hashlib.sha256(data).hexdigest()
        if found != SHA256:
            raise RealSlideError(
                f"{url} gave another file than expected (SHA-256 {found[:12]}…, expected {SHA256[:12]}…); not used."
            )
        write_atomically(path, data)
    if any(slide.content_sha256 == SHA256 for slide in list_slides(workspace)):
        return f"{FILE_NAME} is in the demo workspace already."
    metadata = SlideMetadata(
        organ="unspecified", source="OpenSlide test data", licence="CC0-1.0", species="unspecified"
    )
    report = add_slides(workspace, [path], metadata, who=who, progress=progress)
    if report.problems:
        raise RealSlideError(report.problems[0])
    return f"{FILE_NAME} was added under the organ 'unspecified'."


def _fetch(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as reply:  # noqa: S310  (a constant https address)
            data: bytes = reply.read(MAX_BYTES + 1)
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise RealSlideError(
            f"The real slide was not fetched ({reason}). Without a network the demo works on drawn slides alone; "
            f"to add it later, run 'histocurator demo --real-slide' again."
        ) from None
    if len(data) > MAX_BYTES:
        raise RealSlideError(f"{url} gave more than {MAX_BYTES} bytes; not used.")
    return data
