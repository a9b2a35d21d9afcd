"""How long saves took: the middle and the slow end, by kind, for printing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tests.load.notes import DECISIONS, Notes

HEAD = f"{'':34}{'saves':>7}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'saves/s':>9}"


def share_within(times: Sequence[float], share: float) -> float:
    """Return the time within which this share of them ended (nearest rank); NaN where there is none."""
    if not times:
        return math.nan
    return sorted(times)[max(0, math.ceil(share * len(times)) - 1)]


def line(title: str, times: Sequence[float], *, seconds: float | None = None, count: int | None = None) -> str:
    """Return one line of the table."""
    made = len(times) if count is None else count
    rate = f"{made / seconds:9.1f}" if seconds else f"{'':9}"
    cells = "".join(f"{share_within(times, share):9.0f}" for share in (0.5, 0.95, 0.99))
    return f"{title:34}{made:7}{cells}{rate}"


def by_kind(notes: Notes) -> Mapping[str, list[float]]:
    """Return the times in ms of what was sent once, by kind; decisions are one kind."""
    times: dict[str, list[float]] = {"draft": [], "new seed": [], "seed edit": [], "decision": []}
    for save in notes.saves:
        if save.ms is not None:
            times["decision" if save.kind in DECISIONS else save.kind].append(save.ms)
    return {**times, "conflict (409)": list(notes.conflicts)}


def table(title: str, notes: Notes, seconds: float) -> str:
    """Return the lines of one run."""
    times = by_kind(notes)
    every = [ms for name, some in times.items() if name != "conflict (409)" for ms in some]
    lines = [line(f"{title}: {name}", some) for name, some in times.items() if some]
    return "\n".join([*lines, line(f"{title}: all", every, seconds=seconds, count=len(notes.saves))])
