"""Who may do what: one table, one question. Pages, routes, jobs and commands all ask `Actor.require`.

`python -m pipeline.permissions > docs/permissions.md` writes the table for people.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from pipeline.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")


class Role(StrEnum):
    """What a person is here for; an account may have several and may then do what any of them may."""

    ADMIN = "admin"
    COORDINATOR = "coordinator"
    AUTHOR = "author"
    REVIEWER = "reviewer"
    READER = "reader"
    AUDITOR = "auditor"


ROLE_WORDS: Mapping[Role, str] = {
    Role.ADMIN: "runs the workspace and its people",
    Role.COORDINATOR: "plans the work and the studies, follows progress, releases and evaluates",
    Role.AUTHOR: "picks ROIs, writes seed questions, edits and decides on items",
    Role.REVIEWER: "decides on items",
    Role.READER: "answers the items of a study, and sees nothing else",
    Role.AUDITOR: "sees the work and the audit trail, and changes nothing",
}


class Permission(StrEnum):
    """One act on one kind of object: `object: act`."""

    VIEW_SLIDES = "slides and ROIs: see"
    ADD_SLIDES = "slides: add"
    EDIT_SLIDES = "slides: change what is said of them, withdraw, restore"
    VIEW_DOSE_GROUPS = "slides: see dose groups where they are hidden"
    CHOOSE_ROIS = "ROIs: sample, import, bin, select, reject"
    VIEW_SEEDS = "seeds: see"
    WRITE_SEEDS = "seeds: write, import, change, drop, restore"
    VIEW_ITEMS = "items: see, with keys and history"
    GENERATE_ITEMS = "items: have a model write and check them"
    EDIT_ITEMS = "items: edit"
    DECIDE_ITEMS = "items: approve, revise, reject, take back"
    WITHDRAW_ITEMS = "items: withdraw"
    VIEW_RELEASES = "releases: see and download"
    BUILD_RELEASES = "releases: build"
    SIGN_RELEASES = "releases: sign"
    VIEW_RUNS = "runs: see"
    EVALUATE = "runs: start and register"
    VIEW_JOBS = "jobs: see"
    CANCEL_JOBS = "jobs: cancel anybody's"
    ANSWER_STUDY = "own study: answer"
    VIEW_AUDIT = "audit trail: see"
    VIEW_PEOPLE = "people: see accounts and invitations"
    INVITE_READERS = "people: invite readers"
    MANAGE_PEOPLE = "people: add, invite, change roles, reset, close"
    MANAGE_WORKSPACE = "workspace: serve, run workers, back up, delete what was kept long enough"
    OWN_ACCOUNT = "own account: see, change the password, end sessions"


_STAFF = frozenset({Role.ADMIN, Role.COORDINATOR, Role.AUTHOR, Role.REVIEWER, Role.AUDITOR})
_WRITERS = frozenset({Role.ADMIN, Role.COORDINATOR, Role.AUTHOR})
_LEADS = frozenset({Role.ADMIN, Role.COORDINATOR})

GRANTS: Mapping[Permission, frozenset[Role]] = {
    Permission.VIEW_SLIDES: _STAFF,
    Permission.ADD_SLIDES: _WRITERS,
    Permission.EDIT_SLIDES: _WRITERS,
    Permission.VIEW_DOSE_GROUPS: _LEADS | {Role.AUDITOR},
    Permission.CHOOSE_ROIS: _WRITERS,
    Permission.VIEW_SEEDS: _STAFF,
    Permission.WRITE_SEEDS: _WRITERS,
    Permission.VIEW_ITEMS: _STAFF,
    Permission.GENERATE_ITEMS: _WRITERS,
    Permission.EDIT_ITEMS: _WRITERS | {Role.REVIEWER},
    Permission.DECIDE_ITEMS: frozenset({Role.ADMIN, Role.AUTHOR, Role.REVIEWER}),
    Permission.WITHDRAW_ITEMS: _WRITERS,
    Permission.VIEW_RELEASES: _STAFF,
    Permission.BUILD_RELEASES: _LEADS,
    Permission.SIGN_RELEASES: _LEADS,
    Permission.VIEW_RUNS: _STAFF,
    Permission.EVALUATE: _LEADS,
    Permission.VIEW_JOBS: _STAFF,
    Permission.CANCEL_JOBS: _LEADS,
    Permission.ANSWER_STUDY: frozenset({Role.READER}),
    Permission.VIEW_AUDIT: frozenset({Role.ADMIN, Role.AUDITOR}),
    Permission.VIEW_PEOPLE: _LEADS,
    Permission.INVITE_READERS: _LEADS,
    Permission.MANAGE_PEOPLE: frozenset({Role.ADMIN}),
    Permission.MANAGE_WORKSPACE: frozenset({Role.ADMIN}),
    Permission.OWN_ACCOUNT: frozenset(Role),
}
"""The permission table: which roles may do it. What is not here, nobody may."""


class NotAllowedError(InputError):
    """The person's roles do not allow it; nothing was changed."""


@dataclass(frozen=True)
class Actor:
    """Who asks: an account's name and roles. `account_id` is empty for somebody without an account."""

    name: str
    roles: frozenset[Role]
    account_id: str = ""
    display_name: str = ""

    def may(self, permission: Permission) -> bool:
        """Say whether any of the roles allows it."""
        return not self.roles.isdisjoint(GRANTS.get(permission, frozenset()))

    def require(self, permission: Permission) -> None:
        """Raise NotAllowedError unless it is allowed, naming the roles that may."""
        if self.may(permission):
            return
        has = f"has the role {_listed(self.roles)}" if self.roles else "has no account with a role here"
        raise NotAllowedError(
            f"{self.name} may not do this ({permission}): {self.name} {has}; it needs the role "
            f"{_listed(GRANTS.get(permission, frozenset()), 'or')}. Ask an administrator of this workspace."
        )


class HasActor(Protocol):
    """What a permission is asked of: a workspace that knows who works in it."""

    @property
    def actor(self) -> Actor: ...


W = TypeVar("W", bound=HasActor)


def needs(permission: Permission) -> Callable[[Callable[Concatenate[W, P], T]], Callable[Concatenate[W, P], T]]:
    """Make a workflow function ask, before anything else, whether its workspace's actor may do it.

    The function's first argument is the workspace. `permission_of` tells which permission a function asks for.
    """

    def wrap(function: Callable[Concatenate[W, P], T]) -> Callable[Concatenate[W, P], T]:
        guarded: Any
        if iscoroutinefunction(function):

            @wraps(function)
            async def guarded(workspace: W, /, *args: P.args, **kwargs: P.kwargs) -> Any:
                workspace.actor.require(permission)
                return await function(workspace, *args, **kwargs)
        else:

            @wraps(function)
            def guarded(workspace: W, /, *args: P.args, **kwargs: P.kwargs) -> Any:
                workspace.actor.require(permission)
                return function(workspace, *args, **kwargs)

        guarded.__permission__ = permission
        return cast("Callable[Concatenate[W, P], T]", guarded)

    return wrap


def permission_of(function: Callable[..., Any]) -> Permission | None:
    """Return the permission that a function made with `needs` asks for."""
    return getattr(function, "__permission__", None)


def _listed(roles: Collection[Role], last: str = "and") -> str:
    names = [role.value for role in Role if role in roles]
    if len(names) < 2:
        return "".join(names) or "nobody has"
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def permissions_document() -> str:
    """Return the table as a page of the docs."""
    head = "| | " + " | ".join(role.value for role in Role) + " |"
    rows = [
        f"| {permission} | " + " | ".join("yes" if role in GRANTS[permission] else "–" for role in Role) + " |"
        for permission in Permission
    ]
    return "\n".join(
        [
            "# Who may do what",
            "",
            "Written from the table in the code by `make docs`; pages, routes, jobs and commands ask this table.",
            "An account may have several roles and may then do what any of them may.",
            "",
            *(f"- **{role}** {words}." for role, words in ROLE_WORDS.items()),
            "",
            head,
            "|---|" + "---|" * len(Role),
            *rows,
            "",
            "A job is cancelled by who started it, or by who may cancel anybody's. Who wrote or decided on an item",
            "may not answer it in a study, except as a declared retest; `histocurator users conflicts NAME` lists",
            "these items.",
            "",
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(permissions_document())
