"""Tables, engine, migrations and audit trail of a workspace's database; knows nothing of slides or models."""

from db._copy import (
    NotEmptyError,
    copy_database,
    copy_sqlite_file,
    count_rows,
    faults_of_copy,
    faults_of_database,
    holds_nothing,
    load_copy,
    make_one_file,
)
from db._engine import connect, read_session, write_session
from db._ids import id_of, new_id
from db._schema import SchemaError, migrate, schema_revision
from db._soundness import faults_of_rows, faults_of_schema
from db._text import UnstorableTextError, unstorable_character
from db._time import utc_now
from db._unfinished import LoadMark, LoadUnderWayError, end_load, loading, unfinished_load
from db.audit import record_event

__all__ = [
    "LoadMark",
    "LoadUnderWayError",
    "NotEmptyError",
    "SchemaError",
    "UnstorableTextError",
    "connect",
    "copy_database",
    "copy_sqlite_file",
    "count_rows",
    "end_load",
    "faults_of_copy",
    "faults_of_database",
    "faults_of_rows",
    "faults_of_schema",
    "holds_nothing",
    "id_of",
    "load_copy",
    "loading",
    "make_one_file",
    "migrate",
    "new_id",
    "read_session",
    "record_event",
    "schema_revision",
    "unfinished_load",
    "unstorable_character",
    "utc_now",
    "write_session",
]
