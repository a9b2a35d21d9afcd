"""Image zones: which part of the image a phrase means, what contradicts it and what follows from it."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Literal

Frame = Literal["grid", "quadrant", "quarter", "corner", "half", "third", "edge"]

_VERTICAL = {"upper": -1, "top": -1, "lower": 1, "bottom": 1}
_HORIZONTAL = {"left": -1, "right": 1}
_MIDDLE = frozenset({"centre", "center", "central", "middle"})
_FRAMES: dict[str, Frame] = {
    "quadrant": "quadrant",
    "quarter": "quarter",
    "corner": "corner",
    "half": "half",
    "third": "third",
    "edge": "edge",
    "margin": "edge",
    "border": "edge",
    "side": "half",
}
_FILLERS = frozenset(
    [
        "in",
        "at",
        "on",
        "along",
        "the",
        "of",
        "image",
        "field",
        "view",
        "picture",
        "area",
        "region",
        "zone",
        "part",
        "portion",
        "section",
        "near",
    ]
)

DIRECTION = re.compile(r"\b(upper|lower|top|bottom|left|right)\b", re.IGNORECASE)
"""A word whose exchange moves a described place elsewhere."""

_SAME_AXIS = {"upper": ("lower",), "lower": ("upper",), "top": ("bottom",), "bottom": ("top",)} | {
    "left": ("right",),
    "right": ("left",),
}
_OTHER_AXIS = {
    "upper": ("left", "right"),
    "lower": ("left", "right"),
    "top": ("left", "right"),
    "bottom": ("left", "right"),
    "left": ("upper", "lower"),
    "right": ("upper", "lower"),
}


@dataclass(frozen=True)
class Zone:
    """A part of the image: `vertical` and `horizontal` are -1 (upper, left), 0 (middle), 1, or None if unsaid."""

    frame: Frame
    vertical: int | None
    horizontal: int | None


@dataclass(frozen=True)
class ZoneClaim:
    """A statement about a place, whether it holds, and the axis it is about."""

    text: str
    holds: bool
    axis: str


def read_zone(text: str) -> Zone | None:
    """Return the zone that `text` names and nothing else, or None."""
    vertical: int | None = None
    horizontal: int | None = None
    frame: Frame | None = None
    middle = False
    words = re.findall(r"[a-z]+", text.casefold())
    for word in words:
        if word in _VERTICAL and vertical is None:
            vertical = _VERTICAL[word]
        elif word in _HORIZONTAL and horizontal is None:
            horizontal = _HORIZONTAL[word]
        elif word in _MIDDLE and not middle:
            middle = True
        elif word in _FRAMES and frame is None:
            frame = _FRAMES[word]
        elif word not in _FILLERS:
            return None
    return _zone(vertical, horizontal, frame, middle)


def _zone(vertical: int | None, horizontal: int | None, frame: Frame | None, middle: bool) -> Zone | None:
    named = [axis for axis in (vertical, horizontal) if axis is not None]
    if middle:
        if frame not in (None, "third") or len(named) == 2:
            return None
        if named:
            return Zone("grid", 0 if vertical is None else vertical, 0 if horizontal is None else horizontal)
        return Zone("third" if frame else "grid", 0, 0)
    if len(named) == 2:
        return None if frame in ("half", "third", "edge") else Zone(frame or "grid", vertical, horizontal)
    if len(named) == 1:
        return None if frame in ("quadrant", "quarter", "corner") else Zone(frame or "half", vertical, horizontal)
    return None


def zone_name(zone: Zone) -> str:
    """Return the zone as an option text; all zones of a frame have the same number of words."""
    row = {-1: "Upper", 0: "Centre", 1: "Lower", None: ""}[zone.vertical]
    column = {-1: "left", 0: "centre", 1: "right", None: ""}[zone.horizontal]
    if zone.frame == "grid":
        return "Image centre" if zone.vertical == zone.horizontal == 0 else f"{row} {column}"
    if zone.vertical == 0 and zone.horizontal == 0:
        return {"half": "Central part", "third": "Central third", "edge": "Image centre"}.get(
            zone.frame, "Exact image centre"
        )
    return f"{row} {column} {zone.frame}".replace("  ", " ").strip().capitalize()


def other_zones(zone: Zone) -> list[Zone]:
    """Return the zones of the same frame that exclude `zone`; at least four."""
    if zone.frame == "grid":
        places: list[tuple[int | None, int | None]] = list(itertools.product((-1, 0, 1), (-1, 0, 1)))
    elif zone.frame in ("half", "third", "edge"):
        places = [(-1, None), (1, None), (None, -1), (None, 1), (0, 0)]
    else:
        places = [(-1, -1), (-1, 1), (1, -1), (1, 1), (0, 0)]
    others = [Zone(zone.frame, vertical, horizontal) for vertical, horizontal in places]
    return [other for other in others if (other.vertical, other.horizontal) != (zone.vertical, zone.horizontal)]


def zone_claims(zone: Zone) -> list[ZoneClaim]:
    """Return statements about a feature in `zone` whose truth follows from it."""
    claims = []
    if zone.frame == "grid":
        for axis, value, words in (
            ("vertical", zone.vertical, ("upper third", "middle third from top to bottom", "lower third")),
            ("horizontal", zone.horizontal, ("left third", "middle third from left to right", "right third")),
        ):
            for place, word in zip((-1, 0, 1), words, strict=True):
                claims.append(ZoneClaim(f"lies in the {word} of the image", value == place, axis))
    for axis, value, (low, high) in (
        ("vertical", zone.vertical, ("upper", "lower")),
        ("horizontal", zone.horizontal, ("left", "right")),
    ):
        if value in (-1, 1):
            near, far = (low, high) if value == -1 else (high, low)
            claims += [
                ZoneClaim(f"lies nearer to the {near} than to the {far} edge", True, axis),
                ZoneClaim(f"lies nearer to the {far} than to the {near} edge", False, axis),
                ZoneClaim(f"is centred on the {near} half of the image", True, axis),
                ZoneClaim(f"is centred on the {far} half of the image", False, axis),
            ]
    middle = zone.vertical == 0 and zone.horizontal == 0
    claims.append(ZoneClaim("surrounds the midpoint of the image", middle, "middle"))
    if middle:
        claims += [
            ZoneClaim("keeps its distance from the four edges", True, "edges"),
            ZoneClaim("reaches into the upper left corner", False, "corner"),
            ZoneClaim("reaches into the lower right corner", False, "corner"),
            ZoneClaim("runs along the right edge of the image", False, "edge"),
        ]
    return claims


def displaced(phrase: str) -> list[str]:
    """Return `phrase` with its directions exchanged, so that each result names another place."""
    parts = DIRECTION.split(phrase)
    choices: list[tuple[str, ...]] = []
    for place, part in enumerate(parts):
        if place % 2 == 0:
            choices.append((part,))
        else:
            word = part.casefold()
            choices.append((word, *_SAME_AXIS[word], *_OTHER_AXIS[word]))
    original = "".join(choice[0] for choice in choices)
    results = ["".join(choice) for choice in itertools.product(*choices)]
    seen = dict.fromkeys(result for result in results if result.casefold() != original.casefold())
    return [result for result in seen if not _repeats(result)]


def _repeats(phrase: str) -> bool:
    words = [word.casefold() for word in DIRECTION.findall(phrase)]
    return len(words) != len(set(words)) or bool(
        re.search(r"\b(left upper|right upper|left lower|right lower)\b", phrase)
    )
