"""Images that people bring are decoded within limits or refused by name."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from evaluation.slides import ImageError, decode_image, encode_png


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def refusal(source: bytes | Path, **options: int) -> ImageError:
    with pytest.raises(ImageError) as caught:
        decode_image(source, **options)
    assert caught.value.remedy
    return caught.value


@given(st.integers(0, 2**30), st.integers(1, 40), st.integers(1, 40))
def test_png_keeps_every_pixel(seed: int, height: int, width: int) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    data = encode_png(image)
    np.testing.assert_array_equal(decode_image(data), image)
    assert encode_png(image) == data


@pytest.mark.parametrize("shape", [(4,), (4, 4, 4), (2, 4, 4, 3)])
def test_only_images_are_encoded(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="must be uint8"):
        encode_png(np.zeros(shape, dtype=np.uint8))
    with pytest.raises(ValueError, match="float64"):
        encode_png(np.zeros((4, 4, 3)))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "BMP", "WEBP", "JPEG"])
def test_the_usual_kinds_are_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "field"
    path.write_bytes(encoded(Image.new("RGB", (30, 20), (200, 120, 160)), kind))
    image = decode_image(path)
    assert image.shape == (20, 30, 3)
    assert np.abs(image.astype(int) - (200, 120, 160)).max() <= 4


def test_grey_palette_and_transparent_images_become_rgb_on_white() -> None:
    assert decode_image(encoded(Image.new("L", (5, 5), 77), "PNG")).tolist() == [[[77] * 3] * 5] * 5
    assert decode_image(encoded(Image.new("P", (2, 2)), "PNG")).shape == (2, 2, 3)
    assert decode_image(encoded(Image.new("RGBA", (2, 2), (9, 9, 9, 0)), "PNG")).min() == 255


def test_a_turned_photograph_is_set_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    assert decode_image(encoded(Image.new("RGB", (30, 20)), "JPEG", exif=exif)).shape == (30, 20, 3)


def test_a_decompression_bomb_is_refused_before_it_unfolds() -> None:
    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n"
    for kind, body in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b"")):
        data += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    assert "more than 64,000,000 pixels" in str(refusal(data))


def test_the_limit_is_the_callers() -> None:
    data = encode_png(np.zeros((100, 100, 3), dtype=np.uint8))
    assert decode_image(data, max_pixels=10_000).shape == (100, 100, 3)
    assert "more than 9,999" in refusal(data, max_pixels=9_999).reason


def test_what_is_no_image_is_named(tmp_path: Path) -> None:
    path = tmp_path / "report.png"
    path.write_text("no image at all")
    error = refusal(path)
    assert str(error).startswith(str(path))
    assert "not an image" in error.reason
    assert "not an image" in refusal(b"").reason
    assert "does not open" in refusal(tmp_path / "absent.png").reason


def test_cut_off_deep_and_many_paged_images_are_refused() -> None:
    rng = np.random.default_rng(0)
    whole = encode_png(rng.integers(0, 256, (50, 50, 3), dtype=np.uint8))
    assert "cut off" in refusal(whole[: len(whole) // 2]).reason
    deep = Image.fromarray(np.zeros((4, 4), dtype=np.uint16))
    assert "8 bits" in refusal(encoded(deep, "PNG")).reason
    pages = [Image.new("RGB", (4, 4)), Image.new("RGB", (4, 4), "red")]
    assert "pages" in refusal(encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:])).reason
