"""The built-in image-free guesser: a candidate who knows no pathology but reads how items are worded."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from evaluation.items import OPTION_LETTERS
from evaluation.models._calls import CallPurpose
from evaluation.models._facts import QuestionFacts
from evaluation.models._offline._chance import chance
from evaluation.models._offline._cues import CUES, MUCH_LONGER, is_absolute, is_hedged
from evaluation.models._offline._replies import choice_reply, truth_reply, truths_reply
from evaluation.models._offline._vocabulary import Dimension, vocabulary

TIE_MARGIN = 0.3
"""Options whose summed cues lie this close are equal to the guesser, who then takes one by chance."""

TRUE_PRIOR = 0.55
"""Statements without a cue are called true slightly more often: writers find true statements easier to write."""

_ASKED_FOR: tuple[tuple[str, Dimension], ...] = (
    ("where", "location"),
    ("zone", "location"),
    ("region", "structure"),
    ("structure", "structure"),
    ("cell", "cell_type"),
    ("artefact", "artefact"),
    ("artifact", "artefact"),
    ("distribut", "distribution"),
    ("pattern", "distribution"),
    ("sever", "severity"),
    ("grade", "severity"),
)


def answer_test_wise(facts: QuestionFacts, purpose: CallPurpose, seed: int | None) -> str:
    """Answer from the wording's cues, and say which they were; ties are broken by a seeded hash."""
    if facts.format == "mcq":
        place, confidence, reasoning = _choose(facts.stem, facts.choices, seed)
        return choice_reply(purpose, place, confidence, reasoning)
    if facts.format == "kprim":
        if facts.statement is not None:
            truth, why = _judge(facts.stem, facts.statement, [facts.statement], seed)
            return truth_reply(truth, why)
        judged = [_judge(facts.stem, statement, facts.choices, seed) for statement in facts.choices]
        reasoning = " ".join(f"{number}: {why}" for number, (_, why) in enumerate(judged, start=1))
        cued = sum("no cue" not in why for _, why in judged)
        return truths_reply(purpose, [truth for truth, _ in judged], _confidence(cued / len(judged)), reasoning)
    asked = [kind for word, kind in _ASKED_FOR if word in facts.stem.casefold()]
    dimension: Dimension = asked[0] if asked else "lesion"
    return chance("test-wise", facts.stem, seed).choice(vocabulary(facts.organ or "").terms(dimension))


def _choose(stem: str, options: Sequence[str], seed: int | None) -> tuple[int, str, str]:
    measured = [(cue, cue.measure(stem, options)) for cue in CUES]
    totals = [sum(cue.weight * values[place] for cue, values in measured) for place in range(len(options))]
    best = max(totals)
    tied = [place for place, total in enumerate(totals) if total >= best - TIE_MARGIN]
    place = chance("test-wise", stem, *options, seed).choice(tied)
    cues = [cue.name for cue, values in measured if cue.weight * values[place] > TIE_MARGIN / 2]
    against = sorted(
        {cue.name for cue, values in measured if min(values) < 0 and cue.name.startswith(("holds", "dis"))}
    )
    letter = OPTION_LETTERS[place]
    if len(tied) == 1:
        reason = f"Option {letter} stands out in the wording: {'; '.join(cues) or 'the sum of small cues'}."
    elif len(tied) < len(options):
        others = ", ".join(OPTION_LETTERS[other] for other in tied if other != place)
        what = f" ({'; '.join(cues)})" if cues else ""
        reason = f"The wording favours {letter} and {others} alike{what}; {letter} was taken by chance."
    else:
        reason = f"The wording offers no cue that sets an option apart; {letter} was taken by chance."
    if against:
        reason += f" Set aside: an option that {' or '.join(against)}."
    return place, _confidence(1 - (len(tied) - 1) / (len(options) - 1)), reason


def _judge(stem: str, statement: str, statements: Sequence[str], seed: int | None) -> tuple[bool, str]:
    if is_absolute(statement):
        return False, "false, an absolute word."
    if is_hedged(statement):
        return True, "true, hedged wording."
    others = [len(other.split()) for other in statements if other != statement]
    if others and len(statement.split()) > MUCH_LONGER * mean(others):
        return True, "true, longer than the others."
    truth = chance("test-wise", stem, statement, *statements, seed).random() < TRUE_PRIOR
    return truth, f"{'true' if truth else 'false'} by chance, no cue."


def _confidence(share: float) -> str:
    return "high" if share >= 0.99 else "medium" if share >= 0.5 else "low"
