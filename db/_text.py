"""Texts that not every database holds: refused on both engines alike, before they are sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Engine, event


class UnstorableTextError(ValueError):
    """A text of a statement holds NUL or half a surrogate pair; `character` names it (U+0000, U+D800)."""

    def __init__(self, character: str) -> None:
        super().__init__(f"no database holds {character}")
        self.character = character


def unstorable_character(text: str) -> str | None:
    """Return the first character of a text that a database refuses, as U+0000; None if it can be stored.

    PostgreSQL's text cannot hold NUL, and half a surrogate pair is no UTF-8 for either engine. Neither comes from a
    keyboard; requests and files may hold both.
    """
    if "\0" in text:
        return "U+0000"
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"U+{ord(text[error.start]):04X}"
    return None


def refuse_unstorable(engine: Engine) -> None:
    """Have an engine raise UnstorableTextError for statements with such a text, whether they ask or write."""

    def look(_connection: Any, _cursor: Any, _statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        for value in _values(parameters):
            if isinstance(value, str) and (character := unstorable_character(value)) is not None:
                raise UnstorableTextError(character)

    event.listen(engine, "before_cursor_execute", look)


def _values(parameters: Any) -> Iterable[Any]:
    # One set of parameters is a mapping or a tuple, several are a list of those.
    if isinstance(parameters, list):
        for one in parameters:
            yield from _values(one)
    elif isinstance(parameters, Mapping):
        yield from parameters.values()
    else:
        yield from parameters or ()
