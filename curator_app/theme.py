"""The one visual language: colours of both themes, three type sizes, and the style sheet that holds the rest."""

from __future__ import annotations

from importlib import resources

ACCENT_LIGHT = "#0B6B6B"
"""Teal: far from haematoxylin's blue and eosin's pink; 6.2:1 on white."""

ACCENT_DARK = "#17807E"
"""4.8:1 against a button's white text, 3.7:1 against the dark ground."""

LINK_DARK = "#5CC9C4"

BASE_FONT_PX = 15
"""Body size; the title is 1.35 times, small print 0.85 times as large. There is no fourth size."""

_LIGHT = {
    "primaryColor": ACCENT_LIGHT,
    "backgroundColor": "#FFFFFF",
    "secondaryBackgroundColor": "#F3F5F6",
    "textColor": "#1B2126",
    "borderColor": "#8A929A",
    "linkColor": ACCENT_LIGHT,
    "grayTextColor": "#566069",
}
_DARK = {
    "primaryColor": ACCENT_DARK,
    "backgroundColor": "#14181B",
    "secondaryBackgroundColor": "#1E2428",
    "textColor": "#E8ECEE",
    "borderColor": "#78838C",
    "linkColor": LINK_DARK,
    "grayTextColor": "#A9B3BA",
}


def streamlit_options() -> dict[str, object]:
    """Return Streamlit's theme options by their dotted names."""
    options: dict[str, object] = {
        "theme.baseFontSize": BASE_FONT_PX,
        "theme.headingFontSizes": ["1.35rem", "1rem", "1rem", "1rem", "1rem", "1rem"],
        "theme.headingFontWeights": [600, 600, 600, 600, 600, 600],
        "theme.baseRadius": "4px",
        "theme.showWidgetBorder": True,
        "theme.showSidebarBorder": True,
        "theme.linkUnderline": True,
    }
    for name, palette in (("light", _LIGHT), ("dark", _DARK)):
        options |= {f"theme.{name}.{option}": value for option, value in palette.items()}
    return options


def style_sheet() -> str:
    """Return the CSS that every page gets."""
    return resources.files("curator_app").joinpath("theme.css").read_text(encoding="utf-8")
