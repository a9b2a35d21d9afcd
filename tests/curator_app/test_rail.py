"""The rail: which pages it names, what stands at the others' addresses, and who is named at its foot."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from curator_app.rail import RAIL, addresses, entry_of, own_rail, page_of
from curator_app.session import use_workspace
from pipeline.permissions import Actor, Role
from pipeline.workspace import Workspace

pytestmark = pytest.mark.sqlite("what a page draws and calls; what it reads and writes is asked on both engines")

APP = Path(__file__).parents[2] / "curator_app" / "script" / "app.py"


def _rail(*roles: Role) -> list[str]:
    return [entry.module for entry in own_rail(Actor("anna", frozenset(roles)))]


def test_the_rail_of_each_role() -> None:
    staff = ["home", "slides", "items", "releases", "benchmark", "jobs", "my_account"]
    assert _rail(Role.READER) == ["home", "my_account"]
    assert _rail(Role.REVIEWER) == staff
    assert _rail(Role.AUDITOR) == [*staff[:-1], "audit", "my_account"]
    assert set(_rail(Role.AUTHOR)) == {*staff, "sample_rois", "write_seeds"}
    assert _rail(Role.ADMIN) == [entry.module for entry in RAIL]
    assert set(_rail(Role.COORDINATOR)) == set(_rail(Role.ADMIN)) - {"audit"}
    assert _rail() == []


def test_every_page_has_a_module_and_an_address_of_its_own() -> None:
    pages = APP.parents[1] / "pages"
    assert all((pages / f"{entry.module}.py").is_file() for entry in RAIL)
    public = {path.stem for path in pages.glob("*.py") if not path.stem.startswith("_")}
    assert public == {entry.module for entry in RAIL}
    assert len(set(addresses())) == len(RAIL) + 1
    assert entry_of("my_account").address == "my-account"


def test_a_page_that_the_rail_does_not_name_is_hidden() -> None:
    shown, hidden = page_of("people"), page_of("people", in_rail=False)
    assert (shown.visibility, hidden.visibility) == ("visible", "hidden")


@pytest.mark.parametrize("role", [*Role, None])
def test_the_app_opens_on_home_or_a_refusal_for_everybody(workspace: Workspace, role: Role | None) -> None:
    use_workspace(workspace.acting_as(Actor("anna", frozenset({role} if role else ()))))
    page = AppTest.from_file(str(APP), default_timeout=30).run()
    assert not page.exception, page.exception
    said = "\n".join(element.proto.body for element in page.get("html"))
    assert "<h1>Home</h1>" in said
    assert ("This page is not for you." in said) == (role is None)


def test_the_foot_names_the_person_and_offers_the_way_out() -> None:
    script = (
        "from curator_app.rail_foot import rail_foot\n"
        "from pipeline.people import SignedIn\n"
        "from pipeline.permissions import Actor\n"
        "rail_foot(SignedIn(Actor('anna', frozenset(), display_name='<b>Anna</b> *B*'), 'ses_1'))\n"
    )
    page = AppTest.from_string(script).run()
    assert not page.exception
    (foot,) = page.sidebar.get("html")
    assert "&lt;b&gt;Anna&lt;/b&gt; *B*" in foot.proto.body
    assert len(page.sidebar.get("bidi_component")) == 1


def test_where_nobody_signs_in_the_rail_has_no_foot() -> None:
    script = (
        "from curator_app.rail_foot import rail_foot\n"
        "from pipeline.people import SignedIn\n"
        "from pipeline.permissions import Actor\n"
        "rail_foot(SignedIn(Actor('anna', frozenset()), ''))\n"
    )
    page = AppTest.from_string(script).run()
    assert not page.exception
    assert not page.sidebar.children
