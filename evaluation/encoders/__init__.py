"""Encoders from images to vectors, bins of similar images and picks from them."""

from evaluation.encoders._clusters import BINS, Bins, assign_bins, farthest, nearest, pick_spread
from evaluation.encoders._entries import EncoderEntry
from evaluation.encoders._protocol import EncodedTokens, Encoder, EncoderError
from evaluation.encoders._registry import (
    DEFAULT_ENCODER,
    NEVER_LOADED,
    encoder_entry,
    get_encoder,
    how_to_get_weights,
    list_encoders,
    missing_packages,
    weights_here,
)

__all__ = [
    "BINS",
    "DEFAULT_ENCODER",
    "NEVER_LOADED",
    "Bins",
    "EncodedTokens",
    "Encoder",
    "EncoderEntry",
    "EncoderError",
    "assign_bins",
    "encoder_entry",
    "farthest",
    "get_encoder",
    "how_to_get_weights",
    "list_encoders",
    "missing_packages",
    "nearest",
    "pick_spread",
    "weights_here",
]
