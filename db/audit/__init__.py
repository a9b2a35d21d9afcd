"""The audit trail: who changed what, when and why, in a chain that shows any later change to it."""

from db.audit._chain import START, ChainLink, digest
from db.audit._head import HEAD_FILE, read_head, write_head
from db.audit._record import record_event, trail_head
from db.audit._triggers import create_triggers, drop_triggers, missing_triggers, trigger_names
from db.audit._verify import ChainFault, verify_chain

__all__ = [
    "HEAD_FILE",
    "START",
    "ChainFault",
    "ChainLink",
    "create_triggers",
    "digest",
    "drop_triggers",
    "missing_triggers",
    "read_head",
    "record_event",
    "trail_head",
    "trigger_names",
    "verify_chain",
    "write_head",
]
