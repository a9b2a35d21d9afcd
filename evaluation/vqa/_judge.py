"""Reads a judge's reply: two marks from 0 to 10, or the reason why it is invalid."""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from evaluation.answers import strip_reasoning, too_long
from evaluation.vqa._scoring import JUDGE_SCALE, judge_score


class InvalidVerdictError(Exception):
    """A judge's reply is no verdict; the message says what is wrong with it."""


class Verdict(BaseModel):
    """A judge's marks for one free-text answer, each from 0 to 10 (VIPER section 4)."""

    model_config = ConfigDict(frozen=True, strict=True)

    accuracy: float = Field(ge=0, le=JUDGE_SCALE, allow_inf_nan=False)
    completeness: float = Field(ge=0, le=JUDGE_SCALE, allow_inf_nan=False)
    reason: str = ""

    @field_validator("reason")
    @classmethod
    def _storable(cls, text: str) -> str:
        """Replace half of a surrogate pair, which a JSON escape can smuggle in and no file takes."""
        return text.encode("utf-8", "replace").decode("utf-8")

    @property
    def score(self) -> float:
        """The weighted score, 0 to 1."""
        return judge_score(self.accuracy, self.completeness)


def read_verdict(reply: str) -> Verdict:
    """Read the last JSON object of a judge's reply that holds marks; what stands around it is left aside.

    Raises:
        InvalidVerdictError: there is no such object, or a mark is missing, no number, or out of range.
    """
    text = strip_reasoning(reply)
    if (why := too_long(text)) is not None:
        raise InvalidVerdictError(why)
    decoder = json.JSONDecoder()
    found: dict[str, object] | None = None
    start = text.find("{")
    while start != -1:
        try:
            value, end = decoder.raw_decode(text, start)
        except RecursionError:
            raise InvalidVerdictError("the JSON is nested too deeply") from None
        except ValueError:
            start = text.find("{", start + 1)
            continue
        if isinstance(value, dict) and value.keys() & {"accuracy", "completeness"}:
            found = value
        start = text.find("{", end)
    if found is None:
        raise InvalidVerdictError("the reply holds no JSON object with accuracy and completeness")
    try:
        return Verdict.model_validate(found)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
        raise InvalidVerdictError("; ".join(faults)) from error
