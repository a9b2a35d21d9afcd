"""Each changed object has its row in the trail, with what was and what is; no change has a row that says nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from PIL import Image
from sqlalchemy import event, inspect
from sqlalchemy.orm import Session as OrmSession
from sqlmodel import SQLModel, col, select

from db.audit import document_digest
from db.tables import (
    Account,
    AccountSession,
    AuditEvent,
    Binning,
    Invitation,
    Item,
    ItemVersion,
    Release,
    Roi,
    Run,
    Seed,
    Slide,
)
from evaluation.vqa import VqaConfig, run_vqa
from pipeline.audit import EventFilter, list_events, verify_trail
from pipeline.benchmarks import register_run
from pipeline.bins import assignment_sha256, bin_candidates
from pipeline.errors import ChangedError, InputError
from pipeline.people import (
    accept_invitation,
    actor_of,
    add_account,
    close_account,
    end_session,
    end_sessions_of,
    find_account,
    invite,
    reset_by_link,
    reset_link,
    set_roles,
    sign_in,
    sign_in_with_claims,
)
from pipeline.permissions import Role
from pipeline.releases import build_release
from pipeline.review import (
    ItemEntry,
    approve_passed,
    decide,
    edit_item,
    item_history,
    list_items,
    undo_decision,
    withdraw_item,
)
from pipeline.roi_import import import_rois
from pipeline.rois import list_rois, reject_roi
from pipeline.seed_holds import start_generation
from pipeline.seeds import drop_seed, list_seeds, restore_seed
from pipeline.variants import choose_models, generate_items, pending_seeds
from pipeline.workspace import Workspace
from tests.pipeline.conftest import write_csv
from tests.pipeline.people.conftest import ADDRESS, PASSWORD

OBJECTS = (Account, AccountSession, Binning, Invitation, Item, Release, Roi, Run, Seed, Slide)
"""What has rows of its own; a version, a decision or a signature is told by the row of what it is about."""


BY_A_CLUSTERING = {"binning_id", "bin", "bin_distance", "map_x", "map_y", "row_version", "changed_at"}
"""What changes in a ROI when bins are made: one row for all of them tells it."""


def attributes_changed(row: SQLModel) -> list[str]:
    """The names of the columns that are about to be written, or just were."""
    return [one.key for one in inspect(row).attrs if one.history.has_changes()]


@pytest.fixture
def unaudited(with_seeds: Workspace) -> Iterator[list[str]]:
    """What is changed in the program's database from here on without a row in the same transaction."""
    found: list[str] = []
    changed: dict[OrmSession, set[tuple[str, str]]] = {}
    told: dict[OrmSession, set[tuple[str, str]]] = {}

    def flushed(session: OrmSession, _context: object) -> None:
        for one in (*session.new, *session.dirty):
            if isinstance(one, AuditEvent):
                told.setdefault(session, set()).add((one.object_type, one.object_id))
            elif isinstance(one, OBJECTS) and session.is_modified(one):
                if isinstance(one, Roi) and set(attributes_changed(one)) <= BY_A_CLUSTERING:
                    continue
                changed.setdefault(session, set()).add((type(one).__name__.lower(), one.id))

    def committed(session: OrmSession) -> None:
        missing = changed.pop(session, set()) - told.pop(session, set())
        found.extend(f"{kind} {identifier}" for kind, identifier in sorted(missing))

    event.listen(OrmSession, "after_flush", flushed)
    event.listen(OrmSession, "after_commit", committed)
    yield found
    event.remove(OrmSession, "after_flush", flushed)
    event.remove(OrmSession, "after_commit", committed)


@pytest.fixture
def with_items(with_seeds: Workspace) -> Workspace:
    """A workspace with the built-in writer's items for each seed."""
    generate_items(with_seeds, models=choose_models(with_seeds, generator=None, checker=None), who="ann")
    return with_seeds


def rows_of(workspace: Workspace, object_id: str) -> list[AuditEvent]:
    """The rows of one object, oldest first."""
    return list_events(workspace, EventFilter(object_id=object_id))[::-1]


def waiting(workspace: Workspace, item_format: str = "free_text") -> ItemEntry:
    return next(entry for entry in list_items(workspace, states=("passed",)) if entry.item.format == item_format)


def test_nothing_is_changed_without_a_row(with_seeds: Workspace, unaudited: list[str], tmp_path: Path) -> None:
    here = with_seeds
    Image.new("RGB", (200, 200), (200, 120, 160)).save(tmp_path / "a.png")
    image = [(str(tmp_path / "a.png"), "liver", "drawn", "CC0-1.0")]
    import_rois(here, write_csv(tmp_path / "rois.csv", ("image", "organ", "source", "licence"), image), who="ann")
    for bins in (2, 3):
        bin_candidates(here, organ="liver", bins=bins, who="ann")
    generate_items(here, models=choose_models(here, generator=None, checker=None), who="ann")
    entry = waiting(here)
    content = entry.content.model_copy(update={"stem": "Which other change is shown here?"})
    edit_item(here, entry.item.id, content, who="bob", note="clearer")
    decide(here, entry.item.id, "reject", who="bob", note="no")
    undo_decision(here, entry.item.id, who="bob")
    withdraw_item(here, waiting(here, "mcq").item.id, reason="double", who="bob")
    approve_passed(here, as_user="bob")
    drop_seed(here, list_seeds(here)[0].seed.id, reason="not good", who="ann")
    restore_seed(here, list_seeds(here)[0].seed.id, who="ann")
    build_release(here, name="liver", version="1", who="ann")
    add_account(here, "rita", roles=["admin"], password=PASSWORD, who="admin")
    _, token = invite(here, roles=["reader"], display_name="A Reader", who="rita")
    accept_invitation(here, token, name="reader1", display_name="", password=PASSWORD)
    invite(here, roles=["author"], who="rita")
    for name in ("rita", "reader1", "reader1"):
        sign_in(here, name, PASSWORD, address=ADDRESS, browser="")
    set_roles(here, "reader1", roles=["author"], who="rita")
    end_sessions_of(here, "rita", who="reader1")
    close_account(here, "reader1", reason="left", who="rita", forget_name=True)
    assert unaudited == []
    assert verify_trail(here).faults == []


def test_an_imported_image_is_a_slide_and_a_roi(workspace: Workspace, tmp_path: Path) -> None:
    Image.new("RGB", (200, 200), (200, 120, 160)).save(tmp_path / "a.png")
    image = [(str(tmp_path / "a.png"), "liver", "drawn", "CC0-1.0")]
    file = write_csv(tmp_path / "rois.csv", ("image", "organ", "source", "licence"), image)
    roi = import_rois(workspace, file, who="ann")[0]
    assert [(row.action, row.new) for row in rows_of(workspace, roi.slide_id)] == [
        ("import", {"name": "a.png", "organ": "liver"})
    ]
    assert [(row.action, row.new) for row in rows_of(workspace, roi.id)] == [("import", {"from": "rois.csv"})]


def test_bins_say_what_they_replace_and_which_roi_went_where_in_one_row(with_rois: Workspace) -> None:
    first = bin_candidates(with_rois, organ="liver", bins=2, who="ann")
    second = bin_candidates(with_rois, organ="liver", bins=3, who="ann")
    assert [(row.action, row.old, row.new) for row in rows_of(with_rois, first.id)][1:] == [
        ("replace", {"current": True}, {"current": False})
    ]
    made = rows_of(with_rois, second.id)
    rois = [roi for roi, _ in list_rois(with_rois, states=("candidate", "selected"))]
    assert [row.action for row in made] == ["bin"]
    assert made[0].new == {
        "organ": "liver",
        "encoder": second.encoder,
        "encoder_version": second.encoder_version,
        "normalisation": "none",
        "seed": 0,
        "bins": 3,
        "sizes": second.sizes,
        "rois": len(rois),
        "assignment_sha256": assignment_sha256((roi.id, roi.bin or 0) for roi in rois),
    }
    assert {row.action for roi in rois for row in rows_of(with_rois, roi.id)} <= {"sample", "state"}, (
        "one row for all of them"
    )
    roi = rois[0]
    with pytest.raises(ChangedError, match="ann put it into a bin at"):
        reject_roi(with_rois, roi.id, who="bob", expected_version=roi.row_version - 1)


def test_a_decision_names_the_text_that_it_is_on(with_items: Workspace) -> None:
    entry = waiting(with_items)
    item_id = entry.item.id
    decide(with_items, item_id, "reject", who="bob", note="no")
    undo_decision(with_items, item_id, who="bob")
    edit_item(
        with_items, item_id, entry.content.model_copy(update={"stem": "Another question?"}), who="bob", note="better"
    )
    decide(with_items, item_id, "approve", who="cat")
    withdraw_item(with_items, item_id, reason="double", who="cat")
    one, two = item_history(with_items, item_id).versions
    texts = [{"version": version.number, "text_sha256": document_digest(version.content)} for version in (one, two)]
    assert [(row.action, row.old, row.new, row.reason) for row in rows_of(with_items, item_id)] == [
        ("generate", None, {"format": "free_text", **texts[0]}, None),
        ("state", {"state": "drafted"}, {"state": "passed"}, None),
        ("state", {"state": "passed"}, {"state": "in_review"}, None),
        ("state", {"state": "in_review"}, {"state": "rejected", "version": 1}, "no"),
        ("state", {"state": "rejected"}, {"state": "passed", "version": 1}, "reject taken back"),
        ("state", {"state": "passed"}, {"state": "in_review"}, None),
        ("state", {"state": "in_review"}, {"state": "revise", "version": 1}, "better"),
        ("version", {"version": 1}, texts[1], "better"),
        ("state", {"state": "revise"}, {"state": "passed"}, None),
        ("state", {"state": "passed"}, {"state": "in_review"}, None),
        ("state", {"state": "in_review"}, {"state": "approved", "version": 2}, None),
        ("state", {"state": "approved"}, {"state": "withdrawn"}, "double"),
    ]


def test_a_run_that_goes_on_says_what_became_of_it(with_items: Workspace, tmp_path: Path) -> None:
    approve_passed(with_items, as_user="bob")
    release = build_release(with_items, name="liver", version="1", who="ann").release
    out = tmp_path / "run"
    whole = run_vqa(VqaConfig(benchmark=release.path, model="offline/first", out=out))
    run = register_run(with_items, out, whole.model_copy(update={"complete": False, "n_failed": 1}), who="ann")
    for _ in range(2):
        register_run(with_items, out, whole, who="bob")
    began, went_on = rows_of(with_items, run.id)
    assert (began.who, began.action, began.old) == ("ann", "register", None)
    assert began.new is not None
    assert (began.new["path"], began.new["complete"]) == (str(out), False)
    assert (went_on.who, went_on.action) == ("bob", "update"), "and no third row, since nothing was changed"
    assert went_on.old == {"complete": False, "summary": began.new["summary"]}
    assert went_on.new is not None
    assert went_on.new["complete"] is True


def test_a_text_that_is_changed_behind_the_program_shows(with_items: Workspace) -> None:
    with with_items.reading() as session:
        first = select(ItemVersion).where(ItemVersion.number == 1).order_by(col(ItemVersion.id))
        changed, renumbered = session.exec(first.limit(2)).all()
    text = {**changed.content, "stem": "What the reviewer never saw?"}
    with with_items.engine.begin() as connection:
        table = ItemVersion.__table__  # type: ignore[attr-defined]
        connection.execute(table.update().where(table.c.id == changed.id).values(content=text))
        connection.execute(table.update().where(table.c.id == renumbered.id).values(number=9))
    named = {row.object_id: row.sequence for row in list_events(with_items, EventFilter(action="generate"))}
    added = f"the text of version 9 of item {renumbered.item_id} is one that no row of the trail tells of: it was added"
    assert {str(fault) for fault in verify_trail(with_items).faults} >= {
        added,
        f"row {named[changed.item_id]}: the text of version 1 of item {changed.item_id} is not the one it names",
        f"row {named[renumbered.item_id]}: version 1 of item {renumbered.item_id}, which it names, was removed",
    }


@pytest.mark.sqlite("PostgreSQL takes no text that is no document")
def test_a_text_that_cannot_be_read_shows(with_items: Workspace) -> None:
    with with_items.engine.begin() as connection:
        rows = connection.exec_driver_sql("SELECT id, number, item_id FROM itemversion ORDER BY id")
        changed = rows.fetchall()[1:3]
        for (identifier, *_), value in zip(changed, ("'nonsense'", "CAST(x'ff22' AS TEXT)"), strict=True):
            connection.exec_driver_sql(f"UPDATE itemversion SET content = {value} WHERE id = '{identifier}'")  # noqa: S608
    said = [fault.what for fault in verify_trail(with_items).faults]
    assert said == [f"the text of version {n} of item {item} cannot be read: it was changed" for _, n, item in changed]


def test_a_text_that_was_added_behind_the_program_shows(with_items: Workspace) -> None:
    with with_items.writing() as session:
        first, second = session.exec(select(Item).order_by(col(Item.id)).limit(2)).all()
        text = session.get_one(ItemVersion, first.current_version_id)
        number, last = text.number + 1, session.get_one(ItemVersion, second.current_version_id).number
        added = ItemVersion(id="ver_x", item_id=first.id, number=number, content=text.content, created_by="m")
        added.created_at = text.created_at - timedelta(days=400)
        session.add(added)
        session.flush()
        first.current_version_id = added.id
        second.current_version_id = text.id
        session.add_all((first, second))
    assert [str(fault) for fault in verify_trail(with_items).faults] == [
        f"the text of version {number} of item {first.id} is one that no row of the trail tells of: it was added",
        f"item {second.id} shows a text that is not its last version (number {last}): it was changed",
    ]


def test_sessions_and_links_that_end_with_something_else_say_so(workspace: Workspace) -> None:
    for name in ("ann", "bea"):
        add_account(workspace, name, roles=["admin"], password=PASSWORD, who="otto")
    opened = [sign_in(workspace, "ann", PASSWORD, address=ADDRESS, browser="").id for _ in range(2)]
    link, _ = invite(workspace, roles=["author"], who="ann")
    set_roles(workspace, "ann", roles=["author"], who="bea")
    close_account(workspace, "ann", reason="left", who="bea")
    said = Counter((row.who, row.role, row.action, row.reason) for name in opened for row in rows_of(workspace, name))
    assert said == {
        ("ann", "admin", "sign in (password)", None): 2,
        ("bea", "admin", "sign out", "the account was closed"): 2,
    }
    assert [(row.who, row.action, row.reason) for row in rows_of(workspace, link.id)] == [
        ("ann", "invite", None),
        ("bea", "withdraw", "ann may not invite like this any more"),
    ]


def test_the_role_is_that_of_who_did_it_not_of_whom_the_server_runs_as(
    with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's workspace acts as its maker, an admin; nobody here is one."""
    add_account(with_seeds, "ann", roles=["author"], password=PASSWORD, who="otto")
    opened = sign_in(with_seeds, "ann", PASSWORD, address=ADDRESS, browser="")
    end_session(with_seeds, opened.id, because="signed out")
    _, token = invite(with_seeds, roles=["reader", "reviewer"], who="otto")
    accept_invitation(with_seeds, token, name="rita", display_name="", password=PASSWORD)
    _, reset = reset_link(with_seeds, "rita", who="otto")
    reset_by_link(with_seeds, reset, password=f"another {PASSWORD}")
    monkeypatch.setattr(with_seeds.settings, "oidc_roles", {"staff": Role.COORDINATOR})
    claims = {"iss": "https://id.example.org", "sub": "1", "preferred_username": "cora", "groups": ["staff"]}
    sign_in_with_claims(with_seeds, claims, address=ADDRESS, browser="")
    assert Counter((row.who, row.role, row.action) for row in list_events(with_seeds, limit=10)) == {
        ("ann", "author", "sign in (password)"): 1,
        ("ann", "author", "sign out"): 1,
        ("otto", "admin", "invite"): 1,
        ("rita", "reviewer, reader", "add"): 1,
        ("rita", "reviewer, reader", "use"): 2,
        ("otto", "admin", "make a reset link"): 1,
        ("rita", "reviewer, reader", "change the password"): 1,
        ("single sign-on", "", "add"): 1,
        ("cora", "coordinator", "sign in (single sign-on)"): 1,
    }
    owner = with_seeds.owner()
    start_generation(with_seeds, list_seeds(with_seeds)[0].seed.id, "gen_1", "job:gone", "ann")
    viewer = find_account(with_seeds, "ann")
    assert viewer is not None
    pending_seeds(with_seeds.acting_as(actor_of(viewer)))
    newest = list_events(with_seeds, limit=1)[0]
    assert (newest.who, newest.role, newest.reason) == (owner.name, "admin", "its generation ended early")


def test_a_new_workspace_has_its_note_and_a_lost_one_is_not_made_up(workspace: Workspace) -> None:
    assert verify_trail(workspace).faults == []
    assert workspace.audit_head.is_file()
    workspace.audit_head.unlink()
    add_account(workspace, "ann", roles=["author"], password=PASSWORD, who="otto")
    assert not workspace.audit_head.exists()
    assert ["is missing" in str(fault) for fault in verify_trail(workspace).faults] == [True]


def test_what_is_refused_leaves_no_row(with_items: Workspace) -> None:
    before = verify_trail(with_items).rows
    item = waiting(with_items).item
    with pytest.raises(InputError, match="needs a note"):
        decide(with_items, item.id, "reject", who="bob")
    with pytest.raises(InputError, match="Say why"):
        withdraw_item(with_items, item.id, reason=" ", who="bob")
    assert verify_trail(with_items).rows == before
