"""Numbers in answers: reads one, and makes others of the same form that differ clearly from it."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_RANGE = re.compile(
    r"(?<![\w.,])(?P<low>\d+(?:[.,]\d+)?)(?:(?P<dash>\s*(?:[-–—]|to)\s*)(?P<high>\d+(?:[.,]\d+)?))?(?![\w])"
)
_WORD = re.compile(r"\b(" + "|".join(_WORDS) + r")\b", re.IGNORECASE)
_PERCENT = re.compile(r"^\s*(?:%|per ?cent\b)", re.IGNORECASE)
_OUT_OF = re.compile(r"^\s*(?:of|out of|/|in)\s*(\d+)", re.IGNORECASE)

MIN_DIFFERENCE = 0.3
"""A wrong number differs from the right one by at least this share of it."""

MAX_NUMBER = 1_000_000


@dataclass(frozen=True)
class Quantity:
    """A number, or a range, inside a phrase: `before` and `after` are the text around it."""

    before: str
    after: str
    low: float
    high: float
    dash: str
    decimals: int
    as_word: bool
    ceiling: float | None

    @property
    def middle(self) -> float:
        """The middle of the range, or the number."""
        return (self.low + self.high) / 2

    def shown(self, low: float) -> str:
        """Return the phrase with its number, or the start of its range, replaced by `low`."""
        number = self._number(low)
        if self.dash:
            number += self.dash + self._number(low + self.high - self.low)
        text = self.before + number + self.after
        return text[:1].upper() + text[1:]

    def amount(self, value: float) -> str:
        """Return a threshold in the phrase's unit."""
        unit = _PERCENT.match(self.after)
        return self._number(value) + (" %" if unit else "")

    def _number(self, value: float) -> str:
        if self.as_word and value == int(value) and value < len(_WORDS):
            return _WORDS[int(value)]
        return f"{value:.{self.decimals}f}"


def read_quantity(text: str) -> Quantity | None:
    """Return the first number or range in `text`, or None."""
    match = _RANGE.search(text)
    if match:
        low = float(match["low"].replace(",", "."))
        high = float(match["high"].replace(",", ".")) if match["high"] else low
        if high < low or high > MAX_NUMBER:
            return None
        fractions = [number for number in (match["low"], match["high"]) if number and re.search(r"[.,]", number)]
        decimals = max((len(re.split(r"[.,]", number)[1]) for number in fractions), default=0)
        return _quantity(text, match, low, high, match["dash"] or "", decimals, as_word=False)
    word = _WORD.search(text)
    if word:
        value = float(_WORDS.index(word[0].casefold()))
        return _quantity(text, word, value, value, "", 0, as_word=True)
    return None


def _quantity(
    text: str, match: re.Match[str], low: float, high: float, dash: str, decimals: int, *, as_word: bool
) -> Quantity | None:
    before, after = text[: match.start()], text[match.end() :]
    whole = _OUT_OF.match(after)
    ceiling = 100.0 if _PERCENT.match(after) else float(whole[1]) if whole else None
    if ceiling is not None and high > ceiling:
        return None
    return Quantity(before, after, low, high, dash, decimals, as_word, ceiling)


def other_numbers(quantity: Quantity, count: int, rng: random.Random) -> list[float] | None:
    """Return `count` other starting values, some below and some above, or None where there is no room for them.

    Values differ from the right one and from each other by at least `MIN_DIFFERENCE` of the right one, by the
    width of its range and by one unit, so that no two of them can both be right.
    """
    unit = 10.0**-quantity.decimals
    width = quantity.high - quantity.low
    step = max(unit, width, round(quantity.low * MIN_DIFFERENCE / unit) * unit)
    if quantity.ceiling == 100 and not width:
        step = max(step, 10 * unit) if quantity.low >= 10 else max(step, 5 * unit)
    top = quantity.ceiling if quantity.ceiling is not None else float("inf")
    while step >= unit:
        below = [quantity.low - step * place for place in range(1, count + 1)]
        above = [quantity.low + step * place for place in range(1, count + 1)]
        below = [round(value, quantity.decimals) for value in below if value >= 0]
        above = [round(value, quantity.decimals) for value in above if value + width <= top]
        if len(below) + len(above) >= count:
            lowest = max(0, count - len(above))
            n_below = rng.randint(lowest, min(count, len(below)))
            return below[:n_below] + above[: count - n_below]
        if step <= max(unit, width):
            return None
        step = max(unit, width, round(step / 2 / unit) * unit)
    return None
