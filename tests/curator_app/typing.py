"""Reads and fills our own text fields where there is no browser."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from streamlit.testing.v1 import AppTest

from curator_app.drafts import DraftStore
from curator_app.session import workspace


def _data(page: AppTest) -> dict[str, dict[str, Any]]:
    """Return what each text field was given, by what its text is known by."""
    found = (
        json.loads(element.proto.json or element.proto.mixed.json)
        for element in page.get("bidi_component")
        if element.proto.component_name == "histocurator_text_field"
    )
    return {data["key"]: data for data in found}


def fields(page: AppTest) -> dict[str, str]:
    """Return what the texts of a page are known by, by the labels of their fields."""
    return {data["label"]: key for key, data in _data(page).items()}


def key_of(page: AppTest, label: str) -> str:
    """Return the key of the field whose label begins so."""
    return next(key for name, key in fields(page).items() if name.startswith(label))


def typed(page: AppTest, label: str) -> str:
    """Return what stands in a field."""
    return held(page, key_of(page, label))


def held(page: AppTest, key: str) -> str:
    """Return what stands in the field of this key."""
    text: str = page.session_state[f"{key} held"].text
    return text


def type_text(page: AppTest, label: str, text: str) -> None:
    """Type into a field, as far as Python hears of it."""
    type_into(page, key_of(page, label), text)


def type_into(page: AppTest, key: str, text: str) -> None:
    """Type into the field of this key: Python hears of it, and the browser sends it as a draft."""
    name = f"{key} held"
    page.session_state[name] = replace(page.session_state[name], text=text)
    place = _data(page)[key]["draft"]
    if place is not None:
        DraftStore(workspace()).receive(place["name"], place["writing"], {place["field"]: text})
