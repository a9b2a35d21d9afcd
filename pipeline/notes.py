"""What people say of a change: a reason or a note, checked before it goes into the audit trail for good."""

from __future__ import annotations

from evaluation.items import fault_of_text, normalise_text
from pipeline.errors import InputError


def checked_note(text: str, *, name: str, most: int, needed: str | None = None) -> str:
    """Return a reason or note normalised, "" where there is none.

    Args:
        text: what was typed.
        name: how messages call it, such as "note".
        most: characters that it may have.
        needed: what to say where there is nothing to be seen in it; None where it may be left out.

    Raises:
        InputError: it is needed and not there, too long, or holds a character that cannot be seen.
    """
    text = normalise_text(text)
    if not text:
        if needed is not None:
            raise InputError(needed)
        return ""
    if (fault := fault_of_text(text)) is not None:
        raise InputError(f"The {name} {fault}")
    if len(text) > most:
        raise InputError(f"The {name} has {len(text):,} characters; at most {most:,} are allowed")
    return text
