"""Quotas: how many ROIs shall be picked of each bin."""

from __future__ import annotations

from collections.abc import Mapping

from sqlmodel import Session, col, select

from db import record_event
from db.tables import Binning
from evaluation.encoders import spread_quota
from pipeline.errors import InputError
from pipeline.ingest import organ_name
from pipeline.last_change import require_unchanged
from pipeline.permissions import Permission, needs
from pipeline.workspace import Workspace

ROIS_PER_BIN = 2
"""What is wanted of each bin until somebody says otherwise (VIPER picked 40 ROIs of 20 bins per organ)."""


def quotas_of(binning: Binning) -> list[int]:
    """Return the quota of each bin; until somebody sets them, two of each, as far as the bins' sizes allow."""
    return list(binning.quotas) or spread_quota(ROIS_PER_BIN * binning.bins, binning.sizes)


@needs(Permission.CHOOSE_ROIS)
def set_quotas(
    workspace: Workspace,
    *,
    organ: str,
    total: int | None = None,
    quotas: Mapping[int, int] | None = None,
    who: str,
    expected_version: int | None = None,
) -> Binning:
    """Say how many ROIs shall be picked of an organ, in all and of single bins.

    Args:
        workspace: where.
        organ: whose bins.
        total: is spread over the bins as evenly as their sizes allow; None keeps the quotas as they are.
        quotas: of single bins, by their numbers as shown (from 1); they replace what they have then.
        who: the account that says so.
        expected_version: the row version of the bins that the person saw.

    Raises:
        InputError: there are no bins, or not this one, or fewer ROIs; every fault is listed and nothing was changed.
        ChangedError: the bins were changed since `expected_version` was seen.
    """
    with workspace.writing() as session:
        binning = _current(session, organ)
        require_unchanged(session, binning, expected_version, who=who)
        before = quotas_of(binning)
        new, problems = list(before), []
        if total is not None:
            there = sum(binning.sizes)
            if 0 <= total <= there:
                new = spread_quota(total, binning.sizes)
            else:
                problems.append(f"the target is {total}; it must be 0 to {there:,}, the ROIs in bins")
        for number, quota in (quotas or {}).items():
            if not 1 <= number <= binning.bins:
                problems.append(f"there is no bin {number}: the bins are 1 to {binning.bins}")
            elif not 0 <= quota <= binning.sizes[number - 1]:
                problems.append(f"the quota of bin {number} is {quota}; it must be 0 to {binning.sizes[number - 1]:,}")
            else:
                new[number - 1] = quota
        if problems:
            raise InputError("No quota was changed:", problems)
        if new != before or not binning.quotas:
            record_event(
                session, who=who, action="set quotas", row=binning, old={"quotas": before}, new={"quotas": new}
            )
            binning.quotas = new
    return binning


def _current(session: Session, organ: str) -> Binning:
    query = select(Binning).where(Binning.organ == organ_name(organ), col(Binning.current))
    binning = session.exec(query).first()
    if binning is None:
        raise InputError(f"The candidates of {organ_name(organ)} have no bins yet; run 'rois bin' first.")
    return binning
