"""Checks what was unpacked of a backup, as far as a restored workspace will rely on it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlmodel import select

from db import (
    SchemaError,
    connect,
    faults_of_copy,
    faults_of_rows,
    faults_of_schema,
    migrate,
    read_session,
    schema_revision,
)
from db.audit import HEAD_FILE, ChainLink, begin_head, trail_head, verify_chain
from db.tables import Account, Invitation
from pipeline.backup._manifest import BackupManifest
from pipeline.errors import InputError
from pipeline.permissions import Role
from pipeline.settings import SETTINGS_FILE, Settings
from pipeline.stored_files import outside_folders, referenced_files, stray_folders, stray_pictures
from pipeline.workspace import DATABASE_FILE, QUEUE_FILE


@dataclass(frozen=True)
class Checked:
    """How far the backup's trail reaches, and its faults, which were accepted.

    `missing` are files that rows lack in the backup already, `outside` folders elsewhere that rows refer to.
    """

    head: ChainLink
    faults: list[str]
    missing: list[str]
    outside: list[str]


def read_settings(staged: Path) -> Settings:
    """Read the settings as the restored workspace will, so that it can be opened.

    Raises:
        InputError: they are wrong, or name a database.
    """
    try:
        own = tomllib.loads((staged / SETTINGS_FILE).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"The backup's {SETTINGS_FILE} is not valid TOML: {error}") from None
    if "database_url" in own:
        raise InputError(f"The backup's {SETTINGS_FILE} names a database; no backup does. Nothing was changed.")
    settings = Settings.load(staged)
    if settings.database_url is not None and settings.database_url.startswith("sqlite"):
        raise InputError(
            "HISTOCURATOR_DATABASE_URL names a SQLite file, but the database is restored into the workspace's folder; "
            "unset the variable. Nothing was changed."
        )
    return settings


def check_content(staged: Path, manifest: BackupManifest, *, accept_audit_faults: bool) -> Checked:
    """Check the databases, bring the schema up to date, and return what is to be said of them.

    Raises:
        InputError: they are none that can be restored.
    """
    for name in (DATABASE_FILE, QUEUE_FILE):
        if (staged / name).is_file() and (damage := faults_of_copy(staged / name)):
            raise InputError(f"The backup's {name} is damaged; nothing was changed:", damage)
    engine = connect(f"sqlite:///{staged / DATABASE_FILE}")
    try:
        revision = schema_revision(engine)
        if revision is None or revision != manifest.schema_revision:
            raise InputError(
                f"The backup's database is at schema {revision}, its manifest says {manifest.schema_revision}; it is "
                "none that can be restored. Nothing was changed."
            )
        migrate(engine)
        _require_sound(engine)
        faults = _trail_faults(engine, staged, manifest)
        if faults and not accept_audit_faults:
            raise InputError(
                "The audit trail in the backup is not whole; nothing was changed. Take an earlier backup, or give "
                "--accept-audit-faults if you know why:",
                faults,
            )
        with read_session(engine) as session:
            wanted = referenced_files(session)
            root = Path(manifest.workspace)
            stray = [*stray_pictures(staged, session), *stray_folders(root, session, now=staged)]
            outside = outside_folders(root, session)
            head = trail_head(session)
        if stray:
            raise InputError(
                f"The backup's {DATABASE_FILE} names files where none of it are; nothing was changed:", stray
            )
        # Where the backup has none, that is among the faults that were accepted, which the trail will name. What is
        # noted stays, so that rows which were removed show for ever.
        begin_head(staged / HEAD_FILE, head)
    except SchemaError as error:
        raise InputError(str(error)) from None
    except (DBAPIError, ValueError, TypeError, RuntimeError) as error:
        # Tables that are not there, documents that are none or endless, rows that no migration can carry over.
        what = error.orig if isinstance(error, DBAPIError) else error
        raise InputError(f"The backup's {DATABASE_FILE} cannot be read; nothing was changed: {what}") from None
    finally:
        engine.dispose()
    missing = sorted(f"{name} ({what})" for name, what in wanted.items() if not (staged / name).is_file())
    return Checked(head, faults, missing, outside)


def _require_sound(engine: Engine) -> None:
    """Refuse a database that the app could not work with, whatever its sums say."""
    if faults := faults_of_schema(engine) or faults_of_rows(engine):
        raise InputError(f"The backup's {DATABASE_FILE} is not as this program writes it; nothing was changed:", faults)
    known = {role.value for role in Role}
    with read_session(engine) as session:
        accounts, invitations = session.exec(select(Account)).all(), session.exec(select(Invitation)).all()
    roles = {f"account {one.id}": one.roles for one in accounts}
    roles |= {f"invitation {one.id}": one.roles for one in invitations}
    faults = [f"{what}: its roles are {has}" for what, has in roles.items() if not known.issuperset(has)]
    owners = sum(account.operating_system_owner for account in accounts)
    if owners != 1:
        faults.append(f"{owners} accounts are the owner's, whom the folder belongs to; there is one")
    if faults:
        raise InputError(f"The backup's {DATABASE_FILE} has accounts that do not work; nothing was changed:", faults)


def _trail_faults(engine: Engine, staged: Path, manifest: BackupManifest) -> list[str]:
    rows, found = verify_chain(engine, staged / HEAD_FILE)
    faults = [str(fault).replace(f"{staged}/", "") for fault in found]
    with read_session(engine) as session:
        head = trail_head(session)
    if ChainLink(manifest.audit_rows, manifest.audit_head) != head:
        faults.append(f"it has {rows} rows and does not end with the row that the manifest names")
    return faults
