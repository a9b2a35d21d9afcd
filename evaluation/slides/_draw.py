"""A draw at several magnifications, and its account: asked and drawn by magnification, study and slide, and why."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluation.slides._resolution import TOLERANCE
from evaluation.slides._sampling import check_arguments, draw_in_turn, explain_no_regions, turns_of
from evaluation.slides._tissue import TissueMask
from evaluation.slides._types import Region


@dataclass(frozen=True)
class DrawShare:
    """How much of a draw one resolution makes: `mpp` micrometres per output pixel, `share` above 0 up to 1."""

    mpp: float
    share: float


@dataclass(frozen=True)
class SlideDraw:
    """What one slide gives at one resolution.

    `asked` is the slide's equal part of its study's equal part; other slides make up for what it lacks, so that
    `regions` may be more. `why` says why they are fewer, None where they are not.
    """

    mpp: float
    study: str | None
    slide: str
    asked: int
    regions: tuple[Region, ...]
    why: str | None


def draw_regions(
    masks: Mapping[str, TissueMask],
    shares: Sequence[DrawShare],
    *,
    count: int,
    size: int,
    min_tissue: float,
    max_overlap: float,
    seed: int,
    taken: Mapping[float, Mapping[str, Sequence[Region]]] | None = None,
    studies: Mapping[str, str] | None = None,
) -> list[SlideDraw]:
    """Draw regions at several resolutions, each spread over studies and slides in turn.

    What one resolution cannot give is not made up by another: the shares are what somebody decided.

    Args:
        masks: tissue by slide id.
        shares: the resolutions and their shares of `count`; the order does not matter.
        count: regions over all slides and resolutions.
        size: side in pixels, at every resolution.
        min_tissue: least share (0 to 1) of a region on tissue.
        max_overlap: largest `overlap_share` of two regions of a slide at one resolution (0 to 1).
        seed: any integer.
        taken: for each mpp the regions that exist already, by slide id.
        studies: the study of each slide id, where it has one.

    Returns:
        One account per resolution and slide, by resolution (finest first), study and slide.

    Raises:
        ValueError: an argument is out of range, or two resolutions are the same within 5 %.
    """
    shares = sorted(shares, key=lambda share: share.mpp)
    check_shares(shares)
    for share in shares:
        check_arguments(count, size, share.mpp, min_tissue, max_overlap)
    taken, studies = taken or {}, studies or {}
    elsewhere = dict.fromkeys(masks, 0)
    accounts: list[SlideDraw] = []
    for share, number in zip(shares, _parts([share.share for share in shares], count), strict=True):
        existing = taken.get(share.mpp, {})
        regions, exhausted = draw_in_turn(
            masks,
            count=number,
            size=size,
            mpp=share.mpp,
            min_tissue=min_tissue,
            max_overlap=max_overlap,
            seed=seed,
            taken=existing,
            studies=studies,
            elsewhere=elsewhere,
        )
        asked = _equal_parts(turns_of(masks, seed), studies, number)
        for name in sorted(masks, key=lambda name: (studies.get(name) or "", name)):
            why = None
            if len(regions[name]) < asked[name]:
                why = explain_no_regions(masks[name], size=size, mpp=share.mpp, min_tissue=min_tissue)
                if why is None and name in exhausted:
                    why = f"no more fit with at most {max_overlap:.0%} overlap"
                why = why or "it or its study has ROIs of other draws already, so that those with fewer came first"
            elsewhere[name] += len(regions[name])
            accounts.append(SlideDraw(share.mpp, studies.get(name), name, asked[name], tuple(regions[name]), why))
    return accounts


def check_shares(shares: Sequence[DrawShare]) -> None:
    """Refuse resolutions of which no draw can be made.

    Raises:
        ValueError: there is none, a share is out of range, or two resolutions are the same within 5 %.
    """
    shares = sorted(shares, key=lambda share: share.mpp)
    if not shares:
        raise ValueError("a draw needs at least one resolution")
    for share in shares:
        if not 0 < share.share <= 1:
            raise ValueError(f"the share {share.share} of {share.mpp:g} µm/px must lie above 0 and be at most 1")
    for one, other in itertools.pairwise(shares):
        if other.mpp - one.mpp <= TOLERANCE * one.mpp:
            raise ValueError(f"{one.mpp:g} and {other.mpp:g} µm/px are the same resolution")


def _parts(shares: Sequence[float], count: int) -> list[int]:
    """Divide a count by shares into whole numbers that add up to it; the largest remainders are rounded up."""
    exact = [share / sum(shares) * count for share in shares]
    # A rounding error of the division must not take one from a share that comes out whole.
    whole = [int(part + 1e-9) for part in exact]
    by_remainder = sorted(range(len(shares)), key=lambda index: (whole[index] - exact[index], index))
    for index in by_remainder[: count - sum(whole)]:
        whole[index] += 1
    return whole


def _equal_parts(names: Sequence[str], studies: Mapping[str, str], count: int) -> dict[str, int]:
    """Divide a count equally over studies, and each study's part over its slides; who is first gets what is over."""
    members: dict[str | None, list[str]] = {}
    for name in names:
        members.setdefault(studies.get(name), []).append(name)
    parts: dict[str, int] = {}
    for slides, of_study in zip(members.values(), _even(count, len(members)), strict=True):
        parts.update(zip(slides, _even(of_study, len(slides)), strict=True))
    return parts


def _even(count: int, among: int) -> Iterable[int]:
    return [count // among + (place < count % among) for place in range(among)]
