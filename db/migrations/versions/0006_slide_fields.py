"""What is known of a slide's subject and study, what was measured of a candidate, and a binning's quotas and map"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_SLIDE = (
    "organ_system",
    "structure",
    "strain",
    "sex",
    "age",
    "subject",
    "dose_group",
    "sacrifice",
    "scanner",
)
_LISTS = ("quotas", "silhouettes")
_MAP = ("map_x", "map_y")


def upgrade() -> None:
    for name in _SLIDE:
        op.add_column("slide", sa.Column(name, sa.String(), nullable=True))
    op.add_column("slide", sa.Column("reader", sa.String(), nullable=False, server_default="openslide"))
    for name in _MAP:
        op.add_column("roi", sa.Column(name, sa.Float(), nullable=True))
    op.add_column("roi", sa.Column("flags", sa.JSON(), nullable=False, server_default="{}"))
    for name in _LISTS:
        op.add_column("binning", sa.Column(name, sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("binning", sa.Column("normalisation", sa.String(), nullable=False, server_default="none"))


def downgrade() -> None:
    for name in ("normalisation", *_LISTS):
        op.drop_column("binning", name)
    for name in ("flags", *_MAP):
        op.drop_column("roi", name)
    for name in ("reader", *_SLIDE):
        op.drop_column("slide", name)
