"""Encoders from images to vectors, vectors on disk, bins of similar images, their map, and picks from them."""

from evaluation.encoders._clusters import BINS, Bins, assign_bins, farthest, nearest
from evaluation.encoders._diversity import (
    RANDOM_PICKS,
    AgainstRandom,
    Diversity,
    diversity_against_random,
    mean_pairwise_distance,
    vendi_score,
)
from evaluation.encoders._entries import EncoderEntry
from evaluation.encoders._map import place_on_map
from evaluation.encoders._protocol import EncodedTokens, Encoder, EncoderError
from evaluation.encoders._quotas import spread_quota
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
from evaluation.encoders._silhouettes import bin_silhouettes

__all__ = [
    "BINS",
    "DEFAULT_ENCODER",
    "NEVER_LOADED",
    "RANDOM_PICKS",
    "AgainstRandom",
    "Bins",
    "Diversity",
    "EncodedTokens",
    "Encoder",
    "EncoderEntry",
    "EncoderError",
    "assign_bins",
    "bin_silhouettes",
    "diversity_against_random",
    "encoder_entry",
    "farthest",
    "get_encoder",
    "how_to_get_weights",
    "list_encoders",
    "mean_pairwise_distance",
    "missing_packages",
    "nearest",
    "place_on_map",
    "spread_quota",
    "vendi_score",
    "weights_here",
]
