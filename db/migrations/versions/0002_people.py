"""Accounts that sign in: roles, passwords, pseudonyms, invitations, sessions, signatures"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from db._ids import new_pseudonym

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def _row_columns() -> list[sa.Column[Any]]:
    """Return what every table of rows begins with; new objects, since a column belongs to one table."""
    return [
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.String(), nullable=True),
    ]


def upgrade() -> None:
    with op.batch_alter_table("account") as batch:
        batch.add_column(sa.Column("pseudonym", sa.String(), nullable=True))
        batch.add_column(sa.Column("roles", sa.JSON(), nullable=True))
        batch.add_column(sa.Column("password_hash", sa.String(), nullable=True))
        batch.add_column(sa.Column("password_changed_at", sa.DateTime(timezone=True), nullable=True))
        batch.add_column(sa.Column("identity_issuer", sa.String(), nullable=True))
        batch.add_column(sa.Column("identity_subject", sa.String(), nullable=True))
    account = sa.table(
        "account", sa.column("id"), sa.column("role"), sa.column("roles", sa.JSON()), sa.column("pseudonym")
    )
    for identifier, role in op.get_bind().execute(sa.select(account.c.id, account.c.role)).fetchall():
        op.execute(account.update().where(account.c.id == identifier).values(roles=[role], pseudonym=new_pseudonym()))
    with op.batch_alter_table("account") as batch:
        batch.alter_column("pseudonym", existing_type=sa.String(), nullable=False)
        batch.alter_column("roles", existing_type=sa.JSON(), nullable=False)
        batch.create_unique_constraint("uq_account_pseudonym", ["pseudonym"])
        batch.create_unique_constraint("uq_account_identity", ["identity_issuer", "identity_subject"])
        batch.drop_column("role")

    op.create_table(
        "invitation",
        *_row_columns(),
        sa.Column("token_sha256", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=True),
        sa.Column("roles", sa.JSON(), nullable=False),
        sa.Column("display_name", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_by", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_sha256"),
    )
    op.create_table(
        "account_session",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("secret_sha256", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_because", sa.String(), nullable=True),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("browser", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("secret_sha256"),
    )
    op.create_index("ix_account_session_account_id", "account_session", ["account_id"], unique=False)
    op.create_table(
        "sign_in_throttle",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "signature",
        *_row_columns(),
        sa.Column("object_type", sa.String(), nullable=False),
        sa.Column("object_id", sa.String(), nullable=False),
        sa.Column("content_sha256", sa.String(), nullable=False),
        sa.Column("meaning", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_signature_object", "signature", ["object_type", "object_id"], unique=False)


def downgrade() -> None:
    for table in ("signature", "sign_in_throttle", "account_session", "invitation"):
        op.drop_table(table)
    with op.batch_alter_table("account") as batch:
        batch.add_column(sa.Column("role", sa.String(), nullable=True))
    account = sa.table("account", sa.column("id"), sa.column("role"), sa.column("roles", sa.JSON()))
    for identifier, roles in op.get_bind().execute(sa.select(account.c.id, account.c.roles)).fetchall():
        op.execute(account.update().where(account.c.id == identifier).values(role=roles[0] if roles else "reader"))
    with op.batch_alter_table("account") as batch:
        batch.alter_column("role", existing_type=sa.String(), nullable=False)
        batch.drop_constraint("uq_account_identity", type_="unique")
        batch.drop_constraint("uq_account_pseudonym", type_="unique")
        for column in (
            "identity_subject",
            "identity_issuer",
            "password_changed_at",
            "password_hash",
            "roles",
            "pseudonym",
        ):
            batch.drop_column(column)
