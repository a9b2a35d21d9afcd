"""Places on a slide become vectors: read ahead on several threads, encoded in batches, kept batch by batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evaluation.encoders import Encoder
from evaluation.extraction._file import FeatureFile
from evaluation.extraction._key import Frame
from evaluation.slides import Region
from evaluation.stains import Normalised, Normaliser

BATCH_SIZE = 32
"""Places that are encoded at once; two such batches of images are in memory."""

_MOST_READERS = 8

Image = NDArray[np.uint8]


class ReadsRegions(Protocol):
    """An open slide, as far as it is needed here."""

    def read_region(self, region: Region) -> Image:
        """Return a region as RGB uint8 (size, size, 3)."""


@dataclass(frozen=True)
class Extracted:
    """How many places were encoded now, and how many of them show no stain and were not normalised."""

    encoded: int = 0
    blank: int = 0


def extract_features(
    file: FeatureFile,
    frames: Sequence[Frame],
    *,
    open_slide: Callable[[], AbstractContextManager[ReadsRegions]],
    encoder: Encoder,
    normaliser: Normaliser,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    batch_size: int = BATCH_SIZE,
) -> Extracted:
    """Encode the places that the file has no vector of yet.

    Args:
        file: where vectors are kept; a killed run goes on behind its last batch.
        frames: the places.
        open_slide: opens the slide; not called where nothing is missing.
        encoder: makes the vectors.
        normaliser: the step before the encoder.
        progress: told after each batch how many of those missing are done.
        batch_size: places encoded at once.

    Raises:
        FeatureFileError: the file is damaged.
        SlideError: a place cannot be read.
        EncoderError: the encoder cannot encode it.
    """
    blank = 0
    with file.writing(encoder.dimension) as writer:
        missing = file.missing(frames)
        if not missing:
            return Extracted()
        with open_slide() as slide:

            def read(frame: Frame) -> Normalised:
                return normaliser.apply(slide.read_region(region_for(frame, encoder.input_size)))

            done = 0
            # Closed before the slide is: no thread may still read from it then.
            with closing(_read_ahead(read, missing, batch_size)) as batches:
                for batch, read_images in batches:
                    writer.add(batch, encoder.encode([one.image for one in read_images]))
                    blank += sum(one.blank for one in read_images)
                    done += len(batch)
                    progress(done, len(missing))
    return Extracted(len(missing), blank)


def region_for(frame: Frame, input_size: int) -> Region:
    """Return the place at an encoder's input size, never finer than the place itself."""
    size = min(frame.size, input_size)
    return Region(frame.x, frame.y, size, frame.mpp * frame.size / size)


def _read_ahead(
    read: Callable[[Frame], Normalised], frames: Sequence[Frame], batch_size: int
) -> Generator[tuple[Sequence[Frame], list[Normalised]], None, None]:
    """Yield batches with their images; the next batch is read while the caller works on one."""
    batches = [frames[start : start + batch_size] for start in range(0, len(frames), batch_size)]
    with ThreadPoolExecutor(min(_MOST_READERS, os.cpu_count() or 1)) as pool:
        coming = [pool.submit(read, frame) for frame in batches[0]]
        for place, batch in enumerate(batches):
            waiting = coming
            following = batches[place + 1] if place + 1 < len(batches) else ()
            images = [future.result() for future in waiting]
            coming = [pool.submit(read, frame) for frame in following]
            yield batch, images
