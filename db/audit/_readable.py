"""What reading a row raises that somebody damaged past the program."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

UNREADABLE = (DBAPIError, ValueError, TypeError, RecursionError)
"""A text is no UTF-8, a document is none or nested without end, a time is none, a number is something else."""
