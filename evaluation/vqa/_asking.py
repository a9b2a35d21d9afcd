"""Asks an item's calls one after the other, reads the replies and keeps each as a prediction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from evaluation.answers import (
    AnswerOutcome,
    ParsedAnswer,
    parse_free_text,
    parse_kprim_joint,
    parse_kprim_statement,
    parse_mcq,
)
from evaluation.models import CallLimits, ModelReply, ModelRequest, call_model, prompt_sha256
from evaluation.vqa._config import KprimMode, VqaConfig
from evaluation.vqa._images import ImageSource, ShownImage
from evaluation.vqa._judge import InvalidVerdictError, read_verdict
from evaluation.vqa._predictions import CallKey, Prediction, Predictions
from evaluation.vqa._requests import Requests
from evaluation.vqa._rows import BenchmarkRow
from evaluation.vqa._scoring import (
    JUDGE_ATTEMPTS,
    ItemScore,
    answer_keys,
    judge_keys,
    kprim_score,
    rotated,
    score_item,
    stored_letter,
)


class _Reading(NamedTuple):
    """What a reply came to."""

    outcome: AnswerOutcome
    parsed: Any
    rule: str
    choice: str | None = None
    correct: bool | None = None
    score: float | None = None


class Asker:
    """Runs items: every call that is not settled in `predictions` is made once and kept there."""

    def __init__(
        self,
        config: VqaConfig,
        requests: Requests,
        images: ImageSource,
        predictions: Predictions,
        limits: CallLimits,
    ) -> None:
        self._config = config
        self._requests = requests
        self._images = images
        self._predictions = predictions
        self._limits = limits

    def score(self, item: BenchmarkRow) -> ItemScore:
        """Score an item from the calls that have been made so far."""
        return score_item(item, self._predictions, self._config.rotations, self._config.kprim_mode)

    def is_settled(self, item: BenchmarkRow) -> bool:
        """Whether nothing is left to ask about an item."""
        return self.score(item).score is not None

    def keys(self, item: BenchmarkRow) -> list[CallKey]:
        """Return all calls that were made for an item, in order."""
        keys = [*answer_keys(item, self._config.rotations, self._config.kprim_mode), *judge_keys(item)]
        return [key for key in keys if self._predictions.get(key) is not None]

    async def ask(self, item: BenchmarkRow) -> ItemScore:
        """Make the item's open calls and score it."""
        image = self._images.show(item)
        answer: Prediction | None = None
        for key in answer_keys(item, self._config.rotations, self._config.kprim_mode):
            request = self._requests.answer(item, key.part, image)
            answer = await self._call(item, key, request, image, _reader(item, key.part, self._config.kprim_mode))
        if item.question_type == "free_text" and answer is not None and answer.outcome == "scored":
            await self._judge(item, str(answer.parsed))
        return self.score(item)

    async def _judge(self, item: BenchmarkRow, reply: str) -> None:
        earlier: tuple[str, str] | None = None
        for key in judge_keys(item):
            request = self._requests.judge(item, reply, earlier)
            read = _read_last_verdict if key.part == JUDGE_ATTEMPTS - 1 else _read_verdict
            verdict = await self._call(item, key, request, None, read)
            if verdict.outcome == "scored" or verdict.call_outcome == "failed":
                return
            earlier = (verdict.reply, verdict.rule)

    async def _call(
        self,
        item: BenchmarkRow,
        key: CallKey,
        request: ModelRequest,
        image: ShownImage | None,
        read: Callable[[str], _Reading],
    ) -> Prediction:
        earlier = self._predictions.get(key)
        if earlier is not None and earlier.outcome != "failed" and earlier.prompt_sha256 == prompt_sha256(request):
            return earlier
        reply = await call_model(request, self._limits)
        prediction = _prediction(item, key, reply, image, _interpret(reply, key, read))
        self._predictions.append(prediction)
        return prediction


def _interpret(reply: ModelReply, key: CallKey, read: Callable[[str], _Reading]) -> _Reading:
    """Read an answered call; any other outcome is carried over, never read as an answer."""
    if key.role == "judge" and reply.outcome in ("refused", "truncated"):
        # What a judge fails to say is no fault of the model under test: it must never score 0 for it.
        return read("")._replace(rule=f"the judge's reply was {reply.outcome}")
    if reply.outcome == "answered":
        return read(reply.text)
    if reply.outcome == "truncated":
        return _Reading("unparsed", None, "the reply was cut at the token limit", score=0.0)
    if reply.outcome == "refused":
        return _Reading("refused", None, "the provider reports a refusal", score=0.0)
    return _Reading("failed", None, "no reply came")


def _reader(item: BenchmarkRow, part: int, kprim_mode: KprimMode) -> Callable[[str], _Reading]:
    if item.question_type == "mcq":
        return lambda text: _read_mcq(text, item, part)
    if item.question_type == "kprim" and kprim_mode == "statement":
        return lambda text: _read_statement(text, item.truth[part])
    if item.question_type == "kprim":
        return lambda text: _read_joint(text, item.truth)
    return lambda text: _not_marked(parse_free_text(text))


def _not_marked(parsed: ParsedAnswer[Any]) -> _Reading:
    """Return a reading that is not right or wrong: the unread scores 0, a free text waits for its judge."""
    return _Reading(parsed.outcome, parsed.value, parsed.rule, score=None if parsed.outcome == "scored" else 0.0)


def _read_mcq(text: str, item: BenchmarkRow, rotation: int) -> _Reading:
    shown = [item.choices[index] for index in rotated(len(item.choices), rotation)]
    parsed = parse_mcq(text, shown)
    if parsed.value is None:
        return _not_marked(parsed)
    choice = stored_letter(parsed.value, rotation)
    correct = choice == item.answer
    return _Reading("scored", parsed.value, parsed.rule, choice, correct, float(correct))


def _read_statement(text: str, truth: bool) -> _Reading:
    parsed = parse_kprim_statement(text)
    if parsed.value is None:
        return _not_marked(parsed)
    # A statement has no score of its own: the item's four verdicts have one together.
    return _Reading("scored", parsed.value, parsed.rule, correct=parsed.value == truth)


def _read_joint(text: str, truth: tuple[bool, ...]) -> _Reading:
    parsed = parse_kprim_joint(text)
    if parsed.value is None:
        return _not_marked(parsed)
    right = sum(verdict == fact for verdict, fact in zip(parsed.value, truth, strict=True))
    return _Reading("scored", parsed.value, parsed.rule, score=kprim_score(right))


def _read_verdict(text: str) -> _Reading:
    try:
        verdict = read_verdict(text)
    except InvalidVerdictError as error:
        return _Reading("unparsed", None, str(error))
    marks = {"accuracy": verdict.accuracy, "completeness": verdict.completeness, "reason": verdict.reason}
    return _Reading("scored", marks, "JSON verdict", score=verdict.score)


def _read_last_verdict(text: str) -> _Reading:
    """Read the last attempt: if that is invalid too the call has failed, and a resumed run makes it again."""
    reading = _read_verdict(text)
    return reading if reading.outcome == "scored" else reading._replace(outcome="failed")


def _prediction(
    item: BenchmarkRow, key: CallKey, reply: ModelReply, image: ShownImage | None, reading: _Reading
) -> Prediction:
    return Prediction(
        item_id=key.item_id,
        item_version_id=item.item_version_id,
        image_id=item.image_id,
        shown_image=image.name if image is not None else None,
        format=item.question_type,
        role=key.role,
        part=key.part,
        model=reply.model,
        is_language_model=reply.is_language_model,
        prompt_sha256=reply.prompt_sha256,
        reply=reply.text,
        call_outcome=reply.outcome,
        stop_reason=reply.stop_reason,
        error=reply.error,
        outcome=reading.outcome,
        parsed=reading.parsed,
        rule=reading.rule,
        choice=reading.choice,
        correct=reading.correct,
        score=reading.score,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        cost_usd=reply.cost_usd,
        seconds=reply.seconds,
        sent=reply.sent,
        dropped=reply.dropped,
        finished=datetime.now(UTC).isoformat(timespec="milliseconds"),
    )
