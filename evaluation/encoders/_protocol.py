"""What an encoder is: a named, versioned function from images to feature vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


class EncoderError(ValueError):
    """An encoder is unknown, not installed, or was given something that is no image."""


@dataclass(frozen=True, eq=False)
class EncodedTokens:
    """What an encoder makes of n images before pooling.

    `class_token` is float32 (n, d), None for a network without one; `grid` float32 (n, rows, columns, d): the spatial
    tokens in the image's own order, rows from the top.
    """

    class_token: NDArray[np.float32] | None
    grid: NDArray[np.float32]


@runtime_checkable
class Encoder(Protocol):
    """Turns images into vectors; features of different names, versions or weights are not comparable."""

    @property
    def name(self) -> str:
        """The name by which it is asked for."""

    @property
    def version(self) -> str:
        """Changes whenever the same image would give another vector."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def input_size(self) -> int:
        """Side in pixels to which images are reduced."""

    @property
    def description(self) -> str:
        """One sentence for people."""

    @property
    def licence(self) -> str:
        """Licence of code and weights."""

    @property
    def weights(self) -> str:
        """What the numbers come from; "none" where nothing was trained."""

    def encode(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Return one row for each RGB uint8 (height, width, 3) image: float32 (n, dimension).

        Raises:
            EncoderError: an entry is no such image; the message has its index.
        """

    def tokens(self, images: Sequence[NDArray[np.uint8]]) -> EncodedTokens:
        """Return class token and spatial tokens of each image.

        Raises:
            EncoderError: an entry is no such image, or the encoder describes images as a whole only.
        """


def check_images(images: Sequence[NDArray[np.uint8]]) -> None:
    """Refuse anything that is not an RGB uint8 (height, width, 3) image.

    Raises:
        EncoderError: with the index of the first wrong entry.
    """
    for index, image in enumerate(images):
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or image.size == 0:
            raise EncoderError(
                f"image {index} is {image.dtype} {image.shape}: encoders take RGB uint8 (height, width, 3)"
            )
