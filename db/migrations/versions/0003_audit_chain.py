"""The audit trail becomes a chain: roles, hashes, triggers. Rows that are there already are linked as they stand"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

from db.audit import START, create_triggers, digest, drop_triggers

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TRAIL = sa.table(
    "audit_event",
    sa.column("sequence", sa.Integer()),
    sa.column("at", sa.DateTime(timezone=True)),
    sa.column("who", sa.String()),
    sa.column("role", sa.String()),
    sa.column("action", sa.String()),
    sa.column("object_type", sa.String()),
    sa.column("object_id", sa.String()),
    sa.column("old", sa.JSON()),
    sa.column("new", sa.JSON()),
    sa.column("reason", sa.String()),
    sa.column("previous_sha256", sa.String()),
    sa.column("sha256", sa.String()),
)


def upgrade() -> None:
    # Columns are added to the table as it stands: a batch would copy the trail into a new one.
    for name in ("role", "previous_sha256", "sha256"):
        op.add_column("audit_event", sa.Column(name, sa.String(), nullable=False, server_default=""))
    op.create_index("ix_audit_event_who", "audit_event", ["who"], unique=False)
    connection = op.get_bind()
    last = START.sha256
    for number, row in enumerate(connection.execute(sa.select(_TRAIL).order_by(_TRAIL.c.sequence)).mappings().all(), 1):
        linked: dict[str, Any] = {**row, "sequence": number, "at": _aware(row["at"]), "previous_sha256": last}
        last = linked["sha256"] = digest(linked)
        # Numbers had gaps where a transaction was rolled back on PostgreSQL; in order, none is taken yet.
        op.execute(
            _TRAIL.update()
            .where(_TRAIL.c.sequence == row["sequence"])
            .values(sequence=number, previous_sha256=linked["previous_sha256"], sha256=last)
        )
    create_triggers(connection)


def downgrade() -> None:
    drop_triggers(op.get_bind())
    op.drop_index("ix_audit_event_who", "audit_event")
    for name in ("sha256", "previous_sha256", "role"):
        op.drop_column("audit_event", name)


def _aware(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at
