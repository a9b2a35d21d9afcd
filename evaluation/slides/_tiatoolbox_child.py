"""The process that reads slides with TIAToolbox for another one; started as a program by `_tiatoolbox`.

TIAToolbox brings PyTorch and ten seconds of imports, so it never runs in the process of the app. Requests come as
lines of JSON on standard input; each is answered by a line of JSON and, for a region, its RGB bytes. The process ends
when its input does.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from evaluation.slides._ome import pixel_of_ngff

_PIXELS, _CHANNELS = "YX", "CS"


class UnreadableError(Exception):
    """The file is open, but no image that a slide can be."""


class OpenFile:
    """The levels of an open file, as arrays of which only what is asked for is read."""

    def __init__(self, path: str) -> None:
        from tiatoolbox.wsicore.wsireader import WSIReader

        reader = WSIReader.open(path)
        views = sorted(reader.level_arrays.values(), key=lambda view: -_size(view)[0] * _size(view)[1])
        if not views:
            raise UnreadableError("it holds no image")
        self._views = views
        for view in views:
            _refuse_unless_rgb(view)
        self.levels = [_size(view) for view in views]
        self.properties = _properties(reader)

    def read(self, level: int, x: int, y: int, width: int, height: int) -> NDArray[np.uint8]:
        """Return RGB (height, width, 3) of a level from its pixel (x, y), all of it inside the level."""
        view = self._views[level]
        axes = view.axes.upper()
        parts: dict[str, slice] = {"X": slice(x, x + width), "Y": slice(y, y + height)}
        parts |= {axis: slice(None) for axis in _CHANNELS}
        block = np.asarray(view.array[tuple(parts.get(axis, 0) for axis in axes)])
        kept = "".join(axis for axis in axes if axis in parts)
        order = [kept.index(axis) for axis in _PIXELS] + [kept.index(axis) for axis in kept if axis in _CHANNELS]
        return np.ascontiguousarray(block.transpose(order)[..., :3])


def _axes(view: Any) -> dict[str, int]:
    return dict(zip(view.axes.upper(), view.array.shape, strict=True))


def _size(view: Any) -> tuple[int, int]:
    axes = _axes(view)
    return int(axes["X"]), int(axes["Y"])


def _refuse_unless_rgb(view: Any) -> None:
    axes = _axes(view)
    channels = [length for axis, length in axes.items() if axis in _CHANNELS]
    several = [axis for axis, length in axes.items() if axis not in _PIXELS + _CHANNELS and length > 1]
    if channels != [3] or several or view.array.dtype != np.uint8:
        shape = ", ".join(f"{axis} {length}" for axis, length in axes.items())
        raise UnreadableError(f"its image is no RGB of 8 bits ({shape}; {view.array.dtype})")


def _properties(reader: Any) -> dict[str, str]:
    """Return what the file says of its resolution, and nothing that TIAToolbox infers from other numbers."""
    raw = reader.info.raw or {}
    if "Description" in raw:
        return {"openslide.comment": str(raw["Description"])}
    names = ("openslide.mpp-x", "openslide.mpp-y")
    return {name: repr(value) for name, value in zip(names, pixel_of_ngff(raw), strict=True) if value is not None}


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    files: dict[int, OpenFile] = {}

    def open_(request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        number = int(request["file"])
        files[number] = OpenFile(request["path"])
        return {"levels": files[number].levels, "properties": files[number].properties}, b""

    def read(request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        pixels = files[request["file"]].read(*request["region"])
        return {}, pixels.tobytes()

    def close(request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        files.pop(request["file"], None)
        return {}, b""

    acts: dict[str, Callable[[Mapping[str, Any]], tuple[dict[str, Any], bytes]]] = {
        "open": open_,
        "read": read,
        "close": close,
    }
    for line in requests:
        request = json.loads(line)
        try:
            answer, data = acts[request["act"]](request)
        except Exception as error:
            # Whatever a library makes of a file that somebody brings is told, and does not end the process.
            answer, data = {"error": f"{type(error).__name__}: {error}"}, b""
        answers.write(json.dumps({**answer, "bytes": len(data)}).encode() + b"\n" + data)
        answers.flush()


def main() -> None:
    """Serve until standard input ends."""
    # Libraries print; what they print must not come between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
