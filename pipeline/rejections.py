"""Why a candidate is rejected: a few reasons that can be counted, and any other in the person's words."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.errors import InputError
from pipeline.notes import checked_note

REJECT_REASONS: Mapping[str, str] = {
    "artefact": "Artefact",
    "wrong tissue": "Not tissue of the organ",
    "duplicate": "Duplicate",
}
"""Reasons as the audit trail keeps them, and in words."""

OTHER = "other: "
"""Begins a reason that is none of them, so that no text of a person is taken for one of the program's own."""

MAX_REASON = 200


def rejection_reason(text: str) -> str:
    """Return a reason as the audit trail keeps it: one of `REJECT_REASONS`, or any other behind `OTHER`.

    Raises:
        InputError: there is none, or it is too long or holds what cannot be seen.
    """
    known = ", ".join(REJECT_REASONS)
    needed = f"Say why it is rejected ({known}, or any other reason). Nothing was changed."
    reason = checked_note(text.removeprefix(OTHER), name="reason", most=MAX_REASON, needed=needed)
    if "\n" in reason:
        raise InputError("The reason has more than one line. Nothing was changed.")
    return reason if reason in REJECT_REASONS else OTHER + reason
