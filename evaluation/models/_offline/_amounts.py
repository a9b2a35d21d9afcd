"""Writes items whose answer is a number or a range."""

from __future__ import annotations

import random

from evaluation.models._offline._findings import NumberFinding, UnwritableSeedError
from evaluation.models._offline._material import (
    DISTRACTOR_COUNT,
    Choice,
    Claim,
    FreeTextMaterial,
    KPrimMaterial,
    McqMaterial,
)
from evaluation.models._offline._quantities import other_numbers
from evaluation.models._offline._stems import Stems


class NumberWriter:
    """Material for a seed whose answer holds `finding.quantity`."""

    def __init__(self, finding: NumberFinding, stems: Stems, rng: random.Random) -> None:
        self._quantity = finding.quantity
        self._stems = stems
        others = other_numbers(finding.quantity, DISTRACTOR_COUNT, rng)
        if others is None:
            raise UnwritableSeedError(
                f"Beside {finding.quantity.shown(finding.quantity.low)!r} there are not {DISTRACTOR_COUNT} other "
                "numbers that differ clearly from it. Give a narrower range."
            )
        self._others = others
        self._question = stems.question()

    def mcq(self) -> McqMaterial:
        """Ask for the number among numbers of the same form."""
        key = Choice(self._quantity.shown(self._quantity.low), "This value was recorded for this image.")
        distractors = tuple(
            Choice(
                self._quantity.shown(other),
                f"Clearly {'less' if other < self._quantity.low else 'more'} than what the image holds.",
            )
            for other in self._others
        )
        return McqMaterial(self._stems.ask(self._question), key, distractors)

    def kprim(self) -> KPrimMaterial:
        """State that the value lies above or below thresholds."""
        width = self._quantity.high - self._quantity.low
        reason = f"The value recorded is: {self._quantity.shown(self._quantity.low)}."
        claims = []
        for other in self._others:
            # A range's threshold is its edge on the side of the right value, so that ranges stay apart.
            threshold = other if other > self._quantity.low else other + width
            amount = self._quantity.amount(threshold)
            above = self._quantity.middle > threshold
            claims += [
                Claim(f"The value in question lies above {amount}.", above, reason, amount),
                Claim(f"The value in question lies below {amount}.", not above, reason, amount),
            ]
        return KPrimMaterial(self._stems.ask_for_statements(self._question), tuple(claims))

    def free_text(self) -> FreeTextMaterial:
        """Ask for the number."""
        answer = self._quantity.shown(self._quantity.low)
        return FreeTextMaterial(
            f"Examine {self._stems.image} and answer with a number: {self._question}",
            answer,
            (),
            f"1 point for {answer!r} or a value that rounds to it; no point for other values.",
        )
