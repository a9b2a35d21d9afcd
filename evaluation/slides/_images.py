"""PNG encoding, and decoding of images that people bring, within limits."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

MAX_IMAGE_PIXELS = 64_000_000
"""Pixels of an image that a person brings: 8,000 × 8,000, above any ROI, below a decompression bomb."""

_SMALLER = "Bring a smaller field, or add the file as a slide."
_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP")
_EIGHT_BIT_MODES = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"})


class ImageError(ValueError):
    """An image cannot be used: which one, why, and what to do about it."""

    def __init__(self, name: str, reason: str, remedy: str) -> None:
        super().__init__(f"{name}: {reason} {remedy}")
        self.name = name
        self.reason = reason
        self.remedy = remedy


def encode_png(image: NDArray[np.uint8]) -> bytes:
    """Return an RGB (height, width, 3) or grey (height, width) uint8 image as PNG; equal input, equal bytes.

    Raises:
        ValueError: the array has another shape or type.
    """
    if image.dtype != np.uint8 or not (image.ndim == 2 or (image.ndim == 3 and image.shape[2] == 3)):
        raise ValueError(f"an image must be uint8 (h, w, 3) or (h, w), not {image.dtype} {image.shape}")
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def decode_image(
    source: bytes | Path, *, max_pixels: int = MAX_IMAGE_PIXELS, name: str | None = None
) -> NDArray[np.uint8]:
    """Return an image as RGB uint8 (height, width, 3), upright by its EXIF tag, transparent parts white.

    PNG, JPEG, TIFF (one page), BMP and WebP of 8 bits per channel. The header's size is checked before a
    pixel is decoded.

    Args:
        source: the encoded bytes, or a file.
        max_pixels: larger images are refused.
        name: how messages call the image; by default the path.

    Raises:
        ImageError: no image, of another kind, too large, several pages, more than 8 bits, or cut off.
    """
    label = name or (str(source) if isinstance(source, Path) else "image")
    try:
        opened = _open(source)
    except UnidentifiedImageError as error:
        raise ImageError(
            label, "this is not an image of a kind that is read.", f"Bring one of {', '.join(_FORMATS)}."
        ) from error
    except Image.DecompressionBombError as error:
        raise ImageError(label, f"the image has more than {max_pixels:,} pixels.", _SMALLER) from error
    except (OSError, SyntaxError, ValueError) as error:
        raise ImageError(label, f"the image does not open ({error}).", "Export it again.") from error
    with opened as image:
        _check_header(label, image, max_pixels)
        try:
            image.load()
            upright = ImageOps.exif_transpose(image)
            return _on_white(upright)
        except (OSError, SyntaxError, ValueError) as error:
            raise ImageError(
                label, f"the image is cut off or damaged ({error}).", "Copy or export it again."
            ) from error


def _open(source: bytes | Path) -> Image.Image:
    with warnings.catch_warnings():
        # Our own limit is checked right after; Pillow's warning would only repeat it.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        return Image.open(io.BytesIO(source) if isinstance(source, bytes) else source, formats=_FORMATS)


def _check_header(label: str, image: Image.Image, max_pixels: int) -> None:
    pixels = image.width * image.height
    if pixels > max_pixels:
        raise ImageError(
            label,
            f"the image has {image.width:,} × {image.height:,} pixels, more than {max_pixels:,} in all.",
            _SMALLER,
        )
    if getattr(image, "n_frames", 1) > 1:
        raise ImageError(
            label, "the image has several pages or frames.", "Add a pyramid as a slide, or bring one page."
        )
    tiles = getattr(image, "tile", [])
    stored = tiles[0].args if tiles else ""
    # Pillow halves 16-bit colour on decoding and calls it RGB: only the stored mode tells.
    if image.mode not in _EIGHT_BIT_MODES or ";16" in str(stored):
        raise ImageError(
            label,
            f"the image has more than 8 bits per channel (mode {stored or image.mode}).",
            "Convert it to 8-bit RGB, so that its brightness range is your choice.",
        )


def _on_white(image: Image.Image) -> NDArray[np.uint8]:
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        image = Image.new("RGB", rgba.size, "white")
        image.paste(rgba, mask=rgba.getchannel("A"))
    return np.asarray(image.convert("RGB"), dtype=np.uint8)
