"""Reading many regions: on all cores, in order, with few of them in memory at a time."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from evaluation.slides._slide import Slide
from evaluation.slides._types import Region

_AHEAD = 2
"""Results per core that may wait for whoever takes them: 2,000 regions of 1,024 px would be 6 GB at once."""

Given = TypeVar("Given")
Made = TypeVar("Made")


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_all_cores(
    work: Callable[[Given], Made], items: Iterable[Given], *, workers: int | None = None
) -> Generator[Made, None, None]:
    """Yield `work(item)` for each item, in order, from threads: decoding and resampling release Python's lock.

    Args:
        work: what to do; it must be thread-safe.
        items: taken one by one, as results are taken.
        workers: threads; as many as cores where not given.

    Raises:
        Exception: what `work` raised, at the place of its item; what comes after it is not begun.
    """
    count = workers or cores()
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(count, thread_name_prefix="regions") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) >= _AHEAD * count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def read_regions(
    slide: Slide, regions: Iterable[Region], *, workers: int | None = None
) -> Generator[NDArray[np.uint8], None, None]:
    """Yield the pixels of regions of an open slide, in order, each as `Slide.read_region` gives it.

    Args:
        slide: an open slide; it must stay open until the last one is taken.
        regions: fields of view.
        workers: threads; as many as cores where not given.

    Raises:
        SlideError: a region is finer than the slide, or the file cannot be read there.
        ValueError: size or resolution of a region are not positive.
    """
    return on_all_cores(slide.read_region, regions, workers=workers)
