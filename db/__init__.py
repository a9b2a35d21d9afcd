"""Tables, engine, migrations and audit trail of a workspace's database; knows nothing of slides or models."""

from db._engine import connect, read_session, write_session
from db._ids import new_id
from db._schema import SchemaError, migrate
from db._time import utc_now
from db.audit import record_event

__all__ = [
    "SchemaError",
    "connect",
    "migrate",
    "new_id",
    "read_session",
    "record_event",
    "utc_now",
    "write_session",
]
