"""The audit trail: who changed what, when and why, in a chain that shows any later change to it."""

from db.audit._chain import START, ChainLink, digest, document_digest
from db.audit._head import HEAD_FILE, HeadError, advance_head, begin_head, read_head
from db.audit._readable import UNREADABLE
from db.audit._record import is_row, last_changed, record_event, trail_head
from db.audit._triggers import create_triggers, drop_triggers, missing_triggers, trigger_names
from db.audit._verify import ChainFault, verify_chain

__all__ = [
    "HEAD_FILE",
    "START",
    "UNREADABLE",
    "ChainFault",
    "ChainLink",
    "HeadError",
    "advance_head",
    "begin_head",
    "create_triggers",
    "digest",
    "document_digest",
    "drop_triggers",
    "is_row",
    "last_changed",
    "missing_triggers",
    "read_head",
    "record_event",
    "trail_head",
    "trigger_names",
    "verify_chain",
]
