"""Whole-slide images: opening and checking, reading at any resolution, tissue and sampling of ROIs."""

from evaluation.slides._check import check_slide
from evaluation.slides._find_tissue import find_tissue, tissue_of_image
from evaluation.slides._images import MAX_IMAGE_PIXELS, ImageError, decode_image, encode_png
from evaluation.slides._magnification import magnification_label, mpp_of_magnification
from evaluation.slides._resolution import MAX_MPP, MIN_MPP
from evaluation.slides._resolution import TOLERANCE as RESOLUTION_TOLERANCE
from evaluation.slides._sampling import explain_no_regions, overlap_share, sample_regions
from evaluation.slides._slide import Slide, TileNotFoundError, open_slide
from evaluation.slides._tissue import TissueMask
from evaluation.slides._tissue_overlay import tissue_overlay
from evaluation.slides._types import Level, Region, ResolutionError, SlideError, SlideInfo

__all__ = [
    "MAX_IMAGE_PIXELS",
    "MAX_MPP",
    "MIN_MPP",
    "RESOLUTION_TOLERANCE",
    "ImageError",
    "Level",
    "Region",
    "ResolutionError",
    "Slide",
    "SlideError",
    "SlideInfo",
    "TileNotFoundError",
    "TissueMask",
    "check_slide",
    "decode_image",
    "encode_png",
    "explain_no_regions",
    "find_tissue",
    "magnification_label",
    "mpp_of_magnification",
    "open_slide",
    "overlap_share",
    "sample_regions",
    "tissue_of_image",
    "tissue_overlay",
]
