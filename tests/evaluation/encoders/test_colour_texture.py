"""The built-in encoder tells stains and textures apart and does not mind how an image lies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from evaluation.encoders import DEFAULT_ENCODER, Encoder, EncoderError, get_encoder
from evaluation.encoders._colour_texture import _GRAIN_REACHES, _spread
from evaluation.slides import decode_image
from tests.evaluation.encoders.pictures import tissue


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return get_encoder(DEFAULT_ENCODER)


def test_a_vector_has_the_promised_form(encoder: Encoder) -> None:
    vectors = encoder.encode([tissue(0), tissue(1, size=256)])
    assert vectors.shape == (2, encoder.dimension)
    assert vectors.dtype == np.float32
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_the_same_image_gives_the_same_vector_alone_or_in_a_batch(encoder: Encoder) -> None:
    images = [tissue(seed) for seed in range(3)]
    batch = encoder.encode(images)
    for image, row in zip(images, batch, strict=True):
        np.testing.assert_array_equal(encoder.encode([image])[0], row)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**30),
    height=st.integers(1, 70),
    width=st.integers(1, 70),
    low=st.integers(0, 255),
    high=st.integers(0, 255),
)
def test_any_image_gives_finite_moderate_values(seed: int, height: int, width: int, low: int, high: int) -> None:
    rng = np.random.default_rng(seed)
    image = rng.integers(min(low, high), max(low, high) + 1, (height, width, 3)).astype(np.uint8)
    vector = get_encoder(DEFAULT_ENCODER).encode([image])
    assert np.isfinite(vector).all()
    assert np.abs(vector).max() < 2


def test_turning_and_mirroring_hardly_move_a_vector(encoder: Encoder) -> None:
    image = tissue(0)
    other = tissue(0, nuclei=300)
    poses = [image, np.rot90(image), np.flipud(image), np.fliplr(image), other]
    vectors = encoder.encode([np.ascontiguousarray(pose) for pose in poses])
    distances = np.linalg.norm(vectors[1:] - vectors[0], axis=1)
    assert distances[:3].max() < 0.05 * distances[3]


@pytest.mark.parametrize("change", [{"eosin": 0.45}, {"nuclei": 600}, {"radius": 12.0}, {"nuclei": 0}], ids=str)
def test_what_differs_lies_farther_than_what_is_alike(encoder: Encoder, change: dict[str, float]) -> None:
    alike = [tissue(seed) for seed in range(4)]
    different = [tissue(seed, **change) for seed in range(4, 8)]  # type: ignore[arg-type]
    vectors = encoder.encode(alike + different)
    gaps = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    within = max(gaps[:4, :4].max(), gaps[4:, 4:].max())
    assert gaps[:4, 4:].min() > 1.5 * within


def test_fields_of_one_real_slide_are_nearer_than_another_slides(encoder: Encoder, shared_data: Path) -> None:
    nest = decode_image(shared_data / "nuclei" / "hgsc_nest.jpg")
    halves = [nest[:750, :750], nest[750:, :750], nest[:750, 750:]]
    drawn = [tissue(seed) for seed in range(3)]
    vectors = encoder.encode([np.ascontiguousarray(image) for image in halves + drawn])
    gaps = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    assert gaps[:3, 3:].min() > gaps[:3, :3].max()


@pytest.mark.parametrize(
    "wrong",
    [np.zeros((4, 4), dtype=np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), dtype=np.uint8)],
    ids=["grey", "float", "empty"],
)
def test_what_is_no_image_is_refused_with_its_index(
    encoder: Encoder, wrong: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
) -> None:
    with pytest.raises(EncoderError, match="image 1 is"):
        encoder.encode([tissue(0), wrong])


@given(st.integers(0, 2**30))
@settings(max_examples=10, deadline=None)
def test_fast_erosion_and_dilation_equal_scipys(seed: int) -> None:
    plane = np.random.default_rng(seed).integers(0, 256, (64, 64), dtype=np.uint8)
    low = high = plane
    side = 1
    for reach in _GRAIN_REACHES:
        low, high = _spread(low, reach, np.minimum), _spread(high, reach, np.maximum)
        side += 2 * reach
        np.testing.assert_array_equal(low, ndimage.minimum_filter(plane, size=side))
        np.testing.assert_array_equal(high, ndimage.maximum_filter(plane, size=side))
