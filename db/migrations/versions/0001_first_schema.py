"""The tables of the first schema, from slide to run"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "account",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("display_name", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("operating_system_owner", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "audit_event",
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("object_type", sa.String(), nullable=False),
        sa.Column("object_id", sa.String(), nullable=False),
        sa.Column("old", sa.JSON(), nullable=True),
        sa.Column("new", sa.JSON(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("sequence"),
    )
    op.create_index("ix_audit_event_object_id", "audit_event", ["object_id"], unique=False)

    op.create_table(
        "binning",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
        sa.Column("organ", sa.String(), nullable=False),
        sa.Column("encoder", sa.String(), nullable=False),
        sa.Column("encoder_version", sa.String(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("bins", sa.Integer(), nullable=False),
        sa.Column("sizes", sa.JSON(), nullable=False),
        sa.Column("current", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_binning_organ", "binning", ["organ"], unique=False)

    op.create_table(
        "release",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("content_sha256", sa.String(), nullable=False),
        sa.Column("item_count", sa.Integer(), nullable=False),
        sa.Column("image_count", sa.Integer(), nullable=False),
        sa.Column("signed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name", "version", name="uq_release_version"),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("benchmark", sa.String(), nullable=False),
        sa.Column("benchmark_sha256", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("ablation", sa.String(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("summary", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("path"),
    )
    op.create_table(
        "slide",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("content_sha256", sa.String(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("mpp", sa.Float(), nullable=True),
        sa.Column("mpp_source", sa.String(), nullable=False),
        sa.Column("level_count", sa.Integer(), nullable=False),
        sa.Column("vendor", sa.String(), nullable=True),
        sa.Column("objective_power", sa.Float(), nullable=True),
        sa.Column("organ", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("licence", sa.String(), nullable=False),
        sa.Column("species", sa.String(), nullable=False),
        sa.Column("stain", sa.String(), nullable=False),
        sa.Column("institution", sa.String(), nullable=True),
        sa.Column("study", sa.String(), nullable=True),
        sa.Column("tissue_share", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("content_sha256", name="uq_slide_content"),
    )
    op.create_index("ix_slide_organ", "slide", ["organ"], unique=False)

    op.create_table(
        "roi",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
        sa.Column("slide_id", sa.String(), nullable=False),
        sa.Column("organ", sa.String(), nullable=False),
        sa.Column("x", sa.Integer(), nullable=False),
        sa.Column("y", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("mpp", sa.Float(), nullable=True),
        sa.Column("magnification", sa.String(), nullable=False),
        sa.Column("tissue_share", sa.Float(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("draw", sa.JSON(), nullable=False),
        sa.Column("binning_id", sa.String(), nullable=True),
        sa.Column("bin", sa.Integer(), nullable=True),
        sa.Column("bin_distance", sa.Float(), nullable=True),
        sa.Column("thumbnail_path", sa.String(), nullable=True),
        sa.Column("image_path", sa.String(), nullable=True),
        sa.Column("image_sha256", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["binning_id"],
            ["binning.id"],
        ),
        sa.ForeignKeyConstraint(
            ["slide_id"],
            ["slide.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("slide_id", "x", "y", "size", "mpp", name="uq_roi_place"),
    )
    op.create_index("ix_roi_organ_state", "roi", ["organ", "state"], unique=False)
    op.create_index("ix_roi_slide_id", "roi", ["slide_id"], unique=False)

    op.create_table(
        "seed",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
        sa.Column("roi_id", sa.String(), nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("answer", sa.String(), nullable=False),
        sa.Column("is_true", sa.Boolean(), nullable=True),
        sa.Column("category", sa.String(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("notes", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("held_by", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["roi_id"],
            ["roi.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_seed_roi_id", "seed", ["roi_id"], unique=False)

    op.create_table(
        "item",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
        sa.Column("seed_id", sa.String(), nullable=False),
        sa.Column("generation_id", sa.String(), nullable=False),
        sa.Column("format", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("current_version_id", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["seed_id"],
            ["seed.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_item_generation_id", "item", ["generation_id"], unique=False)
    op.create_index("ix_item_seed_id", "item", ["seed_id"], unique=False)
    op.create_index("ix_item_state", "item", ["state"], unique=False)

    op.create_table(
        "modelcall",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
        sa.Column("seed_id", sa.String(), nullable=False),
        sa.Column("generation_id", sa.String(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("reply", sa.String(), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("provenance", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["seed_id"],
            ["seed.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_modelcall_generation_id", "modelcall", ["generation_id"], unique=False)
    op.create_index("ix_modelcall_seed_id", "modelcall", ["seed_id"], unique=False)

    op.create_table(
        "itemversion",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
        sa.Column("item_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("provenance", sa.JSON(), nullable=False),
        sa.Column("parent_id", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("guess_verdict", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["item.id"],
        ),
        sa.ForeignKeyConstraint(
            ["parent_id"],
            ["itemversion.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("item_id", "number", name="uq_version_number"),
    )
    op.create_index("ix_itemversion_item_id", "itemversion", ["item_id"], unique=False)

    op.create_table(
        "guesstrial",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
        sa.Column("item_version_id", sa.String(), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("choice_order", sa.JSON(), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("correct_count", sa.Integer(), nullable=True),
        sa.Column("confidence", sa.String(), nullable=True),
        sa.Column("reasoning", sa.String(), nullable=False),
        sa.Column("reply", sa.String(), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("provenance", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_version_id"],
            ["itemversion.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("item_version_id", "trial", name="uq_guess_trial"),
    )
    op.create_index("ix_guesstrial_item_version_id", "guesstrial", ["item_version_id"], unique=False)

    op.create_table(
        "releaseitem",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
        sa.Column("release_id", sa.String(), nullable=False),
        sa.Column("item_id", sa.String(), nullable=False),
        sa.Column("item_version_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["item.id"],
        ),
        sa.ForeignKeyConstraint(
            ["item_version_id"],
            ["itemversion.id"],
        ),
        sa.ForeignKeyConstraint(
            ["release_id"],
            ["release.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("release_id", "item_id", name="uq_release_item"),
    )
    op.create_index("ix_releaseitem_release_id", "releaseitem", ["release_id"], unique=False)

    op.create_table(
        "reviewdecision",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
        sa.Column("item_id", sa.String(), nullable=False),
        sa.Column("item_version_id", sa.String(), nullable=False),
        sa.Column("decision", sa.String(), nullable=False),
        sa.Column("state_before", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("recorded_by", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["item.id"],
        ),
        sa.ForeignKeyConstraint(
            ["item_version_id"],
            ["itemversion.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_reviewdecision_item_id", "reviewdecision", ["item_id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_reviewdecision_item_id", "reviewdecision")

    op.drop_table("reviewdecision")
    op.drop_index("ix_releaseitem_release_id", "releaseitem")

    op.drop_table("releaseitem")
    op.drop_index("ix_guesstrial_item_version_id", "guesstrial")

    op.drop_table("guesstrial")
    op.drop_index("ix_itemversion_item_id", "itemversion")

    op.drop_table("itemversion")
    op.drop_index("ix_modelcall_seed_id", "modelcall")
    op.drop_index("ix_modelcall_generation_id", "modelcall")

    op.drop_table("modelcall")
    op.drop_index("ix_item_state", "item")
    op.drop_index("ix_item_seed_id", "item")
    op.drop_index("ix_item_generation_id", "item")

    op.drop_table("item")
    op.drop_index("ix_seed_roi_id", "seed")

    op.drop_table("seed")
    op.drop_index("ix_roi_slide_id", "roi")
    op.drop_index("ix_roi_organ_state", "roi")

    op.drop_table("roi")
    op.drop_index("ix_slide_organ", "slide")

    op.drop_table("slide")
    op.drop_table("run")
    op.drop_table("release")
    op.drop_index("ix_binning_organ", "binning")

    op.drop_table("binning")
    op.drop_index("ix_audit_event_object_id", "audit_event")

    op.drop_table("audit_event")
    op.drop_table("account")
