"""Encoders from images to vectors, vectors on disk, bins of similar images and picks from them."""

from evaluation.encoders._clusters import BINS, Bins, assign_bins, farthest, nearest, pick_spread
from evaluation.encoders._features import (
    FeatureFileError,
    FeatureRows,
    StoredFeatures,
    append_features,
    missing_ids,
    read_features,
    write_features,
)
from evaluation.encoders._protocol import Encoder, EncoderError, EncoderInfo
from evaluation.encoders._registry import DEFAULT_ENCODER, get_encoder, list_encoders

__all__ = [
    "BINS",
    "DEFAULT_ENCODER",
    "Bins",
    "Encoder",
    "EncoderError",
    "EncoderInfo",
    "FeatureFileError",
    "FeatureRows",
    "StoredFeatures",
    "append_features",
    "assign_bins",
    "farthest",
    "get_encoder",
    "list_encoders",
    "missing_ids",
    "nearest",
    "pick_spread",
    "read_features",
    "write_features",
]
