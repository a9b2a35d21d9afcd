"""A workspace: one folder with the database, images, features, releases and runs of a project."""

from __future__ import annotations

import getpass
import logging
import os
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, NoSuchModuleError
from sqlmodel import Session, col, select

from db import (
    SchemaError,
    UnstorableTextError,
    connect,
    holds_nothing,
    migrate,
    new_id,
    read_session,
    write_session,
)
from db.audit import HEAD_FILE, START, UNREADABLE, begin_head, trail_head
from db.tables import Account
from pipeline.errors import InputError
from pipeline.location import follow_move
from pipeline.permissions import Actor, Role
from pipeline.settings import SETTINGS_FILE, Settings

DATABASE_FILE = "histocurator.db"
QUEUE_FILE = "queue.sqlite"
DRAFTS = "drafts"
WORKSPACE_VARIABLE = "HISTOCURATOR_WORKSPACE"

_FOLDERS = ("slides", "rois", "thumbnails", "features", "releases", "runs", "logs", "cache", "copies")

_SETTINGS_TEMPLATE = """\
# Settings of this workspace. A line that begins with # is a default; take the # away to change it.
# An environment variable (HISTOCURATOR_ and the name in capitals) wins over this file, a flag over both.
# Keys of model providers do not belong here: set the provider's own environment variable.

# species = "rat"
# stain = "H&E"
# audience = "veterinary pathology students and residents"
# generator = "offline/author"      # or "openai/NAME", "anthropic/NAME", "openai-api/SERVER/NAME", ...
# checker = "offline/test-wise"
# judge = "offline/synonyms"
# prompts = "prompts"               # a folder whose prompt files replace those that ship
# encoder = "colour-texture"
# model_concurrency = 8
# max_output_tokens = 4096
# max_image_pixels = 100000000
# max_text_length = 4000
# max_upload_mb = 200

# Slides (docs/slides-and-rois.md)
# organs_file = "organs.json"       # organ systems and structures in place of those that ship
# hide_dose_group = false           # true keeps dose groups from authors and reviewers
# control_dose_groups = ["control", "vehicle", "vehicle control", "untreated", "0"]

# People (docs/people.md)
# slide_folders = ["/data/slides"]  # where others than administrators may add slides from
# public_url = "https://histocurator.example.org"   # the address people open, behind a proxy
# trusted_proxies = ["10.0.0.2"]    # whose X-Forwarded-For is believed
# session_idle_minutes = 120
# session_hours = 12
# invitation_days = 7
# oidc_secrets = "/etc/histocurator/oidc.toml"      # an [auth] section as Streamlit reads it
# oidc_name = "single sign-on"
# oidc_role_claim = "groups"
# oidc_roles = { "pathologists" = "author", "readers" = "reader" }

# What is kept of people, for how long ('histocurator retention' shows all of it)
# keep_sessions_days = 90
# keep_invitations_days = 90
# keep_drafts_days = 180
"""

_log = logging.getLogger(__name__)


def operating_system_user() -> str:
    """Return the name of the person that this process runs as."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


@dataclass(frozen=True)
class Workspace:
    """An open workspace. `root` is absolute; `migrated_copy` is the copy made before a schema change.

    `actor` is whose permissions count: who made the workspace, until `acting_as` says otherwise. `around` is what else
    belongs into each writing transaction, before and after its changes.
    """

    root: Path
    settings: Settings
    engine: Engine
    actor: Actor
    migrated_copy: Path | None = None
    around: Callable[[Session], AbstractContextManager[None]] | None = None

    def acting_as(self, actor: Actor) -> Workspace:
        """Return this workspace as another person may use it."""
        return replace(self, actor=actor)

    @property
    def slides(self) -> Path:
        """Thumbnails and tissue masks of slides; the slide files themselves stay where they are."""
        return self.root / "slides"

    @property
    def rois(self) -> Path:
        """PNGs of selected ROIs."""
        return self.root / "rois"

    @property
    def thumbnails(self) -> Path:
        """Small pictures of candidates."""
        return self.root / "thumbnails"

    @property
    def features(self) -> Path:
        """Embeddings, one HDF5 file per organ and encoder."""
        return self.root / "features"

    @property
    def releases(self) -> Path:
        """Where releases are built unless a folder is given."""
        return self.root / "releases"

    @property
    def runs(self) -> Path:
        """Where evaluations started in the app are written."""
        return self.root / "runs"

    @property
    def cache(self) -> Path:
        """Caches and logs of the model library."""
        return self.root / "cache"

    @property
    def log_file(self) -> Path:
        """The rotating log."""
        return self.root / "logs" / "histocurator.log"

    @property
    def audit_head(self) -> Path:
        """Where the head of the audit trail is noted outside the database."""
        return self.root / HEAD_FILE

    @property
    def queue_url(self) -> str:
        """Where the job queue lives: beside the SQLite file, or in the PostgreSQL that replaces it."""
        if self.settings.database_url and not self.settings.database_url.startswith("sqlite"):
            return self.settings.database_url
        return f"sqlite:///{self.root / QUEUE_FILE}"

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a session for reading; a text that no database holds is an InputError."""
        with _readable(), read_session(self.engine) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Open one writing transaction; a text that no database holds is an InputError."""
        roles = ", ".join(role.value for role in Role if role in self.actor.roles)
        with (
            _readable(),
            write_session(self.engine, who=self.actor.name, roles=roles, head_file=self.audit_head) as session,
            self.around(session) if self.around is not None else nullcontext(),
        ):
            yield session

    def owner(self) -> Account:
        """Return the account of the person who made the workspace."""
        with self.reading() as session:
            return session.exec(select(Account).where(col(Account.operating_system_owner))).one()

    def is_operating_system_owner(self) -> bool:
        """Say whether this process runs as the person whom the workspace's folder belongs to."""
        return self.root.stat().st_uid == os.geteuid()


def create_workspace(root: Path, *, beside: Collection[str] = ()) -> Workspace:
    """Make a workspace in an empty or new folder, or finish one whose making was interrupted.

    Args:
        root: its folder.
        beside: names of what may lie there already.

    Raises:
        InputError: the folder holds other things, is a workspace already, or cannot be written to.
    """
    root = root.expanduser().absolute()
    if (root / SETTINGS_FILE).exists():
        raise InputError(f"{root} is a workspace already; open it with --workspace {root}")
    own = {
        *_FOLDERS,
        HEAD_FILE,
        DATABASE_FILE,
        *(DATABASE_FILE + ending for ending in ("-wal", "-shm", "-journal")),
        *beside,
    }
    if root.exists() and (not root.is_dir() or any(path.name not in own for path in root.iterdir())):
        raise InputError(f"{root} is not an empty folder; choose a new folder, nothing was changed")
    _make_folders(root)
    workspace = _open(root, Settings.load(root))
    _begin_trail(workspace)
    # Last, since it is what makes the folder a workspace: until it is there, the next try goes on.
    write_atomically(root / SETTINGS_FILE, _SETTINGS_TEMPLATE.encode())
    return workspace


def _begin_trail(workspace: Workspace) -> None:
    """Note that the trail of a new workspace is empty; the head of a database that holds rows is not made up."""
    with workspace.reading() as session:
        if trail_head(session) == START:
            begin_head(workspace.audit_head, START)


def _make_folders(root: Path) -> None:
    try:
        # For its maker alone, if it is new: the database holds password hashes, and the folder a key.
        root.mkdir(parents=True, mode=0o700, exist_ok=True)
        for folder in _FOLDERS:
            (root / folder).mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{root} cannot be used as a workspace: {error}") from None


def find_workspace(given: Path | None) -> Path:
    """Return the workspace folder: the one given, else the one in HISTOCURATOR_WORKSPACE.

    Raises:
        InputError: none is named.
    """
    if given is not None:
        return given
    named = os.environ.get(WORKSPACE_VARIABLE)
    if not named:
        raise InputError(
            f"No workspace is named. Give --workspace DIR or set {WORKSPACE_VARIABLE}; "
            "'histocurator init DIR' makes one."
        )
    return Path(named)


def open_workspace(root: Path, **flags: Any) -> Workspace:
    """Open a workspace, bring its schema up to date, and return it.

    Args:
        root: its folder.
        flags: settings that win over file and environment; None does not count.

    Raises:
        InputError: no workspace there, wrong settings, or a database that cannot be used.
    """
    root = root.expanduser().absolute()
    if not (root / SETTINGS_FILE).is_file():
        raise InputError(f"{root} is no workspace: it has no {SETTINGS_FILE}. 'histocurator init {root}' makes one.")
    settings = Settings.load(root, **flags)
    database = root / DATABASE_FILE
    if settings.database_url is None and not (database.is_file() and database.stat().st_size):
        raise InputError(
            f"The database {database} is missing or empty. Restore it from a copy of the workspace, or name the "
            "database that replaces it (HISTOCURATOR_DATABASE_URL)."
        )
    if settings.database_url is not None:
        _require_filled(root, settings.database_url)
    _make_folders(root)
    return _open(root, settings)


def _require_filled(root: Path, url: str) -> None:
    """Refuse a database that is empty, and leave it so: a workspace that was made has at least its owner in it."""
    engine = _connect(url)
    try:
        empty = _is_missing(engine) or holds_nothing(engine)
    except DatabaseError as error:
        raise InputError(f"The database of {root} cannot be opened: {error.orig}") from None
    finally:
        engine.dispose()
    if empty:
        raise InputError(
            f"The database {engine.url.render_as_string(hide_password=True)} is empty: it is not the one that {root} "
            "belongs to. Set HISTOCURATOR_DATABASE_URL (or database_url in its settings) to that one, or unset it if "
            "the workspace has its own file. Nothing was changed."
        )


def _is_missing(engine: Engine) -> bool:
    """Say whether an engine's SQLite file is not there; asking it would make one."""
    file = engine.url.database
    return engine.dialect.name == "sqlite" and (file is None or not Path(file).is_file())


def _open(root: Path, settings: Settings) -> Workspace:
    engine = _connect(settings.database_url or f"sqlite:///{root / DATABASE_FILE}")
    try:
        copy = migrate(engine, copies=root / "copies", head_file=root / HEAD_FILE)
    except SchemaError as error:
        raise InputError(str(error)) from None
    except DatabaseError as error:
        raise InputError(f"The database of {root} cannot be opened: {error.orig}") from None
    if copy is not None:
        _log.warning("The schema was brought up to date; a copy of the old database is %s", copy)
    try:
        owner = _ensure_owner(engine)
        roles = frozenset(Role(role) for role in owner.roles)
    except UNREADABLE as error:
        what = error.orig if isinstance(error, DBAPIError) else error
        raise InputError(f"The owner's account in the database of {root} cannot be read or written: {what}") from None
    actor = Actor(owner.name, roles, account_id=owner.id, display_name=owner.display_name)
    workspace = Workspace(root=root, settings=settings, engine=engine, actor=actor, migrated_copy=copy)
    follow_move(workspace, who=owner.name)
    return workspace


def _ensure_owner(engine: Engine) -> Account:
    """Return the owner's account; the person who opens a database without one is entered as that."""
    owner = select(Account).where(col(Account.operating_system_owner))
    with read_session(engine) as session:
        found = session.exec(owner).first()
    if found is not None:
        return found
    name = operating_system_user()
    with write_session(engine) as session:
        found = session.exec(owner).first()
        if found is None:
            found = Account(
                id=new_id("acc"),
                created_by=name,
                name=name,
                display_name=name,
                roles=[Role.ADMIN.value],
                operating_system_owner=True,
            )
            session.add(found)
        return found


def _connect(url: str) -> Engine:
    try:
        return connect(url)
    except (ArgumentError, NoSuchModuleError, ImportError, ValueError):
        # The URL may hold a password: it is not repeated.
        raise InputError(
            "The database URL (setting database_url, HISTOCURATOR_DATABASE_URL) is none that can be used. Write "
            "postgresql://USER@HOST/NAME or sqlite:////PATH/TO/FILE, or leave it away for the workspace's own file."
        ) from None


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except UnstorableTextError as error:
        raise InputError(
            f"A text holds the character {error.character}, which cannot be stored: take it out and try again"
        ) from None


def write_atomically(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write a file so that a reader, or a crash, sees the old or the new one and nothing between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
