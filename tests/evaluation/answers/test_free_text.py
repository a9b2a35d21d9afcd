"""Free-text replies: text, nothing, or a refusal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.answers import parse_free_text

TEXTS = [
    ("Hepatocellular necrosis, focal.", "Hepatocellular necrosis, focal."),
    ("Answer: fatty change", "fatty change"),
    ("<think>could be anything</think>\nUpper left", "Upper left"),
    ("I cannot identify any lesion in this image.", "I cannot identify any lesion in this image."),
    ("I cannot see a lesion.", "I cannot see a lesion."),
    (
        "I cannot provide a diagnosis, but the image shows necrosis.",
        "I cannot provide a diagnosis, but the image shows necrosis.",
    ),
    (
        "I'm unable to view images. The most likely finding is fatty change.",
        "I'm unable to view images. The most likely finding is fatty change.",
    ),
    ("3", "3"),
]


@pytest.mark.parametrize(("reply", "text"), TEXTS)
def test_returns_what_the_model_says(reply: str, text: str) -> None:
    parsed = parse_free_text(reply)
    assert (parsed.outcome, parsed.value) == ("scored", text)


@pytest.mark.parametrize("reply", ["", " \n\t", "...", "<think>still thinking", "Answer:"])
def test_no_text_is_unparsed(reply: str) -> None:
    assert parse_free_text(reply).outcome == "unparsed"


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, but I can't help with that.",
        "I am sorry, but I cannot provide a diagnosis. Please consult a veterinary pathologist.",
        "I cannot view images, but I would be happy to help with a description.",
        "As an AI, I don't have the ability to see the picture.",
        "There is no image attached, so I cannot answer.",
        "It would be inappropriate for me to diagnose.",
    ],
)
def test_a_reply_that_only_declines_is_refused(reply: str) -> None:
    assert parse_free_text(reply).outcome == "refused"


@given(st.text(max_size=200))
def test_a_scored_text_is_never_empty(reply: str) -> None:
    parsed = parse_free_text(reply)
    assert bool(parsed.value) == (parsed.outcome == "scored")
