"""`histocurator users`: accounts, invitations, roles, and who may do what."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curator_app.cli._output import (
    DISPLAY_NAME_OPTION,
    JsonOption,
    WorkspaceOption,
    opened_workspace,
    print_json,
    print_table,
    print_text,
    to_stderr,
)
from curator_app.cli._passwords import PasswordStdinOption, read_password

if TYPE_CHECKING:
    from db.tables import Invitation
    from pipeline.workspace import Workspace

users_app = typer.Typer(help="People: accounts, invitations, roles.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="Sign-in name of the account.")]
RolesOption = Annotated[
    list[str],
    typer.Option("--role", help="admin, coordinator, author, reviewer, reader or auditor; may be given several times."),
]
DisplayNameOption = Annotated[str, typer.Option(DISPLAY_NAME_OPTION, help="The name that colleagues read.")]


@users_app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Sign-in name: a-z, 0-9, '.', '-' and '_'. It never changes.")],
    roles: RolesOption,
    display_name: DisplayNameOption = "",
    password_stdin: PasswordStdinOption = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make an account with a password. The first one is an administrator's; from then on everybody signs in."""
    with opened_workspace(workspace) as opened:
        from pipeline.errors import InputError
        from pipeline.people import accounts_exist, add_account
        from pipeline.permissions import Permission, Role

        opened.actor.require(Permission.MANAGE_PEOPLE)
        first = not accounts_exist(opened)
        if first and Role.ADMIN not in roles:
            raise InputError(
                "The first account must have the role admin, since from then on everybody signs in: "
                f"histocurator users add {name} --role admin"
            )
        password = read_password(f"Password of {name}", from_stdin=password_stdin, twice=True)
        account = add_account(
            opened, name, roles=roles, password=password, display_name=display_name, who=opened.actor.name
        )
        if first:
            to_stderr(
                "Note: this is the first account. From now on everybody signs in, also to the app on this computer."
            )
        if as_json:
            print_json({"name": account.name, "roles": account.roles, "pseudonym": account.pseudonym})
        else:
            print_text(f"{account.name} may sign in now, as {', '.join(account.roles)}.")


@users_app.command("list")
def list_(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the accounts, open ones first."""
    with opened_workspace(workspace) as opened:
        from pipeline.people import list_people

        people = list_people(opened)
        if as_json:
            print_json([asdict(person) for person in people])
        else:
            print_table(
                f"{len(people)} accounts",
                ("name", "display name", "pseudonym", "roles", "signs in by", "last seen", "sessions", "closed"),
                [
                    (
                        person.name,
                        person.display_name,
                        person.pseudonym,
                        ", ".join(person.roles),
                        person.signs_in_by,
                        _local(person.last_seen_at),
                        person.sessions,
                        f"{_local(person.closed_at)}: {person.closed_because}" if person.closed_at else None,
                    )
                    for person in people
                ],
            )


@users_app.command("invite")
def invite(
    roles: RolesOption,
    display_name: DisplayNameOption = "",
    days: Annotated[int | None, typer.Option(help="How long the link works; the settings' where not given.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a link with which one person makes their own account. It is shown once: send it to them."""
    with opened_workspace(workspace) as opened:
        from pipeline.errors import InputError
        from pipeline.people import accounts_exist
        from pipeline.people import invite as make_invitation

        if not accounts_exist(opened):
            raise InputError(
                "Nobody signs in here yet. Make the first account, an administrator's, before you invite others: "
                "histocurator users add NAME --role admin"
            )
        invitation, token = make_invitation(
            opened, roles=roles, display_name=display_name, days=days, who=opened.actor.name
        )
        _print_link(opened, invitation, token, as_json=as_json)


@users_app.command("reset")
def reset(name: NameArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Make a link with which a person sets a new password, within 24 hours. It is shown once."""
    with opened_workspace(workspace) as opened:
        from pipeline.people import reset_link

        invitation, token = reset_link(opened, name, who=opened.actor.name)
        _print_link(opened, invitation, token, as_json=as_json)


def _print_link(opened: Workspace, invitation: Invitation, token: str, *, as_json: bool) -> None:
    from curator_app.listening import link_base, opens_here_only

    base = link_base(opened)
    link = f"{base}/invitation/{token}"
    if as_json:
        print_json({"id": invitation.id, "link": link, "expires_at": invitation.expires_at})
    else:
        print_text(link)
        to_stderr(f"The link works once, until {_local(invitation.expires_at)}. It is not shown again.")
    if opens_here_only(base):
        to_stderr(
            "Note: it opens on this computer only. For others, set public_url in settings.toml to the address that "
            "they open (docs/people.md)."
        )


@users_app.command("invitations")
def invitations(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List invitations and reset links, newest first."""
    with opened_workspace(workspace) as opened:
        from pipeline.people import list_invitations

        rows = list_invitations(opened)
        if as_json:
            print_json([asdict(row) for row in rows])
        elif not rows:
            print_text("No invitations yet. Make one with 'histocurator users invite --role ROLE'.")
        else:
            print_table(
                f"{len(rows)} links",
                ("id", "for", "roles", "display name", "state", "works until", "made by", "used by"),
                [
                    (
                        row.id,
                        row.purpose,
                        ", ".join(row.roles),
                        row.display_name,
                        row.state,
                        _local(row.expires_at),
                        row.created_by,
                        row.used_by,
                    )
                    for row in rows
                ],
            )


@users_app.command("withdraw-invitation")
def withdraw_invitation(
    invitation_id: Annotated[str, typer.Argument(metavar="ID", help="Id from 'users invitations'.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make an open link useless."""
    with opened_workspace(workspace) as opened:
        from pipeline.people import withdraw_invitation as withdraw

        withdraw(opened, invitation_id, who=opened.actor.name)
        _done(as_json, {"withdrawn": invitation_id}, f"The link {invitation_id} no longer works.")


@users_app.command("roles")
def roles_(
    name: NameArgument,
    roles: Annotated[list[str], typer.Argument(metavar="ROLE…", help="All the roles that the account has then.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give an account exactly these roles, at once."""
    with opened_workspace(workspace) as opened:
        from pipeline.people import set_roles

        account = set_roles(opened, name, roles=roles, who=opened.actor.name)
        _done(as_json, {"name": name, "roles": account.roles}, f"{name} is {', '.join(account.roles)} now.")


@users_app.command("close")
def close(
    name: NameArgument,
    reason: Annotated[str, typer.Option(help="Why, for the audit trail.")],
    forget_name: Annotated[
        bool, typer.Option("--forget-name", help="Replace the display name by the pseudonym.")
    ] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Close an account for good. What the person wrote and decided stays, under the sign-in name."""
    with opened_workspace(workspace) as opened:
        from pipeline.people import close_account

        account = close_account(opened, name, reason=reason, forget_name=forget_name, who=opened.actor.name)
        _done(
            as_json,
            {"name": name, "closed_at": account.withdrawn_at, "display_name": account.display_name},
            f"{name} is closed; every session has ended.",
        )


@users_app.command("sign-out")
def sign_out(name: NameArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """End every session of an account."""
    with opened_workspace(workspace) as opened:
        from pipeline.people import end_sessions_of

        count = end_sessions_of(opened, name, who=opened.actor.name)
        _done(as_json, {"name": name, "sessions": count}, f"{count} sessions of {name} have ended.")


@users_app.command("unlock")
def unlock_(name: NameArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Forget the failed attempts of an account, so that the person may sign in again at once."""
    with opened_workspace(workspace) as opened:
        from pipeline.people import unlock

        unlock(opened, name, who=opened.actor.name)
        _done(as_json, {"unlocked": name}, f"{name} may try again.")


@users_app.command("conflicts")
def conflicts(name: NameArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the items that a person wrote or decided on, and so may not answer in a study."""
    with opened_workspace(workspace) as opened:
        from pipeline.people import list_conflicts

        items = list_conflicts(opened, name)
        words = "\n".join(items) if items else f"No item: {name} may answer all of them."
        _done(as_json, {"name": name, "items": items}, words)


@users_app.command("permissions")
def permissions(as_json: JsonOption = False) -> None:
    """Say who may do what; the table is the same in every workspace."""
    from pipeline.permissions import GRANTS, Permission, Role

    if as_json:
        print_json(
            {permission.value: {role.value: role in GRANTS[permission] for role in Role} for permission in Permission}
        )
    else:
        print_table(
            "Who may do what",
            ("", *Role),
            [
                (permission, *("yes" if role in GRANTS[permission] else "–" for role in Role))
                for permission in Permission
            ],
        )


def _done(as_json: bool, document: dict[str, Any], words: str) -> None:
    if as_json:
        print_json(document)
    else:
        print_text(words)


def _local(moment: datetime | None) -> str | None:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment is not None else None
