"""Features of places on slides: read, encoded in batches, kept in one HDF5 file for each slide and encoder."""

from evaluation.extraction._extract import BATCH_SIZE, Extracted, ReadsRegions, extract_features
from evaluation.extraction._file import FeatureFile, FeatureFileError, check_feature_file
from evaluation.extraction._key import FeatureKey, Frame

__all__ = [
    "BATCH_SIZE",
    "Extracted",
    "FeatureFile",
    "FeatureFileError",
    "FeatureKey",
    "Frame",
    "ReadsRegions",
    "check_feature_file",
    "extract_features",
]
