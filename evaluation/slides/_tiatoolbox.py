"""Files that OpenSlide does not read and TIAToolbox does: OME-TIFF and OME-NGFF, read in a process of their own."""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from PIL import Image

from evaluation.slides._backend import ReadError

TIATOOLBOX = "tiatoolbox"
OME_TIFF, OME_NGFF = "ome-tiff", "ome-ngff"
"""The vendors under which slides are known whose format OpenSlide has no name for."""

_OPEN_S = 180.0
"""Seconds that opening may take: the first one imports TIAToolbox and PyTorch."""

_READ_S = 120.0
_CHUNK = 1 << 20
_PROGRAM = "evaluation.slides._tiatoolbox_child"
_ROOT = Path(__file__).parents[2]
"""Where the program is found, wherever this process works."""


def format_of(path: Path) -> str | None:
    """Return the format of a file or folder that only TIAToolbox may read, by its name, or None."""
    if path.suffix.lower() == ".zarr" and path.is_dir():
        return OME_NGFF
    return OME_TIFF if path.name.lower().endswith((".ome.tif", ".ome.tiff")) else None


def is_installed() -> bool:
    """Say whether the extra is there, without importing it."""
    return importlib.util.find_spec(TIATOOLBOX) is not None


class TiatoolboxBackend:
    """A file that TIAToolbox has open in its process; see `Backend`."""

    name = TIATOOLBOX

    def __init__(self, path: Path, kind: str) -> None:
        """Open a file.

        Raises:
            ReadError: TIAToolbox does not open it, or it holds no RGB image.
        """
        self._path = path.absolute()
        answer = self._open()
        self.level_dimensions: tuple[tuple[int, int], ...] = tuple((int(w), int(h)) for w, h in answer["levels"])
        self.dimensions = self.level_dimensions[0]
        width, height = self.dimensions
        self.level_downsamples = tuple((width / w + height / h) / 2 for w, h in self.level_dimensions)
        self.properties: Mapping[str, str] = {
            **answer["properties"],
            "openslide.vendor": kind,
            "openslide.level[0].width": str(width),
            "openslide.level[0].height": str(height),
        }

    def _open(self) -> dict[str, Any]:
        self._file, self._child = next(_numbers), _child()
        answer, _ = self._child.ask({"act": "open", "file": self._file, "path": str(self._path)}, wait_s=_OPEN_S)
        return answer

    def read_region(self, location: tuple[int, int], level: int, size: tuple[int, int]) -> Image.Image:
        """See `Backend.read_region`; what lies outside the level is transparent."""
        downsample = self.level_downsamples[level]
        # Whoever asks rounds to whole pixels of level 0; the nearest pixel of the level is the one that is meant.
        x, y = (round(place / downsample) for place in location)
        image = Image.new("RGBA", size, (255, 255, 255, 0))
        left, top = max(0, x), max(0, y)
        width = min(x + size[0], self.level_dimensions[level][0]) - left
        height = min(y + size[1], self.level_dimensions[level][1]) - top
        if width > 0 and height > 0:
            if not self._child.alive:
                # It was ended, perhaps for the memory that it took; what stays open here goes on with another one.
                self._open()
            request = {"act": "read", "file": self._file, "region": [level, left, top, width, height]}
            _, pixels = self._child.ask(request, wait_s=_READ_S)
            image.paste(Image.frombytes("RGB", (width, height), pixels), (left - x, top - y))
        return image

    def close(self) -> None:
        """See `Backend.close`."""
        self._child.tell_closed(self._file)


class _Child:
    """The process with TIAToolbox in it; it serves one request after the other, for all threads of this one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._owner = os.getpid()
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-m", _PROGRAM],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )

    @property
    def alive(self) -> bool:
        """Whether it can be asked: not by a copy of the process that started it."""
        return self._owner == os.getpid() and self._process.poll() is None

    def ask(self, request: Mapping[str, Any], *, wait_s: float) -> tuple[dict[str, Any], bytes]:
        """Return the answer and its bytes.

        Raises:
            ReadError: the file cannot be read, or the process ended or did not answer in time and was ended.
        """
        with self._lock:
            until = time.monotonic() + wait_s
            try:
                self._send(request)
                head, rest = self._line(until)
                answer: dict[str, Any] = json.loads(head)
                data = self._exactly(rest, int(answer["bytes"]), until)
            except (OSError, EOFError) as error:
                self.end()
                raise ReadError(f"the process that reads it with TIAToolbox ended ({error})") from None
        if "error" in answer:
            raise ReadError(str(answer["error"]))
        return answer, data

    def tell_closed(self, file: int) -> None:
        """Have a file closed; of a process that is gone nothing is open."""
        if self.alive:
            try:
                self.ask({"act": "close", "file": file}, wait_s=_READ_S)
            except ReadError:
                return

    def end(self) -> None:
        """End the process, if it is this one's."""
        if self._owner == os.getpid():
            self._process.kill()
            self._process.wait()

    def _send(self, request: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101  (it was made with pipes)
        self._process.stdin.write(json.dumps(request).encode() + b"\n")

    def _line(self, until: float) -> tuple[bytes, bytes]:
        received = b""
        while b"\n" not in received:
            received += self._some(_CHUNK, until)
        head, _, rest = received.partition(b"\n")
        return head, rest

    def _exactly(self, received: bytes, size: int, until: float) -> bytes:
        parts, length = [received], len(received)
        while length < size:
            parts.append(self._some(min(_CHUNK, size - length), until))
            length += len(parts[-1])
        return b"".join(parts)

    def _some(self, most: int, until: float) -> bytes:
        assert self._process.stdout is not None  # noqa: S101
        pipe = self._process.stdout.fileno()
        ready, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise TimeoutError("it did not answer in time")
        data = os.read(pipe, most)
        if not data:
            raise EOFError("it gave no answer")
        return data


_numbers = itertools.count(1)
_starting = Lock()
_running: Sequence[_Child] = ()


def _child() -> _Child:
    """Return the process of this one, started at the first use and kept: starting takes seconds."""
    global _running
    with _starting:
        if not _running or not _running[0].alive:
            _running = (_Child(),)
            atexit.register(_running[0].end)
        return _running[0]
