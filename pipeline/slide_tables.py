"""Adding many slides from a CSV table with one row each: all faults of all rows are said before anything is added."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from evaluation.slides import MAX_MPP, MIN_MPP
from pipeline.csv_tables import TableRow, read_table
from pipeline.errors import InputError
from pipeline.file_access import reason_to_refuse
from pipeline.ingest import (
    SLIDE_FIELDS,
    AddReport,
    SlideMetadata,
    SlideToAdd,
    add_each,
    checked_metadata,
    expand_paths,
)
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.workspace import Workspace

SLIDE_COLUMNS = ("path", *SLIDE_FIELDS, "mpp")
"""The columns that a table may have; `path` is needed, and organ, source and licence where nothing stands for all."""


@needs(Permission.ADD_SLIDES)
def plan_slides(
    workspace: Workspace, table: Path, *, for_all: SlideMetadata, mpps: Mapping[str, float] | None = None
) -> list[SlideToAdd]:
    """Read a table of slides and check every row, without opening a slide.

    Args:
        workspace: where the slides shall go.
        table: a CSV file; relative paths in it begin at its folder.
        for_all: what holds for rows whose cell is empty or whose column is not there; empty texts say nothing.
        mpps: micrometres per level-0 pixel by path, for files that a person has been asked about.

    Raises:
        InputError: with every fault of every row and its line; nothing was added.
    """
    if (refused := reason_to_refuse(workspace, table)) is not None:
        raise InputError(f"table {refused}")
    rows = read_table(table, required=("path",), known=SLIDE_COLUMNS)
    problems: list[str] = []
    planned: list[SlideToAdd] = []
    lines: dict[Path, int] = {}
    for row in rows:
        if row.fault is not None:
            problems.append(f"line {row.line}: {row.fault}")
            continue
        faults: list[str] = []
        path = _path(workspace, row, table.parent, lines, faults)
        metadata = _metadata(workspace, row, for_all, faults)
        mpp = _mpp(row, faults)
        if faults or path is None or metadata is None:
            problems += [f"line {row.line}: {fault}" for fault in faults]
        else:
            planned.append(SlideToAdd(path, metadata, (mpps or {}).get(str(path), mpp), row.line))
    if problems:
        count = f"{len(problems)} {'problem' if len(problems) == 1 else 'problems'}"
        raise InputError(f"{table}: {count}, nothing was added", problems)
    return planned


@needs(Permission.ADD_SLIDES)
def add_slides_from_table(
    workspace: Workspace,
    table: Path,
    *,
    for_all: SlideMetadata,
    mpps: Mapping[str, float] | None = None,
    who: str,
    progress: Progress = silent,
) -> AddReport:
    """Add the slides of a table; a slide that cannot be read is named with its line and the rest is added.

    What was added before is passed over, so that a run that was killed goes on when the table is added again.

    Raises:
        InputError: a row is wrong (`plan_slides`); nothing was added.
    """
    report = AddReport()
    planned = plan_slides(workspace, table, for_all=for_all, mpps=mpps)
    add_each(workspace, planned, report, who=who, progress=progress)
    return report


def _path(workspace: Workspace, row: TableRow, folder: Path, lines: dict[Path, int], faults: list[str]) -> Path | None:
    named = row.get("path")
    if not named:
        faults.append("path is empty")
        return None
    path = folder / Path(named).expanduser()
    if (refused := reason_to_refuse(workspace, path)) is not None:
        faults.append(refused)
        return None
    found, problems = expand_paths([path])
    if problems:
        faults += problems
        return None
    if found != [path]:
        faults.append(f"{path}: the folder holds {len(found)} slides; give each a row of its own")
        return None
    before = lines.setdefault(path.resolve(), row.line)
    if before != row.line:
        faults.append(f"{path}: stands in line {before} already")
    return path.absolute()


def _metadata(workspace: Workspace, row: TableRow, for_all: SlideMetadata, faults: list[str]) -> SlideMetadata | None:
    said = asdict(for_all) | {name: row.get(name) for name in SLIDE_FIELDS if row.get(name)}
    try:
        return checked_metadata(workspace, SlideMetadata(**said))
    except InputError as error:
        faults += error.problems or (error.message,)
        return None


def _mpp(row: TableRow, faults: list[str]) -> float | None:
    text = row.get("mpp")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not MIN_MPP <= value <= MAX_MPP:
        faults.append(f"mpp {text!r} is no number from {MIN_MPP:g} to {MAX_MPP:g} (µm per pixel at full resolution)")
        return None
    return value
