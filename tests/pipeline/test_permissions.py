"""Every workflow function asks the permission table, for every role; what it refuses changes nothing."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pipeline
from pipeline.jobs import JOB_KINDS, JOB_PERMISSIONS, cancel_job, job_status, list_jobs, submit
from pipeline.people import actor_of, add_account, close_account, find_account, invite, set_roles, withdraw_invitation
from pipeline.permissions import (
    GRANTS,
    ROLE_WORDS,
    Actor,
    NotAllowedError,
    Permission,
    Role,
    needs,
    permission_of,
    permissions_document,
)
from pipeline.workspace import DATABASE_FILE, Workspace
from tests.databases import content_of
from tests.pipeline.test_jobs import ended, wait_for, worker

Function = Callable[..., Any]

UNGUARDED = {
    # Opening, moving and asking: nothing of the workspace is given to anybody.
    "encoders.known_encoders": "what the program has",
    "encoders.load_encoder": "what the program has",
    "location.follow_move": "a part of opening",
    "location.move_paths": "a part of opening, and of restoring",
    "queue_file.faults_of_queue": "a part of check_workspace",
    "queue_file.require_queue": "says whether the queue can be opened",
    "organs.organ_map": "reads settings and the file that they name",
    "dose_groups.sees_dose_groups": "says what the actor may see",
    "dose_groups.without_hidden": "takes out what the actor may not see",
    "dose_groups.is_control": "reads settings",
    "ingest.checked_metadata": "reads settings; nothing of the workspace is given to anybody",
    "ingest.allowed_paths": "says which files the actor may name",
    "model_choice.choose_models": "reads settings; who uses the models is asked by what uses them",
    "model_choice.prompt_folder": "names a folder",
    # Parts of guarded functions.
    "acts.once": "makes the change that it is given, which asks",
    "embedding.candidates_of": "calls list_rois",
    "embedding.embed_candidates": "a part of bin_candidates",
    "embedding.stored_features": "a part of more_like and unlike_chosen",
    "item_store.record_call": "a part of generating and checking",
    "item_store.store_drafts": "a part of generating",
    "item_store.load_item": "a part of generating, checking and deciding",
    "item_store.store_trials": "a part of checking",
    "item_store.load_checked_content": "a part of checking",
    "item_store.store_regeneration": "a part of checking",
    "item_store.escalate": "a part of checking",
    "item_store.list_trials": "a part of checking",
    "roi_images.read_roi": "reads pixels for routes and functions that have asked",
    "roi_images.require_image": "reads pixels for routes and functions that have asked",
    "seed_holds.process_hold": "a part of generating",
    "seed_holds.holder_is_gone": "a part of generating",
    "seed_holds.start_generation": "a part of generating",
    "seed_holds.end_generation": "a part of generating",
    "seed_holds.release_seeds": "repairs what a dead process held",
    "seed_holds.job_holders": "repairs what a dead process held",
    "seed_holds.escalate_lost_checks": "repairs what a dead process held",
    # The server's own.
    "jobs.prepare_queue": "makes the queue's tables",
    "jobs.release_ended_seeds": "repairs what an ended job held",
    "job_log.start_job_log": "opens the worker's own log",
    "workers.running_workers": "counts locks",
    "workers.worker_lock": "names a file",
    "tissue_masks.keep_tissue_mask": "a slide's own file, for functions that have asked",
    "tissue_masks.mask_path": "a slide's own file, for functions that have asked",
    "tissue_masks.tissue_mask": "a slide's own file, for functions that have asked",
    "worker.work_in": "says whose jobs the worker runs, each as who started it",
    "worker_process.run_worker": "runs jobs, each as who started it",
    "people._sessions.end_session": "the server ends a session that has expired or is signed out",
    # Who asks is not known yet: the secret, the password, the link or the claims decide.
    "people._accounts.command_line_actor": "says who the actor is",
    "people._accounts.accounts_exist": "says whether to sign in",
    "people._accounts.find_account": "says who the actor is",
    "people._invitations.open_invitation": "the link's token decides",
    "people._invitations.accept_invitation": "the link's token decides",
    "people._invitations.reset_by_link": "the link's token decides",
    "people._sessions.signed_in": "the cookie's secret decides",
    "people._sign_in.sign_in": "the password decides",
    "people._sign_in.confirm_password": "the password decides",
    "people._single_sign_on.sign_in_with_claims": "the claims decide",
    # What they ask depends on what is asked of them; each has a test of its own.
    "people._invitations.invite": "asks by the roles it offers",
    "jobs.submit": "asks by the kind of job",
    "file_access.reason_to_refuse": "says which files the actor may name",
    # Anybody may ask the doctor.
    "health.check_workspace": "says whether it is whole, and nothing of what people wrote",
    "backup._files.files_of": "a part of write_backup",
}
"""Public functions of a workspace that ask for no permission by themselves, and why."""


def workspace_functions() -> dict[str, Function]:
    """All public functions of the pipeline that are given a workspace, under their dotted names."""
    found: dict[str, Function] = {}
    for module_info in pkgutil.walk_packages(pipeline.__path__, "pipeline."):
        if module_info.name.startswith("pipeline.demo"):
            continue
        module = importlib.import_module(module_info.name)
        for name, function in vars(module).items():
            own = inspect.isfunction(function) and function.__module__ == module_info.name
            if not own or name.startswith("_"):
                continue
            if any(str(one.annotation) == "Workspace" for one in inspect.signature(function).parameters.values()):
                found[f"{module_info.name.removeprefix('pipeline.')}.{name}"] = function
    return found


FUNCTIONS = workspace_functions()
GUARDED = {name: function for name, function in FUNCTIONS.items() if permission_of(function) is not None}


def acting_as(workspace: Workspace, *roles: Role, name: str = "somebody") -> Workspace:
    """The workspace in the hands of somebody with these roles."""
    return workspace.acting_as(Actor(name, frozenset(roles), account_id="acc_somebody"))


def contents(workspace: Workspace) -> tuple[dict[str, list[str]], list[str]]:
    """The whole database, and the names of all files beside it."""
    beside = [path for path in workspace.root.rglob("*") if not path.name.startswith(DATABASE_FILE)]
    return content_of(workspace.engine), sorted(str(path) for path in beside)


def call_with_nothing(function: Function, workspace: Workspace) -> Any:
    """Call a function with None for everything it needs besides the workspace."""
    first, *others = inspect.signature(function).parameters.values()
    assert str(first.annotation) == "Workspace", "the workspace, which knows who asks, comes first"
    needed = [
        one for one in others if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]
    positional = [None for one in needed if one.kind is not one.KEYWORD_ONLY]
    result = function(workspace, *positional, **{one.name: None for one in needed if one.kind is one.KEYWORD_ONLY})
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def test_the_table_is_complete() -> None:
    assert set(GRANTS) == set(Permission)
    assert set(ROLE_WORDS) == set(Role)
    assert all(roles and roles <= set(Role) for roles in GRANTS.values())
    assert len({str(permission) for permission in Permission}) == len(Permission)


def test_a_reader_sees_nothing_of_the_workspace_and_an_auditor_changes_nothing() -> None:
    def held(role: Role) -> set[Permission]:
        return {permission for permission in Permission if role in GRANTS[permission]}

    assert held(Role.READER) == {Permission.ANSWER_STUDY, Permission.OWN_ACCOUNT}
    seeing = {permission for permission in Permission if permission.name.startswith("VIEW_")}
    assert held(Role.AUDITOR) - {Permission.OWN_ACCOUNT} == seeing - {Permission.VIEW_PEOPLE}
    assert held(Role.ADMIN) == set(Permission) - {Permission.ANSWER_STUDY}
    assert Permission.MANAGE_PEOPLE not in held(Role.COORDINATOR)


def test_every_function_of_a_workspace_is_guarded_or_says_why_not() -> None:
    assert len(FUNCTIONS) > 80, "the walk finds them"
    forgotten = set(FUNCTIONS) - set(GUARDED) - set(UNGUARDED)
    assert forgotten == set(), "guard them with needs(Permission.…), or name them above with the reason"
    assert set(UNGUARDED) - set(FUNCTIONS) == set(), "these are gone"
    assert set(UNGUARDED) & set(GUARDED) == set(), "these ask now"


def test_every_permission_is_asked_for_somewhere() -> None:
    asked = {permission_of(function) for function in GUARDED.values()} | set(JOB_PERMISSIONS.values())
    # Cancelling asks for it inside, and what shows slides leaves out what it does not allow.
    elsewhere = {Permission.CANCEL_JOBS, Permission.VIEW_DOSE_GROUPS}
    assert set(Permission) - asked == elsewhere


@pytest.fixture
def untouched(with_seeds: Workspace) -> Iterator[Workspace]:
    """A filled workspace that is the same after the test."""
    before = contents(with_seeds)
    yield with_seeds
    assert contents(with_seeds) == before


def test_every_guarded_function_refuses_whom_the_table_refuses(untouched: Workspace) -> None:
    refused = 0
    for name, function in GUARDED.items():
        permission = permission_of(function)
        assert permission is not None
        for role in Role:
            actor = acting_as(untouched, role)
            assert actor.actor.may(permission) == (role in GRANTS[permission])
            if role in GRANTS[permission]:
                continue
            with pytest.raises(NotAllowedError, match="somebody may not do this") as error:
                call_with_nothing(function, actor)
            assert str(permission) in str(error.value), name
            refused += 1
    assert refused > 100
    for function in GUARDED.values():
        with pytest.raises(NotAllowedError, match="no account with a role here"):
            call_with_nothing(function, acting_as(untouched))


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("permission", list(Permission))
def test_the_guard_lets_through_whom_the_table_allows(permission: Permission, asynchronous: bool) -> None:
    class Place:
        def __init__(self, *roles: Role) -> None:
            self.actor = Actor("somebody", frozenset(roles))

    if asynchronous:

        @needs(permission)
        async def work(place: Place, value: int) -> int:
            await asyncio.sleep(0)
            return value + len(place.actor.roles)
    else:

        @needs(permission)
        def work(place: Place, value: int) -> int:
            return value + len(place.actor.roles)

    assert permission_of(work) is permission
    for role in Role:
        if role in GRANTS[permission]:
            result: Any = work(Place(role), 1)
            assert (asyncio.run(result) if asynchronous else result) == 2
        else:
            with pytest.raises(NotAllowedError):
                asyncio.run(work(Place(role), 1)) if asynchronous else work(Place(role), 1)


@given(st.sets(st.sampled_from(list(Role))), st.sampled_from(list(Permission)))
def test_several_roles_may_what_any_of_them_may(roles: set[Role], permission: Permission) -> None:
    together = Actor("somebody", frozenset(roles))
    alone = [Actor("somebody", frozenset({role})) for role in roles]
    assert together.may(permission) == any(one.may(permission) for one in alone)


def test_a_refusal_says_who_lacks_what_and_whom_to_ask() -> None:
    with pytest.raises(NotAllowedError) as error:
        Actor("ann", frozenset({Role.AUTHOR, Role.REVIEWER})).require(Permission.BUILD_RELEASES)
    assert str(error.value) == (
        "ann may not do this (releases: build): ann has the role author and reviewer; it needs the role admin or "
        "coordinator. Ask an administrator of this workspace."
    )


@pytest.mark.parametrize("role", list(Role))
def test_an_invitation_asks_by_the_roles_it_offers(workspace: Workspace, role: Role) -> None:
    may_readers, may_anybody = role in (Role.ADMIN, Role.COORDINATOR), role is Role.ADMIN
    actor = acting_as(workspace, role)
    for offered in [[one] for one in Role] + [[Role.READER, Role.ADMIN]]:
        if may_anybody or (may_readers and offered == [Role.READER]):
            made, _ = invite(actor, roles=offered, who="somebody")
            withdraw_invitation(actor, made.id, who="somebody")
        else:
            before = contents(workspace)
            with pytest.raises(NotAllowedError):
                invite(actor, roles=offered, who="somebody")
            assert contents(workspace) == before
    of_an_author, _ = invite(workspace, roles=[Role.AUTHOR], who="admin")
    if not may_anybody:
        with pytest.raises(NotAllowedError):
            withdraw_invitation(actor, of_an_author.id, who="somebody")


@pytest.mark.parametrize("role", list(Role))
def test_a_job_asks_by_its_kind(workspace: Workspace, role: Role) -> None:
    assert set(JOB_PERMISSIONS) == set(JOB_KINDS)
    actor = acting_as(workspace, role)
    queued = []
    for kind in JOB_KINDS:
        if role in GRANTS[JOB_PERMISSIONS[kind]]:
            queued.append(submit(actor, kind))
        else:
            with pytest.raises(NotAllowedError):
                submit(actor, kind)
    assert {job.id for job in list_jobs(workspace)} == set(queued)
    assert {job.who for job in list_jobs(workspace)} <= {"somebody"}


def test_one_cancels_ones_own_jobs_and_leads_cancel_anybodys(workspace: Workspace) -> None:
    ann = acting_as(workspace, Role.AUTHOR, name="ann")
    first, second, third = (submit(ann, "sample", organ="liver") for _ in range(3))
    for role in Role:
        if role not in GRANTS[Permission.CANCEL_JOBS]:
            with pytest.raises(NotAllowedError):
                cancel_job(acting_as(workspace, role, name="ben"), first)
    assert job_status(workspace, first).state == "queued"
    with pytest.raises(NotAllowedError):
        cancel_job(acting_as(workspace, Role.READER, name="ann"), first)
    cancel_job(ann, first)
    cancel_job(acting_as(workspace, Role.COORDINATOR, name="ben"), second)
    cancel_job(workspace, third)
    assert {job.state for job in list_jobs(workspace)} == {"cancelled"}


def test_the_worker_asks_again_when_a_job_begins(with_slides: Workspace) -> None:
    jobs = {}
    for name in ("kept", "lost", "gone"):
        add_account(with_slides, name, roles=["author"], password="correct horse battery", who="admin")
        account = find_account(with_slides, name)
        assert account is not None
        jobs[name] = submit(with_slides.acting_as(actor_of(account)), "sample", organ="liver", count=2, size=128)
    jobs["nobody"] = submit(acting_as(with_slides, Role.AUTHOR, name="nobody"), "sample", organ="liver", count=2)
    # Without seeds there is nothing to generate: no function but the worker itself could refuse this one.
    generate = submit(acting_as(with_slides, Role.AUTHOR, name="lost"), "generate")
    set_roles(with_slides, "lost", roles=["reviewer"], who="admin")
    close_account(with_slides, "gone", reason="left", who="admin")
    with worker(with_slides):
        ends = {name: wait_for(with_slides, job, ended) for name, job in jobs.items()}
        generated = wait_for(with_slides, generate, ended)
    assert ends["kept"].state == "done", ends["kept"].error
    for name in ("lost", "gone", "nobody"):
        assert ends[name].state == "failed"
        assert f"{name} may not do this ({Permission.CHOOSE_ROIS})" in (ends[name].error or "")
    assert generated.state == "failed"
    assert f"lost may not do this ({Permission.GENERATE_ITEMS})" in (generated.error or "")


def test_the_page_of_the_docs_is_the_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "permissions.md"
    assert page.read_text(encoding="utf-8") == permissions_document(), "run 'make docs'"
