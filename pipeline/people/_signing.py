"""Signatures under releases: the password is asked again, the folder is verified, the record is the database's.

A signature is made by one transaction. The file beside the manifest is a copy of what the database holds, written
after it: a crash between the two leaves a signed release without its copy, never a copy of a signature that does
not exist. The next signature or build writes the copy.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlmodel import Session, col, select

from db import new_id, record_event
from db.tables import Account, Release, Signature
from evaluation.items import fault_of_text, normalise_text
from pipeline.errors import InputError, NotFoundError
from pipeline.people._accounts import actor_of, open_account
from pipeline.people._sign_in import confirm_password
from pipeline.permissions import GRANTS, Permission, Role, needs
from pipeline.release_folder import (
    SIGNATURE_FILE,
    SignatureEntry,
    SignatureFile,
    manifest_sha256,
    read_signatures,
    verify_release,
)
from pipeline.workspace import Workspace, write_atomically

MEANING = "approved for use"
"""What a signature means unless the person says something else."""

MAX_MEANING = 200

_RELEASE = "release"


@dataclass(frozen=True)
class SignatureRow:
    """A signature as the page of releases and `release list` show it."""

    id: str
    name: str
    display_name: str
    role: str
    meaning: str
    signed_at: datetime
    content_sha256: str


@needs(Permission.SIGN_RELEASES)
def sign_release(
    workspace: Workspace, release_id: str, *, password: str, meaning: str = MEANING, address: str
) -> Signature:
    """Sign a release as the actor, who gives their password again.

    Args:
        workspace: where; its actor signs.
        release_id: the release.
        password: the actor's.
        meaning: what the signature says, such as "approved for use".
        address: the network address it comes from, for throttling.

    Raises:
        NotFoundError: no such release, or the actor's account is closed.
        InputError: the folder is missing, was changed or cannot be written to, the actor signed it already or has
            no password, or the meaning cannot be used. Nothing was signed.
        SignInRefusedError: the password does not fit.
        TooManyAttemptsError: too many failures before; the password was not looked at.
    """
    meaning = _checked_meaning(meaning)
    release = _release(workspace, release_id)
    folder = Path(release.path)
    _require_unchanged(workspace, release, folder)
    account = confirm_password(workspace, workspace.actor, password, address=address)
    with workspace.writing() as session:
        account = open_account(session, account.name)
        # Read again: the role may have been taken away since the actor was.
        actor_of(account).require(Permission.SIGN_RELEASES)
        signature = _signed(session, release_id, account)
        if signature is None:
            made = _add(session, session.get_one(Release, release_id), account, meaning)
    with workspace.writing() as session:
        restored = restore_signature_file(session, release_id, folder)
    if signature is not None:
        raise InputError(
            f"{account.name} signed {release.name} {release.version} already"
            + (f"; {SIGNATURE_FILE} did not show it and was written again" if restored else "")
        )
    return made


def _release(workspace: Workspace, release_id: str) -> Release:
    with workspace.reading() as session:
        release = session.get(Release, release_id)
    if release is None:
        raise NotFoundError(f"There is no release {release_id} in this workspace.")
    return release


def _require_unchanged(workspace: Workspace, release: Release, folder: Path) -> None:
    what = f"{release.name} {release.version}"
    if manifest_sha256(folder) != release.content_sha256:
        raise InputError(f"{folder} is not {what} as it was built: its manifest is another one. Nothing was signed.")
    if problems := verify_release(folder):
        raise InputError(f"{what} was changed since it was built; nothing was signed", problems)
    with workspace.reading() as session:
        _known_signatures(_rows(session, release.id), folder)
    if not os.access(folder, os.W_OK):
        raise InputError(f"{folder} cannot be written to, so {SIGNATURE_FILE} has no place. Nothing was signed.")


def _checked_meaning(meaning: str) -> str:
    normal = " ".join(normalise_text(meaning).split())
    if not normal:
        raise InputError("Say what the signature means, such as 'approved for use'")
    if (fault := fault_of_text(normal)) is not None:
        raise InputError(f"The meaning {fault}")
    if len(normal) > MAX_MEANING:
        raise InputError(f"The meaning has {len(normal)} characters; at most {MAX_MEANING} are allowed")
    return normal


def _signed(session: Session, release_id: str, account: Account) -> Signature | None:
    return session.exec(
        select(Signature).where(
            Signature.object_type == _RELEASE,
            Signature.object_id == release_id,
            Signature.account_id == account.id,
        )
    ).first()


def _add(session: Session, release: Release, account: Account, meaning: str) -> Signature:
    role = next(role for role in Role if role in account.roles and role in GRANTS[Permission.SIGN_RELEASES])
    signature = Signature(
        id=new_id("sig"),
        created_by=account.name,
        object_type=_RELEASE,
        object_id=release.id,
        content_sha256=release.content_sha256,
        meaning=meaning,
        account_id=account.id,
        role=role.value,
    )
    session.add(signature)
    release.signed = True
    session.add(release)
    record_event(
        session,
        who=account.name,
        action="sign",
        row=release,
        new={"signature": signature.id, "role": role.value, "meaning": meaning, "sha256": release.content_sha256},
    )
    return signature


def restore_signature_file(session: Session, release_id: str, folder: Path) -> bool:
    """Write the copy of a release's signatures into its folder where it lacks one, and say whether it did.

    Args:
        session: an open writing transaction: two who sign at once write one after the other, the second writes both.
        release_id: the release.
        folder: its folder, or a further copy of it.

    Raises:
        InputError: the folder holds signatures that this workspace does not know, or a file that cannot be read.
    """
    rows = _rows(session, release_id)
    there = _known_signatures(rows, folder)
    wanted = [_entry(row) for row in rows]
    if _without_names(there) == _without_names(wanted):
        return False
    text = SignatureFile(signatures=wanted).model_dump_json(indent=2)
    write_atomically(folder / SIGNATURE_FILE, f"{text}\n".encode())
    return True


def _known_signatures(rows: Sequence[SignatureRow], folder: Path) -> list[SignatureEntry]:
    """Return what stands in the folder; raise InputError where that is not all ours, since it would be overwritten."""
    there = read_signatures(folder)
    if {entry.id for entry in there} - {row.id for row in rows}:
        raise InputError(
            f"{folder / SIGNATURE_FILE} holds signatures that this workspace does not know; "
            "move the file away, then sign or build again"
        )
    return there


def _entry(row: SignatureRow) -> SignatureEntry:
    return SignatureEntry(
        id=row.id,
        display_name=row.display_name,
        role=row.role,
        meaning=row.meaning,
        signed_at=row.signed_at.isoformat(),
        manifest_sha256=row.content_sha256,
    )


def _without_names(entries: Sequence[SignatureEntry]) -> list[dict[str, str]]:
    """A display name may change, or be erased, without making the signature another one."""
    return [entry.model_dump(exclude={"display_name"}) for entry in entries]


@needs(Permission.VIEW_RELEASES)
def list_signatures(workspace: Workspace, release_id: str) -> list[SignatureRow]:
    """Return who signed a release, oldest signature first; none where nobody did."""
    with workspace.reading() as session:
        return _rows(session, release_id)


def _rows(session: Session, release_id: str) -> list[SignatureRow]:
    found = session.exec(
        select(Signature, Account)
        .join(Account, col(Account.id) == col(Signature.account_id))
        .where(Signature.object_type == _RELEASE, Signature.object_id == release_id)
        .order_by(col(Signature.created_at), col(Signature.id))
    )
    return [
        SignatureRow(
            id=signature.id,
            name=account.name,
            display_name=account.display_name,
            role=signature.role,
            meaning=signature.meaning,
            signed_at=signature.created_at,
            content_sha256=signature.content_sha256,
        )
        for signature, account in found
    ]
