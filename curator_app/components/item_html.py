"""An item as HTML: as its reader sees it with the key marked, and what changed since the version before."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources

from curator_app.item_changes import FieldChange, diff_words
from evaluation.items import OPTION_LETTERS, FreeText, KPrim, MultipleChoice

FORMAT_NAMES = {"mcq": "MCQ", "kprim": "KPrim", "free_text": "Free text"}
"""The formats as pages name them."""


def item_style() -> str:
    """Return the style element that the HTML of this module and of safety_html needs once on a page."""
    css = resources.files("curator_app.components").joinpath("item.css").read_text(encoding="utf-8")
    return f"<style>{css}</style>"


def item_html(content: MultipleChoice | KPrim | FreeText) -> str:
    """Return the item with its key, explanations, rubric and synonyms."""
    match content:
        case MultipleChoice():
            rows = [
                _choice(OPTION_LETTERS[index], option.text, option.explanation, index == content.key, "key")
                for index, option in enumerate(content.options)
            ]
            body = f'<ol class="hc-choices">{"".join(rows)}</ol>'
        case KPrim():
            rows = [
                _choice(str(number), s.text, s.explanation, s.is_true, "true", "false")
                for number, s in enumerate(content.statements, start=1)
            ]
            body = f'<ol class="hc-choices">{"".join(rows)}</ol>'
        case FreeText():
            body = _free_text(content)
    return f'<div class="hc-item"><p class="stem">{escape(content.stem)}</p>{body}</div>'


def _choice(sign: str, text: str, why: str, marked: bool, word: str, other_word: str = "") -> str:
    verdict = f"✓ {word}" if marked else (f"✕ {other_word}" if other_word else "")
    mark = f'<span class="verdict">{verdict}</span>' if verdict else ""
    return (
        f'<li class="{"marked" if marked else ""}"><span class="sign">{sign}</span><div>'
        f'<p>{escape(text)}</p><p class="why">{escape(why)}</p></div>{mark}</li>'
    )


def _free_text(content: FreeText) -> str:
    synonyms = "; ".join(content.synonyms) or "none"
    points = "1 point" if content.points == 1 else f"{content.points} points"
    rows = [
        ("Expected answer", f"<strong>{escape(content.answer)}</strong>"),
        ("Also accepted", escape(synonyms)),
        ("Rubric", f"{escape(content.rubric)} ({points})"),
    ]
    return f'<dl class="hc-facts-list">{"".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)}</dl>'


def changes_html(changes: Sequence[FieldChange], *, since: int) -> str:
    """Return what changed since version `since`: words that went are struck, words that came underlined."""
    if not changes:
        return f'<p class="why">Only the order changed since v{since}.</p>'
    rows = "".join(
        f"<dt>{escape(change.name)}</dt><dd>{_pieces(change.before, change.after)}</dd>" for change in changes
    )
    return f'<dl class="hc-facts-list hc-diff">{rows}</dl>'


def _pieces(before: str, after: str) -> str:
    tags = {"gone": "del", "new": "ins"}
    pieces = diff_words(before, after)
    return "".join(marked(p.text, tags[p.kind]) if p.kind in tags else escape(p.text) for p in pieces)


def marked(text: str, tag: str) -> str:
    """Return a piece of text as HTML with its words in an element, and the spaces at its ends outside of it."""
    words = text.strip()
    if not words:
        return escape(text)
    begin = text.index(words)
    return f"{escape(text[:begin])}<{tag}>{escape(words)}</{tag}>{escape(text[begin + len(words) :])}"
