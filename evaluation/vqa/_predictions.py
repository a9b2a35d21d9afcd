"""One line for each model call of a run, appended as the reply comes, so that no call is ever repeated."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluation.answers import AnswerOutcome
from evaluation.items import ItemFormat
from evaluation.models import CallOutcome


class CallKey(NamedTuple):
    """Which call of a run: of an item's answer (rotation or statement) or of its judge (attempt 0 or 1)."""

    item_id: str
    role: Literal["answer", "judge"]
    part: int = 0


class Prediction(BaseModel):
    """One call with its reply, how that was read and what it scored.

    `part` is the rotation (mcq, 0 to 4), the statement (kprim by statement, 0 to 3) or the judge's attempt.
    `shown_image` is the image id that went out, "black", or None. `parsed` is the letter as shown, a verdict,
    four verdicts, the answer's text, or the judge's two marks. `choice` is an MCQ's letter in the stored
    order. `correct` is set for an mcq and a kprim statement; `score` is 0 to 1, or None where this call has
    none.
    """

    model_config = ConfigDict(frozen=True)

    item_id: str
    item_version_id: str | None
    image_id: str
    shown_image: str | None
    format: ItemFormat
    role: Literal["answer", "judge"]
    part: int
    model: str
    is_language_model: bool
    prompt_sha256: str
    reply: str
    call_outcome: CallOutcome
    stop_reason: str | None
    error: str | None
    outcome: AnswerOutcome
    parsed: Any
    rule: str
    choice: str | None = None
    correct: bool | None = None
    score: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float = 0.0
    sent: dict[str, Any] = Field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    finished: str

    @property
    def key(self) -> CallKey:
        """Which call of the run this is."""
        return CallKey(self.item_id, self.role, self.part)


class PredictionsError(Exception):
    """A predictions file is damaged: which file and line, and what to do."""


class Predictions:
    """The calls of a run, on disk as `predictions.jsonl` while it runs and after.

    A line that was cut when a run was killed is dropped (its call is made again); a damaged line elsewhere is
    an error. Of two lines for one call the later counts. `fault` is why a reply could not be kept, if one could not.
    """

    def __init__(self, path: Path) -> None:
        """Read what is there.

        Raises:
            PredictionsError: a line before the last is damaged.
        """
        self.path = path
        self.fault: OSError | None = None
        self._by_key: dict[CallKey, Prediction] = {}
        if path.exists():
            self._read()

    def _read(self) -> None:
        text = self.path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                prediction = Prediction.model_validate_json(line)
            except ValidationError as error:
                raise PredictionsError(
                    f"{self.path}: line {number} is damaged ({error.errors()[0]['msg']}). "
                    "Delete the line to have its call made again, or choose another run folder."
                ) from error
            self._by_key[prediction.key] = prediction
        if len(whole) != len(text):
            self.rewrite(list(self._by_key))

    def __iter__(self) -> Iterator[Prediction]:
        return iter(self._by_key.values())

    def get(self, key: CallKey) -> Prediction | None:
        """Return the latest record of a call, or None where it was never made."""
        return self._by_key.get(key)

    def append(self, prediction: Prediction) -> None:
        """Keep a call, on disk before this returns."""
        line = prediction.model_dump_json().encode() + b"\n"
        with self.path.open("ab", buffering=0) as file:
            before = file.tell()
            try:
                written = file.write(line)
                if written != len(line):
                    raise OSError(errno.ENOSPC, "the reply could not be written whole", str(self.path))
            except OSError as error:
                self.fault = error
                # A full disk: half a line here would make the file unreadable once another follows it.
                file.truncate(before)
                raise
        self._by_key[prediction.key] = prediction

    def rewrite(self, order: list[CallKey]) -> None:
        """Replace the file by one line for each call in `order`, as a whole."""
        partial = self.path.with_name(f".{self.path.name}.partial")
        with partial.open("wb") as file:
            for key in order:
                file.write(self._by_key[key].model_dump_json().encode() + b"\n")
        partial.replace(self.path)
