"""Whole-slide images: opening and checking, reading at any resolution, tissue and sampling of ROIs."""

from evaluation.slides._artefacts import THRESHOLDS as ARTEFACT_THRESHOLDS
from evaluation.slides._artefacts import Artefact, artefacts_of_field, artefacts_of_region, focus_windows
from evaluation.slides._check import check_slide
from evaluation.slides._draw import DrawShare, SlideDraw, check_shares, draw_regions
from evaluation.slides._find_tissue import find_tissue, tissue_of_image
from evaluation.slides._images import MAX_IMAGE_PIXELS, ImageError, decode_image, encode_png
from evaluation.slides._magnification import magnification_label, mpp_of_magnification
from evaluation.slides._reading import on_all_cores, read_regions
from evaluation.slides._resolution import MAX_MPP, MIN_MPP
from evaluation.slides._resolution import TOLERANCE as RESOLUTION_TOLERANCE
from evaluation.slides._sampling import explain_no_regions, overlap_share
from evaluation.slides._slide import Slide, TileNotFoundError, open_slide
from evaluation.slides._tissue import TissueMask
from evaluation.slides._tissue_overlay import tissue_overlay
from evaluation.slides._types import Level, Region, ResolutionError, SlideError, SlideInfo

__all__ = [
    "ARTEFACT_THRESHOLDS",
    "MAX_IMAGE_PIXELS",
    "MAX_MPP",
    "MIN_MPP",
    "RESOLUTION_TOLERANCE",
    "Artefact",
    "DrawShare",
    "ImageError",
    "Level",
    "Region",
    "ResolutionError",
    "Slide",
    "SlideDraw",
    "SlideError",
    "SlideInfo",
    "TileNotFoundError",
    "TissueMask",
    "artefacts_of_field",
    "artefacts_of_region",
    "check_shares",
    "check_slide",
    "decode_image",
    "draw_regions",
    "encode_png",
    "explain_no_regions",
    "find_tissue",
    "focus_windows",
    "magnification_label",
    "mpp_of_magnification",
    "on_all_cores",
    "open_slide",
    "overlap_share",
    "read_regions",
    "tissue_of_image",
    "tissue_overlay",
]
