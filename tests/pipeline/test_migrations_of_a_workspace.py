"""All migrations down and up on a workspace that people worked in, on both kinds of database."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine

from db import migrate, schema_revision
from db.audit import ChainLink, missing_triggers, read_head, trigger_names, verify_chain
from pipeline.acts import once
from pipeline.audit import verify_trail
from pipeline.leases import lease_item
from pipeline.people import (
    SignInRefusedError,
    actor_of,
    add_account,
    find_account,
    invite,
    sign_in,
    sign_release,
)
from pipeline.releases import build_release
from pipeline.review import approve_passed, list_items
from pipeline.rois import list_rois
from pipeline.seeds import SeedText, save_seed
from pipeline.workspace import Workspace, open_workspace
from tests.databases import URL_VARIABLE
from tests.db.test_audit_migration import triggers
from tests.db.test_people_migration import Rows, rows_of
from tests.pipeline.backup.conftest import either

__all__ = ["either"]

pytestmark = pytest.mark.both_engines

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
CHAINED = REVISIONS[2:]
MADE_BY = {
    "0002": {"invitation", "account_session", "sign_in_throttle", "signature"},
    "0004": {"lease"},
    "0005": {"act"},
}
"""Tables that a migration makes: going down drops them with what they hold."""

PASSWORD = "correct horse battery"


@pytest.fixture
def worked_in(either: Workspace) -> Workspace:
    """A workspace that holds something in every table that a migration is about, and a note of its trail's head."""
    for name, roles in (("ann", ["admin", "author"]), ("bob", ["reviewer"])):
        add_account(either, name, roles=roles, password=PASSWORD, who="admin")
    account = find_account(either, "ann")
    assert account is not None
    hers = either.acting_as(actor_of(account))
    sign_in(either, "ann", PASSWORD, address="192.0.2.1", browser="")
    with pytest.raises(SignInRefusedError):
        sign_in(either, "ann", "another one", address="192.0.2.1", browser="")
    invite(hers, roles=["reader"], who="ann")
    assert lease_item(hers, [entry.item.id for entry in list_items(either)]) is not None
    text = SeedText("Which change is present?", "necrosis", "identify_pathology")
    roi = list_rois(either)[0][0]
    once(hers, "0" * 32, lambda workspace: save_seed(workspace, text, roi_id=roi.id, who="ann"))
    approve_passed(either, as_user="bob")
    release = build_release(either, name="liver", version="1", who="ann").release
    sign_release(hers, release.id, password=PASSWORD, address="192.0.2.1")
    return either


def counts(rows: Rows) -> dict[str, int]:
    return {name: len(found) for name, found in rows.items()}


def trail(rows: Rows, *without: str) -> list[dict[str, Any]]:
    kept = [{name: value for name, value in row.items() if name not in without} for row in rows["audit_event"]]
    return sorted(kept, key=lambda row: row["sequence"])


def missing_triggers_of(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return missing_triggers(connection)


def test_every_migration_down_and_up_keeps_what_its_schema_has_a_place_for(
    worked_in: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, head = worked_in.engine, worked_in.audit_head
    full = rows_of(engine)
    note = head.read_bytes()
    assert schema_revision(engine) == REVISIONS[-1]
    assert [name for made in MADE_BY.values() for name in made if not full[name]] == []
    chain = ("role", "previous_sha256", "sha256")
    expected = counts(full)

    def step(revision: str, *, linked: bool) -> None:
        migrate(engine, to=revision, head_file=head)
        rows = rows_of(engine)
        assert schema_revision(engine) == revision
        assert counts(rows) == expected
        if revision in CHAINED:
            assert triggers(engine) == sorted(trigger_names())
            assert missing_triggers_of(engine) == []
            assert verify_chain(engine, head) == (len(full["audit_event"]), [])
            assert trail(rows) == trail(full) if linked else trail(rows, *chain) == trail(full, *chain)
            last = trail(rows)[-1]
            assert read_head(head) == ChainLink(last["sequence"], last["sha256"])
        else:
            assert triggers(engine) == []
            assert not head.exists()
            assert trail(rows) == trail(full, *chain)

    for above, revision in zip(REVISIONS[:0:-1], REVISIONS[-2::-1], strict=True):
        for name in MADE_BY.get(above, ()):
            del expected[name]
        step(revision, linked=True)
        assert not head.exists() or head.read_bytes() == note
    for revision in REVISIONS[1:]:
        expected |= dict.fromkeys(MADE_BY.get(revision, ()), 0)
        step(revision, linked=False)

    if engine.dialect.name == "postgresql":
        monkeypatch.setenv(URL_VARIABLE, engine.url.render_as_string(hide_password=False))
    again = open_workspace(worked_in.root)
    save_seed(
        again,
        SeedText("And which one here?", "fibrosis", "identify_pathology"),
        roi_id=list_rois(again)[0][0].id,
        who="ann",
    )
    check = verify_trail(again)
    assert (check.rows, check.faults, check.noted) == (len(full["audit_event"]) + 1, [], check.head)
    again.engine.dispose()
