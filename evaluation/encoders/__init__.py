"""Encoders from images to vectors, bins of similar images and picks from them."""

from evaluation.encoders._clusters import BINS, Bins, assign_bins, farthest, nearest, pick_spread
from evaluation.encoders._protocol import Encoder, EncoderError, EncoderInfo
from evaluation.encoders._registry import DEFAULT_ENCODER, get_encoder, list_encoders

__all__ = [
    "BINS",
    "DEFAULT_ENCODER",
    "Bins",
    "Encoder",
    "EncoderError",
    "EncoderInfo",
    "assign_bins",
    "farthest",
    "get_encoder",
    "list_encoders",
    "nearest",
    "pick_spread",
]
