"""Encoders are found by name; what is unknown or not installed is said plainly."""

from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec

import pytest

from evaluation.encoders import DEFAULT_ENCODER, Encoder, EncoderError, get_encoder, list_encoders


def test_the_default_is_always_available_and_is_what_it_says() -> None:
    info = next(info for info in list_encoders() if info.name == DEFAULT_ENCODER)
    assert info.available
    encoder = get_encoder(DEFAULT_ENCODER)
    assert isinstance(encoder, Encoder)
    assert (encoder.name, encoder.version, encoder.dimension) == (info.name, info.version, info.dimension)
    assert encoder.weights == "none"


def test_names_are_unique_and_each_entry_is_complete() -> None:
    infos = list_encoders()
    assert len({info.name for info in infos}) == len(infos)
    for info in infos:
        assert info.dimension > 0
        assert info.input_size > 0
        assert all((info.version, info.description, info.licence, info.weights))


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(EncoderError, match="choose one of colour-texture, efficientnet-lite0"):
        get_encoder("resnet")


def test_a_missing_extra_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def without_torch(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "torch" else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without_torch)
    info = next(info for info in list_encoders() if info.name == "efficientnet-lite0")
    assert not info.available
    assert "torch" in info.missing
    with pytest.raises(EncoderError, match=r"needs torch.*pip install -e '\.\[gpu\]'"):
        get_encoder("efficientnet-lite0")
