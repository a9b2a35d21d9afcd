"""What a library that reads slide files must offer; everything above it is the same for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import openslide
from PIL import Image

OPENSLIDE = "openslide"
"""The reader that is tried first, under the name that is stored with each slide."""


class ReadError(Exception):
    """A library could not read pixels of an open file; the message is the library's."""


class Backend(Protocol):
    """An open file as one library reads it. Coordinates and sizes as in OpenSlide; reading is thread-safe.

    Nothing here gives label or macro images, so that nothing above can show, store or export them.
    """

    @property
    def name(self) -> str:
        """Name of the library."""
        ...

    @property
    def dimensions(self) -> tuple[int, int]:
        """Width and height of level 0."""
        ...

    @property
    def level_dimensions(self) -> tuple[tuple[int, int], ...]:
        """Width and height of each level, the finest first."""
        ...

    @property
    def level_downsamples(self) -> tuple[float, ...]:
        """Level-0 pixels that one pixel of each level spans."""
        ...

    @property
    def properties(self) -> Mapping[str, str]:
        """What the file says of itself, under OpenSlide's names."""
        ...

    def read_region(self, location: tuple[int, int], level: int, size: tuple[int, int]) -> Image.Image:
        """Return an RGBA image of `size` pixels of a level, or RGB where all is opaque.

        `location` is in level-0 pixels.

        Raises:
            ReadError: the file cannot be read there.
        """
        ...

    def close(self) -> None:
        """Release the file."""
        ...


class OpenSlideBackend:
    """A file that OpenSlide has open."""

    name = OPENSLIDE

    def __init__(self, handle: openslide.OpenSlide) -> None:
        self._handle = handle
        self.dimensions = handle.dimensions
        self.level_dimensions = handle.level_dimensions
        self.level_downsamples = handle.level_downsamples
        self.properties: Mapping[str, str] = dict(handle.properties)

    def read_region(self, location: tuple[int, int], level: int, size: tuple[int, int]) -> Image.Image:
        """See `Backend.read_region`."""
        try:
            image: Image.Image = self._handle.read_region(location, level, size)
        except openslide.OpenSlideError as error:
            raise ReadError(str(error)) from error
        return image

    def close(self) -> None:
        """See `Backend.close`."""
        self._handle.close()


class DeepZoomSource:
    """A backend as OpenSlide's deep-zoom generator wants to see it."""

    def __init__(self, backend: Backend) -> None:
        self.dimensions = backend.dimensions
        self.level_dimensions = backend.level_dimensions
        self.level_downsamples = backend.level_downsamples
        self.properties = backend.properties
        self._backend = backend

    def read_region(self, location: tuple[int, int], level: int, size: tuple[int, int]) -> Image.Image:
        """See `Backend.read_region`; always RGBA, which the generator takes apart."""
        return self._backend.read_region(location, level, size).convert("RGBA")

    def get_best_level_for_downsample(self, downsample: float) -> int:
        """Return the coarsest level that is at least as fine as `downsample`, as OpenSlide does."""
        finer = [level for level, own in enumerate(self.level_downsamples) if own <= downsample]
        return max(finer, default=0)
