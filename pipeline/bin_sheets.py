"""What each bin holds: its size, slides and studies, how well it is parted, and how far its quota is filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from db.tables import Binning, Roi, Slide
from pipeline.errors import InputError
from pipeline.ingest import organ_name
from pipeline.permissions import Permission, needs
from pipeline.quotas import quotas_of
from pipeline.roi_flags import flags_of
from pipeline.rois import current_binning, list_rois
from pipeline.workspace import Workspace

ARTEFACT_RICH = 0.3
"""A bin of which this share or more has a measured artefact is marked as rich in artefacts."""


@dataclass(frozen=True)
class BinSheet:
    """One bin: `number` as shown (from 1), the ROIs in it that are not rejected, and where they come from.

    `silhouette` is the mean of the bin's, -1 to 1 (None: not measured); `flagged` counts ROIs with a measured artefact.
    """

    number: int
    size: int
    slides: int
    studies: int
    silhouette: float | None
    selected: int
    quota: int
    flagged: int

    @property
    def covered(self) -> bool:
        """Whether a ROI of it is selected."""
        return self.selected > 0

    @property
    def open(self) -> bool:
        """Whether its quota asks for more ROIs."""
        return self.selected < self.quota

    @property
    def artefact_share(self) -> float:
        """Share of its ROIs that have a measured artefact, 0 to 1."""
        return self.flagged / self.size if self.size else 0.0

    @property
    def artefact_rich(self) -> bool:
        """Whether so many have one that the bin itself looks like an artefact."""
        return self.artefact_share >= ARTEFACT_RICH


def sheets_of(binning: Binning, rows: Sequence[tuple[Roi, Slide]]) -> list[BinSheet]:
    """Return a sheet for each bin, from the organ's ROIs in any state."""
    in_bins: dict[int, list[tuple[Roi, Slide]]] = {}
    for roi, slide in rows:
        if roi.bin is not None and roi.binning_id == binning.id and roi.state != "rejected":
            in_bins.setdefault(roi.bin, []).append((roi, slide))
    quotas = quotas_of(binning)
    return [
        BinSheet(
            number=index + 1,
            size=len(inside := in_bins.get(index, [])),
            slides=len({slide.id for _, slide in inside}),
            studies=len({slide.study for _, slide in inside if slide.study}),
            silhouette=binning.silhouettes[index] if index < len(binning.silhouettes) else None,
            selected=sum(roi.state == "selected" for roi, _ in inside),
            quota=quotas[index],
            flagged=sum(bool(flags_of(roi)) for roi, _ in inside),
        )
        for index in range(binning.bins)
    ]


@needs(Permission.VIEW_SLIDES)
def list_bins(workspace: Workspace, *, organ: str) -> list[BinSheet]:
    """Return a sheet for each bin of an organ.

    Raises:
        InputError: the organ has no bins yet.
    """
    binning = current_binning(workspace, organ)
    if binning is None:
        raise InputError(f"The candidates of {organ_name(organ)} have no bins yet; run 'rois bin' first.")
    return sheets_of(binning, list_rois(workspace, organ=organ, states=("candidate", "selected")))
