"""Networks of the registry: each is what its entry says, and weights come from the checkpoint that is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.encoders import EncoderError, encoder_entry, get_encoder, list_encoders, missing_packages
from tests.evaluation.encoders.pictures import tissue

pytestmark = pytest.mark.models

PUBLISHED = [entry for entry in list_encoders() if entry.build is not None and not entry.built_in]
SIDE, PATCH, WIDTH = 32, 8, 16
FACTS = {
    "architecture": "vit_tiny_patch16_224",
    "arguments": {"img_size": SIDE, "patch_size": PATCH, "embed_dim": WIDTH, "depth": 2, "num_heads": 2},
    "input_size": SIDE,
    "mean": [0.5, 0.4, 0.3],
    "std": [0.2, 0.25, 0.5],
    "dimension": WIDTH,
}


@pytest.fixture(autouse=True, scope="module")
def _needs_torch() -> None:
    if missing := missing_packages(encoder_entry("uni")) + missing_packages(encoder_entry("phikon")):
        pytest.skip(f"networks need {', '.join(missing)}: install the gpu extra")


def tiny_network() -> Any:
    import timm
    import torch

    torch.manual_seed(0)
    return timm.create_model(FACTS["architecture"], num_classes=0, **FACTS["arguments"])


def keep(path: Path, stored: Any, **facts: Any) -> Path:
    import torch

    torch.save(stored, path)
    path.with_suffix(".json").write_text(json.dumps({**FACTS, **facts}))
    return path


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return keep(tmp_path / "trace.pt", tiny_network().state_dict())


@pytest.mark.parametrize("entry", PUBLISHED, ids=lambda entry: entry.name)
def test_without_weights_the_network_is_what_its_card_says(entry: Any) -> None:
    import torch

    from evaluation.encoders._network import build_network, pool, raw_features, split

    with torch.device("meta"), torch.inference_mode():  # shapes only: the largest would take gigabytes
        network = build_network(entry).eval()
        raw = raw_features(entry, network, torch.empty(2, 3, entry.input_size, entry.input_size))
        class_token, grid = split(network, raw)
        pooled = pool(entry, network, raw)
    assert pooled.shape == (2, entry.dimension)
    assert grid.shape[:3] == (2, entry.grid, entry.grid)
    assert (class_token is not None) == entry.class_token


def test_tokens_stand_where_the_image_has_them_and_the_class_token_is_the_vector(checkpoint: Path) -> None:
    import torch

    encoder = get_encoder("trace", checkpoint=checkpoint)
    images = [tissue(seed, size=48) for seed in range(3)]
    tokens = encoder.tokens(images)
    assert tokens.grid.shape == (3, SIDE // PATCH, SIDE // PATCH, WIDTH)
    assert tokens.class_token is not None
    np.testing.assert_array_equal(tokens.class_token, encoder.encode(images))
    small = np.zeros((SIDE, SIDE, 3), dtype=np.uint8)
    pixels = (small / 255.0 - FACTS["mean"]) / FACTS["std"]  # the preparation, said again
    with torch.inference_mode():
        raw = tiny_network().eval().forward_features(torch.tensor(pixels.transpose(2, 0, 1)[None], dtype=torch.float32))
    np.testing.assert_allclose(encoder.tokens([small]).grid[0, 1, 2], raw[0, 1 + 1 * 4 + 2], atol=1e-5)
    np.testing.assert_allclose(encoder.encode([small])[0], raw[0, 0], atol=1e-5)


def test_a_vector_does_not_depend_on_its_batch_and_no_image_gives_no_vector(checkpoint: Path) -> None:
    encoder = get_encoder("trace", checkpoint=checkpoint)
    images = [tissue(seed, size=32) for seed in range(35)]
    batch = encoder.encode(images)
    np.testing.assert_allclose(batch[34], encoder.encode([images[34]])[0], atol=1e-4)
    assert encoder.encode([]).shape == (0, WIDTH)
    with pytest.raises(EncoderError, match="image 1 is"):
        encoder.encode([images[0], images[0][..., 0]])


def test_another_checkpoint_is_another_version_and_a_copy_is_not(checkpoint: Path, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    version = get_encoder("trace", checkpoint=checkpoint).version
    copy = tmp_path / "copy.pt"
    copy.write_bytes(checkpoint.read_bytes())
    copy.with_suffix(".json").write_bytes(checkpoint.with_suffix(".json").read_bytes())
    assert get_encoder("trace", checkpoint=copy).version == version
    save_file(tiny_network().state_dict(), tmp_path / "same.safetensors")
    (tmp_path / "same.json").write_text(json.dumps(FACTS))
    stored = get_encoder("trace", checkpoint=tmp_path / "same.safetensors")
    assert stored.version != version
    image = [tissue(0, size=32)]
    np.testing.assert_array_equal(stored.encode(image), get_encoder("trace", checkpoint=copy).encode(image))


def test_names_as_training_programs_store_them_are_understood(tmp_path: Path, checkpoint: Path) -> None:
    import torch

    state = tiny_network().state_dict()
    trained = {f"backbone.{name.replace('blocks.', 'blocks.0.')}": value for name, value in state.items()}
    trained |= {"dino_head.weight": torch.zeros(2), "backbone.mask_token": torch.zeros(1, WIDTH)}
    nested = keep(tmp_path / "nested.pt", {"teacher": trained})
    image = [tissue(1, size=32)]
    np.testing.assert_array_equal(
        get_encoder("trace", checkpoint=nested).encode(image), get_encoder("trace", checkpoint=checkpoint).encode(image)
    )


def test_positions_of_another_grid_are_resampled(tmp_path: Path, checkpoint: Path) -> None:
    larger = {**FACTS["arguments"], "img_size": 2 * SIDE}
    encoder = get_encoder(
        "trace",
        checkpoint=keep(tmp_path / "larger.pt", tiny_network().state_dict(), arguments=larger, input_size=2 * SIDE),
    )
    assert encoder.tokens([tissue(0, size=64)]).grid.shape == (1, 8, 8, WIDTH)


def test_a_wrong_checkpoint_names_the_tensors(tmp_path: Path) -> None:
    import torch

    state = tiny_network().state_dict()
    lacking = {name: value for name, value in state.items() if name != "norm.weight"}
    for stored, message in (
        (lacking, "without norm.weight"),
        ({**state, "other.weight": torch.zeros(1)}, "beyond it other.weight"),
        ({**state, "norm.weight": torch.zeros(3)}, r"norm\.weight \(3,\) for \(16,\)"),
        ({"epoch": 3}, "no named tensors"),
    ):
        path = keep(tmp_path / "wrong.pt", stored)
        with pytest.raises(EncoderError, match=message):
            get_encoder("trace", checkpoint=path)
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(EncoderError, match="cannot be read as a checkpoint"):
        get_encoder("trace", checkpoint=path)
    with pytest.raises(EncoderError, match="is no file on this machine"):
        get_encoder("trace", checkpoint=tmp_path / "absent.pt")


def test_weights_that_are_not_here_say_where_to_ask(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"asked for at https://huggingface\.co/MahmoodLab/UNI"):
        get_encoder("uni")
    with pytest.raises(EncoderError, match="where they are given out is not known"):
        get_encoder("trace")
    with pytest.raises(EncoderError, match="on no hub"):
        get_encoder("trace", downloads=True)
    with pytest.raises(EncoderError, match="brings its own weights"):
        get_encoder("efficientnet-lite0", checkpoint=tmp_path / "x.pt")
