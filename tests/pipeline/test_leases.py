"""Leases: two people never get the same work, and nobody keeps it from others for long."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from db import utc_now
from db.tables import Lease
from pipeline.leases import AWAY, LEASE, lease_item, lease_roi, others_at_work, release_lease, renew_leases
from pipeline.people import close_account
from pipeline.permissions import NotAllowedError
from pipeline.workspace import Workspace
from tests.curator_app.visitors import actor, add_person

OBJECTS = [f"roi_{number:02}" for number in range(20)]


@pytest.fixture
def people(workspace: Workspace) -> tuple[Workspace, Workspace]:
    """The workspace as two authors use it."""
    for name in ("ana", "bob"):
        add_person(workspace, name, "author")
    return workspace.acting_as(actor(workspace, "ana")), workspace.acting_as(actor(workspace, "bob"))


def _move_end(workspace: Workspace, object_id: str, by: timedelta) -> None:
    with workspace.writing() as session:
        session.get_one(Lease, object_id).until += by


def _end(workspace: Workspace, object_id: str) -> timedelta:
    with workspace.reading() as session:
        return session.get_one(Lease, object_id).until - utc_now()


def test_the_next_one_is_one_that_nobody_works_on(people: tuple[Workspace, Workspace]) -> None:
    ana, bob = people
    assert lease_roi(ana, OBJECTS) == OBJECTS[0]
    assert lease_roi(bob, OBJECTS) == OBJECTS[1]
    assert lease_roi(ana, OBJECTS) == OBJECTS[0]
    assert lease_roi(bob, OBJECTS[:1]) is None
    (held,) = others_at_work(bob).items()
    assert (held[0], held[1].name) == (OBJECTS[0], "Ana")
    assert timedelta(0) < held[1].until - utc_now() <= LEASE


def test_two_workers_never_get_the_same_one(people: tuple[Workspace, Workspace]) -> None:
    with ThreadPoolExecutor(8) as threads:
        for left in range(len(OBJECTS), 1, -2):
            objects = OBJECTS[-left:]
            taken = list(threads.map(lambda one, of=objects: lease_roi(one, of), people))
            assert len(set(taken)) == 2
            assert None not in taken


def test_a_lease_runs_out(people: tuple[Workspace, Workspace]) -> None:
    ana, bob = people
    lease_roi(ana, OBJECTS)
    _move_end(ana, OBJECTS[0], -LEASE)
    assert others_at_work(bob) == {}
    assert lease_roi(bob, OBJECTS) == OBJECTS[0]
    assert OBJECTS[0] in others_at_work(ana)


def test_who_opens_it_has_it_where_its_holder_seems_to_be_away(people: tuple[Workspace, Workspace]) -> None:
    ana, bob = people
    lease_roi(ana, OBJECTS)
    assert lease_roi(bob, OBJECTS[:1], by_hand=True) is None, "she has just been there"
    _move_end(ana, OBJECTS[0], -AWAY)
    assert lease_roi(bob, OBJECTS) == OBJECTS[1], "the queue spares her work"
    assert lease_roi(bob, OBJECTS[:1], by_hand=True) == OBJECTS[0]
    assert others_at_work(ana)[OBJECTS[0]].name == "Bob"
    assert OBJECTS[0] not in others_at_work(bob)
    renew_leases(ana)
    assert others_at_work(ana)[OBJECTS[0]].name == "Bob", "it is not hers any more"


def test_activity_renews_it_but_not_what_has_run_out(people: tuple[Workspace, Workspace]) -> None:
    ana, _ = people
    lease_roi(ana, OBJECTS)
    _move_end(ana, OBJECTS[0], timedelta(minutes=-3))
    renew_leases(ana)
    assert _end(ana, OBJECTS[0]) > timedelta(minutes=4)
    _move_end(ana, OBJECTS[0], -LEASE)
    renew_leases(ana)
    assert _end(ana, OBJECTS[0]) < timedelta(0)


def test_who_leaves_gives_it_back_and_nobody_else_can(people: tuple[Workspace, Workspace]) -> None:
    ana, bob = people
    lease_roi(ana, OBJECTS)
    release_lease(bob, OBJECTS[0])
    assert lease_roi(bob, OBJECTS[:1]) is None
    release_lease(ana, OBJECTS[0])
    assert lease_roi(bob, OBJECTS[:1]) == OBJECTS[0]


def test_a_closed_account_works_on_nothing(workspace: Workspace, people: tuple[Workspace, Workspace]) -> None:
    ana, bob = people
    lease_item(ana, OBJECTS)
    close_account(workspace, "ana", reason="left", who="test")
    assert others_at_work(bob) == {}
    assert lease_item(bob, OBJECTS) == OBJECTS[0]


def test_who_may_not_work_on_it_takes_none(workspace: Workspace) -> None:
    add_person(workspace, "rita", "reader")
    rita = workspace.acting_as(actor(workspace, "rita"))
    for take in (lease_roi, lease_item):
        with pytest.raises(NotAllowedError):
            take(rita, OBJECTS)
