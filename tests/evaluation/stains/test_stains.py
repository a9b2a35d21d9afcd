"""Stain normalisation moves an image's colours to the target's and leaves what shows no stain alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from evaluation.stains import NORMALISATIONS, ColourStatistics, Macenko, StainError, StainStatistics, get_normaliser
from tests.evaluation.encoders.pictures import tissue

BLANK = np.full((64, 64, 3), 244, dtype=np.uint8)
STAINS = np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11]])


def recoloured(image: NDArray[np.uint8], factors: tuple[float, float, float]) -> NDArray[np.uint8]:
    """The same tissue as another scanner shows it."""
    return np.clip(255 * (image / 255.0) ** np.array(factors), 0, 255).astype(np.uint8)


def apart(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    return float(np.abs(one.astype(float) - other).mean())


@pytest.mark.parametrize("name", ["macenko", "reinhard"])
def test_two_stainings_of_one_tissue_come_closer(name: str) -> None:
    one = tissue(3, size=256)
    other = recoloured(one, (1.35, 0.85, 1.15))
    normaliser = get_normaliser(name)
    first, second = normaliser.apply(one), normaliser.apply(other)
    assert (first.image.shape, first.image.dtype, first.blank) == (one.shape, np.uint8, False)
    assert apart(first.image, second.image) < 0.35 * apart(one, other)


@pytest.mark.parametrize("name", ["macenko", "reinhard"])
def test_the_target_itself_stays_as_it_is(name: str, tmp_path: Path) -> None:
    target = tissue(5, size=256)
    Image.fromarray(target).save(tmp_path / "target.png")
    normaliser = get_normaliser(name, target=tmp_path / "target.png")
    assert apart(normaliser.apply(target).image, target) < 5  # two stains say less than three channels
    assert normaliser.version.startswith(f"{name}-")
    assert normaliser.version != get_normaliser(name).version == name


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_a_blank_image_is_left_as_it_is_and_said(name: str) -> None:
    done = get_normaliser(name).apply(BLANK)
    np.testing.assert_array_equal(done.image, BLANK)
    assert done.blank == (name != "none")


def test_macenko_finds_the_directions_that_the_tissue_was_drawn_with() -> None:
    found = StainStatistics.of(tissue(1, size=512))
    drawn = STAINS / np.linalg.norm(STAINS, axis=1, keepdims=True)
    # Nuclei lie on eosinophilic ground, so the pure haematoxylin is seen mixed.
    assert found.eosin @ drawn[1] > 0.98
    assert found.haematoxylin @ drawn[0] > 0.97
    assert found.haematoxylin[0] > found.eosin[0]
    assert min(found.amounts) > 0


def test_reinhard_gives_the_targets_statistics() -> None:
    target = ColourStatistics.of(tissue(2, size=256, eosin=0.4))
    from evaluation.stains import Reinhard

    done = ColourStatistics.of(Reinhard(target, "test").apply(tissue(7, size=256)).image)
    np.testing.assert_allclose(done.means, target.means, atol=2.5)
    np.testing.assert_allclose(done.deviations, target.deviations, atol=2.5)


def test_one_stain_alone_and_odd_pictures_give_pictures() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (48, 48, 3), dtype=np.uint8)
    for image in (noise, np.zeros((16, 16, 3), dtype=np.uint8), np.full((16, 16, 3), (120, 60, 140), dtype=np.uint8)):
        for name in NORMALISATIONS:
            done = get_normaliser(name).apply(image)
            assert (done.image.shape, done.image.dtype) == (image.shape, np.uint8)


def test_what_cannot_be_a_target_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StainError, match="choose one of none, macenko, reinhard"):
        get_normaliser("vahadane")
    Image.fromarray(BLANK).save(tmp_path / "blank.png")
    (tmp_path / "text.png").write_text("no image")
    for name, message in (("absent.png", "cannot be read"), ("text.png", "cannot be read"), ("blank.png", "no stain")):
        with pytest.raises(StainError, match=message):
            get_normaliser("macenko", target=tmp_path / name)
    with pytest.raises(StainError, match="no stain"):
        ColourStatistics.of(BLANK)


@pytest.mark.models
@pytest.mark.parametrize("name", ["macenko", "reinhard"])
def test_it_agrees_with_tiatoolbox(name: str) -> None:
    pytest.importorskip("tiatoolbox", reason="the tiatoolbox extra is not installed")
    from tiatoolbox.tools.stainnorm import get_normalizer

    from evaluation.stains import Reinhard

    target, image = tissue(11, size=256), recoloured(tissue(12, size=256, eosin=0.35), (1.2, 0.9, 1.1))
    theirs = get_normalizer(name)
    theirs.fit(target)
    ours = (
        Macenko(StainStatistics.of(target), "test")
        if name == "macenko"
        else Reinhard(ColourStatistics.of(target), "test")
    )
    assert apart(ours.apply(image).image, theirs.transform(image.copy())) < 3
