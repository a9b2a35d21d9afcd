"""A file system of a few megabytes, which a test fills and frees."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SIZE = "6m"


class SmallDisk:
    """A file system of a few megabytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self, *, leave: int = 0) -> None:
        """Leave at most so many bytes free."""
        with self._ballast.open("ab", buffering=0) as file:
            while shutil.disk_usage(self.path).free > leave:
                file.write(b"\0" * 4096)

    def free(self) -> None:
        """Take away what fills it."""
        self._ballast.unlink()

    def names(self) -> list[str]:
        """What lies on it besides the ballast."""
        return sorted(path.name for path in self.path.iterdir() if path != self._ballast)


@contextmanager
def mounted(place: Path, size: str = SIZE) -> Iterator[SmallDisk]:
    """Mount a small file system until the block ends; the test is skipped where that is not allowed."""
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"a small file system needs the right to mount one: {done.stderr.strip()}")
    try:
        yield SmallDisk(place)
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A small file system of the test's own."""
    with mounted(tmp_path / "small") as disk:
        yield disk
