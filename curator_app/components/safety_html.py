"""Why an item is safe to ask, as HTML: image-free trials, the seed it came from, who wrote this version."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from db.tables import GuessTrial, Item, ItemVersion, ReviewDecision, Seed
from evaluation.items import (
    OPTION_LETTERS,
    STATEMENT_COUNT,
    FreeText,
    KPrim,
    MultipleChoice,
    describe_categories,
)
from evaluation.items.guessing import KPRIM_GUESSED_STATEMENTS

HASH_CHARACTERS = 12

VERDICTS = {
    "passed": "✓ passed: not guessed in any trial",
    "guessable": "! guessed without the image",
    "incomplete": "▲ incomplete: a trial brought no answer, a person decides",
}


def category_name(slug: str) -> str:
    """Return a category as it is read, its slug where it is not one of VIPER's."""
    return next((entry.name for entry in describe_categories() if entry.slug == slug), slug)


def trials_html(content: MultipleChoice | KPrim | FreeText, version: ItemVersion, trials: Sequence[GuessTrial]) -> str:
    """Return what the checker answered without the image, trial by trial."""
    if isinstance(content, FreeText):
        return '<p class="why">Free text is not checked without the image: its author validates it.</p>'
    if version.guess_verdict is None and not trials:
        return '<p class="why">Not checked yet.</p>'
    verdict = VERDICTS.get(version.guess_verdict or "", "◌ the check is not finished")
    note = ""
    if isinstance(content, MultipleChoice):
        note = '<p class="why">Options were reshuffled: letters in its reasoning are the ones it saw.</p>'
    strip = "".join(f"<span>{_short(content, trial)}</span>" for trial in trials)
    rows = "".join(_trial(content, trial) for trial in trials)
    return (
        f"<p><strong>{escape(verdict)}</strong></p>"
        f'<p class="hc-strip" aria-hidden="true">{strip}</p>{note}<ol class="hc-trials">{rows}</ol>'
    )


def _short(content: MultipleChoice | KPrim, trial: GuessTrial) -> str:
    if trial.correct_count is None:
        return "– none"
    if isinstance(content, MultipleChoice):
        return f"{OPTION_LETTERS[int(trial.answer[0])]} {'✓' if trial.correct_count else '✗'}"
    return f"{trial.correct_count}/{STATEMENT_COUNT}"


def _trial(content: MultipleChoice | KPrim, trial: GuessTrial) -> str:
    number = trial.trial + 1
    if trial.correct_count is None:
        return (
            f"<li><p>Trial {number}: no answer ({escape(trial.outcome)})</p>"
            f'<p class="why">{escape(trial.error or "")}</p></li>'
        )
    if isinstance(content, MultipleChoice):
        place = int(trial.answer[0])
        shown = OPTION_LETTERS[trial.choice_order.index(place)]
        what = f"chose {OPTION_LETTERS[place]} (it saw {shown}), {escape(content.options[place].text)}"
        ending = "right: guessed" if trial.correct_count else "wrong"
    else:
        said = ", ".join("true" if answer else "false" for answer in trial.answer)
        what = f"said {said}"
        guessed = trial.correct_count >= KPRIM_GUESSED_STATEMENTS
        ending = f"{trial.correct_count} of {STATEMENT_COUNT} right{': guessed' if guessed else ''}"
    confidence = f", confidence {escape(trial.confidence)}" if trial.confidence else ""
    return (
        f"<li><p>Trial {number}: {what} · <strong>{ending}</strong>{confidence}</p>"
        f'<p class="why">{escape(trial.reasoning)}</p></li>'
    )


def seed_html(seed: Seed) -> str:
    """Return the pathologist's question, answer and category."""
    rows = [("Q", seed.question), ("A", seed.answer), ("Category", category_name(seed.category))]
    if seed.notes:
        rows.append(("Notes", seed.notes))
    rows.append(("Written by", seed.author))
    return _facts(rows)


def provenance_html(version: ItemVersion) -> str:
    """Return who or what wrote a version, with prompt, tokens and cost where a model did."""
    kept: dict[str, Any] = version.provenance
    rows: list[tuple[str, str]] = []
    if "written_by" in kept:
        rows.append(("Written by", f"{kept['written_by']} (a person)"))
    else:
        rows.append(("Model", str(kept.get("served_model") or kept.get("model") or "unknown")))
        kind = kept.get("is_language_model")
        words: dict[Any, str] = {True: "yes", False: "no: built in, works by rules and word lists"}
        rows.append(("Language model", words.get(kind, "not recorded")))
        rows.append(("Prompt", f"SHA-256 {str(kept.get('prompt_sha256') or 'none')[:HASH_CHARACTERS]}"))
        if kind is not False:
            cost = kept.get("cost_usd")
            rows.append(("Tokens", _tokens(kept)))
            rows.append(("Cost", "not reported" if cost is None else f"{cost:.4f} USD"))
    if version.reason:
        rows.append(("Why this version", version.reason))
    return _facts(rows)


def _tokens(kept: dict[str, Any]) -> str:
    sent, received = kept.get("input_tokens"), kept.get("output_tokens")
    if sent is None and received is None:
        return "not reported"
    return f"{sent or 0:,} in, {received or 0:,} out"


def decisions_html(decisions: Sequence[ReviewDecision], versions: Sequence[ItemVersion]) -> str:
    """Return the decisions on an item, newest first."""
    if not decisions:
        return '<p class="why">No decision yet.</p>'
    numbers = {version.id: version.number for version in versions}
    rows = [
        (
            f"{decision.created_at.astimezone():%Y-%m-%d %H:%M}",
            f"{decision.decision} v{numbers.get(decision.item_version_id, '?')} by {decision.created_by}"
            + (f": {decision.note}" if decision.note else ""),
        )
        for decision in reversed(decisions)
    ]
    return _facts(rows)


def flag_html(item: Item) -> str:
    """Return why an item is where it is, where its state has a reason."""
    return f'<p class="hc-flag">{escape(item.reason)}</p>' if item.reason else ""


def section(title: str, body: str) -> str:
    """Return a headed part of a column."""
    return f'<h3 class="hc-section">{escape(title)}</h3>{body}'


def _facts(rows: Sequence[tuple[str, str]]) -> str:
    inside = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return f'<dl class="hc-facts-list hc-grid">{inside}</dl>'
