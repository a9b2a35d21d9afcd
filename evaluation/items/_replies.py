"""Reads the one JSON object of a model's reply into a typed document, or says shortly why that fails."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from evaluation.answers import strip_reasoning

_OBJECT_START = re.compile(r"\{(?=\s*[\"'}])")
"""A brace that opens a JSON object, as opposed to one in prose."""

_MAX_REASON_FAULTS = 4
_MAX_REASON_LENGTH = 600

Document = TypeVar("Document", bound=BaseModel)


class InvalidReplyError(Exception):
    """A model's reply does not hold what was asked for; `reason` says in a line what is wrong with it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _DuplicateKeyError(ValueError):
    pass


def read_document(text: str, kind: type[Document]) -> Document:
    """Return the JSON object in `text` as a `kind`.

    Reasoning blocks, code fences and prose around the object are left aside. The object itself is taken as it
    stands: a wrong type, a missing or a surplus field is an error, never mended.

    Raises:
        InvalidReplyError: there is no JSON object, more than one, or one that breaks the rules of `kind`.
    """
    found = _only_object(strip_reasoning(text))
    try:
        return kind.model_validate_json(json.dumps(found), strict=True)
    except ValidationError as error:
        raise InvalidReplyError(_condensed(error)) from None


def _only_object(text: str) -> dict[str, Any]:
    if not text.strip():
        raise InvalidReplyError("the reply is empty")
    decoder = json.JSONDecoder(object_pairs_hook=_without_duplicates)
    found: list[dict[str, Any]] = []
    opening = _OBJECT_START.search(text)
    while opening is not None:
        try:
            value, end = decoder.raw_decode(text, opening.start())
        except _DuplicateKeyError as error:
            raise InvalidReplyError(str(error)) from None
        except RecursionError:
            raise InvalidReplyError("the JSON is nested too deeply") from None
        except json.JSONDecodeError as error:
            raise InvalidReplyError(_syntax_fault(text, error)) from None
        except ValueError as error:
            raise InvalidReplyError(f"no valid JSON: {error}") from None
        found.append(value)
        opening = _OBJECT_START.search(text, end)
    if not found:
        raise InvalidReplyError("the reply holds no JSON object")
    if len(found) > 1:
        raise InvalidReplyError(f"the reply holds {len(found)} JSON objects, not one")
    return found[0]


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _DuplicateKeyError(f"the field {twice!r} occurs twice in one JSON object")
    return value


def _syntax_fault(text: str, error: json.JSONDecodeError) -> str:
    if error.pos >= len(text.rstrip().removesuffix("```").rstrip()) or "Unterminated string" in error.msg:
        return "the JSON object breaks off before its end"
    return f"no valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"


def _condensed(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_input=False)
    parts = []
    for fault in faults[:_MAX_REASON_FAULTS]:
        place = ".".join(str(step) for step in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ")
        parts.append(f"{place}: {message}" if place else message)
    if len(faults) > _MAX_REASON_FAULTS:
        parts.append(f"and {len(faults) - _MAX_REASON_FAULTS} more")
    return "; ".join(parts)[:_MAX_REASON_LENGTH]
