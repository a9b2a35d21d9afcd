"""Triggers with which the database itself refuses to change or delete a row of the trail."""

from __future__ import annotations

from sqlalchemy import Connection, text

REFUSAL = "the audit trail is append-only"

_NAMES = ("audit_event_keeps_rows", "audit_event_keeps_content")

_SQLITE = {
    "audit_event_keeps_rows": (
        "CREATE TRIGGER audit_event_keeps_rows BEFORE DELETE ON audit_event "
        f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    ),
    "audit_event_keeps_content": (
        "CREATE TRIGGER audit_event_keeps_content BEFORE UPDATE ON audit_event "
        f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    ),
}

_FUNCTION = "audit_event_refuse"
_BODY = f" BEGIN RAISE EXCEPTION '{REFUSAL}'; END; "
_POSTGRESQL_FUNCTION = f"CREATE OR REPLACE FUNCTION {_FUNCTION}() RETURNS trigger AS $${_BODY}$$ LANGUAGE plpgsql"
_POSTGRESQL = {
    "audit_event_keeps_rows": (
        "CREATE TRIGGER audit_event_keeps_rows BEFORE DELETE OR TRUNCATE ON audit_event "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {_FUNCTION}()"
    ),
    "audit_event_keeps_content": (
        "CREATE TRIGGER audit_event_keeps_content BEFORE UPDATE ON audit_event "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {_FUNCTION}()"
    ),
}

_BEFORE, _DELETE, _UPDATE, _TRUNCATE = 2, 8, 16, 32
_POSTGRESQL_KINDS = {
    "audit_event_keeps_rows": _BEFORE | _DELETE | _TRUNCATE,
    "audit_event_keeps_content": _BEFORE | _UPDATE,
}
"""When each trigger runs, as PostgreSQL's catalogue writes it (pg_trigger.tgtype)."""


def trigger_names() -> tuple[str, ...]:
    """Return the names of the triggers."""
    return _NAMES


def create_triggers(connection: Connection) -> None:
    """Make the triggers; migrations call it, and the statements run in their transaction."""
    if connection.dialect.name == "sqlite":
        statements = list(_SQLITE.values())
    else:
        statements = [_POSTGRESQL_FUNCTION, *_POSTGRESQL.values()]
    for statement in statements:
        connection.exec_driver_sql(statement)


def drop_triggers(connection: Connection) -> None:
    """Take the triggers away; only a migration may, and it makes them again."""
    on_table = "" if connection.dialect.name == "sqlite" else " ON audit_event"
    for name in _NAMES:
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}{on_table}")
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(f"DROP FUNCTION IF EXISTS {_FUNCTION}()")


def missing_triggers(connection: Connection) -> list[str]:
    """Return the names of the triggers that are not there, are switched off, or do something else."""
    if connection.dialect.name == "sqlite":
        found = connection.execute(
            text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_event'")
        )
        kept = {str(name): str(sql) for name, sql in found}
        return [name for name, sql in _SQLITE.items() if kept.get(name) != sql]
    found = connection.execute(
        text(
            "SELECT t.tgname, t.tgtype, t.tgenabled, t.tgqual IS NULL AND t.tgattr::text = '', p.prosrc "
            "FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid "
            "WHERE t.tgrelid = 'audit_event'::regclass AND NOT t.tgisinternal"
        )
    )
    working = {
        str(name)
        for name, kind, enabled, unconditional, source in found
        if _POSTGRESQL_KINDS.get(name) == kind and enabled in ("O", "A") and unconditional and source == _BODY
    }
    return [name for name in _NAMES if name not in working]
