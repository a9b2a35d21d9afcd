"""The theme: text and controls contrast as WCAG AA asks, in both themes."""

from __future__ import annotations

import re

import pytest

from curator_app.theme import streamlit_options, style_sheet

TEXT_RATIO = 4.5
"""WCAG 2.2, 1.4.3 Contrast (Minimum)."""

CONTROL_RATIO = 3.0
"""WCAG 2.2, 1.4.11 Non-text Contrast."""


def _luminance(colour: str) -> float:
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ground", ["backgroundColor", "secondaryBackgroundColor"])
@pytest.mark.parametrize("text", ["textColor", "grayTextColor", "linkColor"])
def test_text_contrasts(theme: str, ground: str, text: str) -> None:
    options = streamlit_options()
    ratio = contrast(str(options[f"theme.{theme}.{text}"]), str(options[f"theme.{theme}.{ground}"]))
    assert ratio >= TEXT_RATIO


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_controls_and_focus_contrast(theme: str) -> None:
    options = streamlit_options()
    ground = str(options[f"theme.{theme}.backgroundColor"])
    focus = re.search(r"outline: 3px solid (#\w{6})", style_sheet())
    assert focus is not None
    for colour in (options[f"theme.{theme}.borderColor"], options[f"theme.{theme}.primaryColor"], focus[1]):
        assert contrast(str(colour), ground) >= CONTROL_RATIO


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_primary_buttons_white_text_contrasts(theme: str) -> None:
    assert contrast("#FFFFFF", str(streamlit_options()[f"theme.{theme}.primaryColor"])) >= TEXT_RATIO


def test_there_are_three_sizes_of_type() -> None:
    sizes = set(re.findall(r"font-size: ([\d.]+rem)", style_sheet()))
    assert sizes <= {"1.35rem", "1rem", ".85rem"}
