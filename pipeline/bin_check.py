"""Whether the bins that the database holds are those that the audit trail tells of."""

from __future__ import annotations

from sqlmodel import Session, col, select

from db.tables import AuditEvent, Binning, Roi
from pipeline.bins import assignment_sha256


def faults_of_bins(session: Session) -> list[str]:
    """Name the organs whose ROIs lie in other bins than were made; bins whose sum was not kept are not compared."""
    told = (
        select(Binning.id, Binning.organ, AuditEvent.new)
        .join(AuditEvent, col(AuditEvent.object_id) == col(Binning.id))
        .where(AuditEvent.action == "bin", AuditEvent.object_type == "binning", col(Binning.current))
    )
    faults: list[str] = []
    for binning_id, organ, new in session.exec(told).all():
        kept = (new or {}).get("assignment_sha256")
        assigned = session.exec(select(Roi.id, Roi.bin).where(Roi.binning_id == binning_id)).all()
        if kept is not None and kept != assignment_sha256((roi_id, -1 if b is None else b) for roi_id, b in assigned):
            faults.append(f"bins of {organ}")
    return faults
