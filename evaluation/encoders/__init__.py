"""Encoders from images to vectors, vectors on disk, bins of similar images, their map, and picks from them."""

from evaluation.encoders._clusters import BINS, Bins, assign_bins, farthest, nearest, pick_spread
from evaluation.encoders._diversity import (
    RANDOM_PICKS,
    AgainstRandom,
    Diversity,
    diversity_against_random,
    mean_pairwise_distance,
    vendi_score,
)
from evaluation.encoders._map import place_on_map
from evaluation.encoders._protocol import Encoder, EncoderError, EncoderInfo
from evaluation.encoders._quotas import spread_quota
from evaluation.encoders._registry import DEFAULT_ENCODER, get_encoder, list_encoders
from evaluation.encoders._silhouettes import bin_silhouettes

__all__ = [
    "BINS",
    "DEFAULT_ENCODER",
    "RANDOM_PICKS",
    "AgainstRandom",
    "Bins",
    "Diversity",
    "Encoder",
    "EncoderError",
    "EncoderInfo",
    "assign_bins",
    "bin_silhouettes",
    "diversity_against_random",
    "farthest",
    "get_encoder",
    "list_encoders",
    "mean_pairwise_distance",
    "nearest",
    "pick_spread",
    "place_on_map",
    "spread_quota",
    "vendi_score",
]
