"""What people change about their own account: the display name and the password."""

from __future__ import annotations

from db import record_event
from db.tables import Account
from pipeline.errors import InputError
from pipeline.last_change import require_unchanged
from pipeline.people._accounts import checked_display_name, find_account, open_account, store_password
from pipeline.people._passwords import checked_password, hash_password, password_fits
from pipeline.permissions import Permission, needs
from pipeline.workspace import Workspace


@needs(Permission.OWN_ACCOUNT)
def change_own_display_name(workspace: Workspace, display_name: str, *, expected_version: int | None = None) -> Account:
    """Change the display name of the actor's own account.

    Raises:
        ChangedError: the account was changed since `expected_version` was seen.
        InputError: it cannot be shown.
        NotFoundError: the actor has no open account.
    """
    with workspace.writing() as session:
        account = open_account(session, workspace.actor.name)
        require_unchanged(session, account, expected_version, who=account.name)
        account.display_name = checked_display_name(display_name, name=account.name)
        session.add(account)
        record_event(session, who=account.name, action="change the display name", row=account)
        return account


@needs(Permission.OWN_ACCOUNT)
def change_own_password(workspace: Workspace, *, current: str, new: str, keep_session: str | None = None) -> None:
    """Change the password of the actor's own account; its other sessions end.

    Args:
        workspace: where; the actor's account is changed.
        current: the password until now. Whoever calls this counts wrong ones (`confirm_password`).
        new: the password from now on.
        keep_session: id of the session that goes on.

    Raises:
        InputError: the new password is not accepted, or the current one does not fit.
        NotFoundError: the actor has no open account.
    """
    account = find_account(workspace, workspace.actor.name)
    if account is None or not password_fits(current, account.password_hash):
        raise InputError("The current password does not fit; nothing was changed")
    if new == current:
        raise InputError("The new password is the one you have; nothing was changed")
    verified = account.password_hash
    hashed = hash_password(checked_password(new, name=account.name))
    with workspace.writing() as session:
        account = open_account(session, workspace.actor.name)
        if account.password_hash != verified:
            raise InputError("The password was changed elsewhere in the meantime; nothing was changed here")
        store_password(session, account, hashed, who=account.name, keep_session=keep_session)
