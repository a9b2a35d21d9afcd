"""The tables of a workspace: from slide to released item, each row with its maker, times and version.

Rows are never deleted: what should go is withdrawn with a reason. JSON columns hold documents that the layers
above validate before they write and parse after they read.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from db._ids import new_pseudonym
from db._time import UtcDateTime, utc_now


class Row(SQLModel):
    """What every row carries. `row_version` grows by one with every change and shows a concurrent edit."""

    id: str = Field(primary_key=True)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    changed_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    created_by: str
    row_version: int = 1
    withdrawn_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    withdrawn_reason: str | None = None


class Account(Row, table=True):
    """Who works here; a closed account is a withdrawn row.

    `name` signs in and stands in the audit trail for ever, so it never changes; `display_name` and the identity of
    a single sign-on may be erased. `pseudonym` stands for the person in exports. `operating_system_owner` marks the
    person who made the workspace. Without `password_hash` and identity, nobody can sign in as this account.
    """

    __table_args__ = (
        UniqueConstraint("identity_issuer", "identity_subject", name="uq_account_identity"),
        UniqueConstraint("pseudonym", name="uq_account_pseudonym"),
    )

    name: str = Field(unique=True)
    display_name: str
    pseudonym: str = Field(default_factory=new_pseudonym)
    roles: list[str] = Field(default_factory=list, sa_type=JSON)
    operating_system_owner: bool = False
    password_hash: str | None = None
    password_changed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    identity_issuer: str | None = None
    identity_subject: str | None = None


class Invitation(Row, table=True):
    """A link that works once: makes an account with these roles, or sets a new password for `account_id`.

    Only the SHA-256 of the link's token is kept.
    """

    token_sha256: str = Field(unique=True)
    account_id: str | None = Field(default=None, foreign_key="account.id")
    roles: list[str] = Field(default_factory=list, sa_type=JSON)
    display_name: str = ""
    expires_at: datetime = Field(sa_type=UtcDateTime)
    used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    used_by: str | None = None


class AccountSession(SQLModel, table=True):
    """One signed-in browser; only the SHA-256 of the cookie's secret is kept."""

    __tablename__ = "account_session"

    id: str = Field(primary_key=True)
    secret_sha256: str = Field(unique=True)
    account_id: str = Field(foreign_key="account.id", index=True)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    last_seen_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    ended_because: str | None = None
    address: str = ""
    browser: str = ""


class SignInThrottle(SQLModel, table=True):
    """Failed attempts of one account or address since `since`; `key` is a hash, so that no name is kept."""

    __tablename__ = "sign_in_throttle"

    key: str = Field(primary_key=True)
    failures: int = 0
    since: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)


class Signature(Row, table=True):
    """A person's signature under a frozen object: what it meant and the hash of what was signed."""

    __table_args__ = (Index("ix_signature_object", "object_type", "object_id"),)

    object_type: str
    object_id: str
    content_sha256: str
    meaning: str
    account_id: str = Field(foreign_key="account.id")
    role: str


class Lease(SQLModel, table=True):
    """Who works on a ROI or an item until when: the queues give others another one. It locks nothing.

    The row goes when the person leaves the object; one that has run out counts for nothing.
    """

    object_id: str = Field(primary_key=True)
    account_id: str = Field(foreign_key="account.id")
    until: datetime = Field(sa_type=UtcDateTime)


class Act(SQLModel, table=True):
    """A change that a browser asked for under this id, and what came of it: asked again, it is not made again.

    It stands in the transaction of its change; `object_id` and `row_version` are what the change left.
    """

    account_id: str = Field(primary_key=True, foreign_key="account.id")
    id: str = Field(primary_key=True)
    at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    object_id: str
    row_version: int


class Slide(Row, table=True):
    """A whole-slide image, or a single image that was imported as one ROI (`kind` is `slide` or `image`).

    `width` and `height` are level-0 pixels, `mpp` micrometres per level-0 pixel (none for an image whose
    resolution nobody knows). `path` is where the file lies; `content_sha256` knows it again under another name.
    `age` is a person's or an animal's with its unit ("13 weeks"); `sacrifice` is scheduled, unscheduled or not known;
    `reader` names the library that reads the file.
    """

    __table_args__ = (UniqueConstraint("content_sha256", name="uq_slide_content"),)

    kind: str = "slide"
    name: str
    path: str
    content_sha256: str
    width: int
    height: int
    mpp: float | None = None
    mpp_source: str = "file"
    level_count: int = 1
    vendor: str | None = None
    objective_power: float | None = None
    organ: str = Field(index=True)
    source: str
    licence: str
    species: str
    stain: str
    institution: str | None = None
    study: str | None = None
    tissue_share: float | None = None
    organ_system: str | None = None
    structure: str | None = None
    strain: str | None = None
    sex: str | None = None
    age: str | None = None
    subject: str | None = None
    dose_group: str | None = None
    sacrifice: str | None = None
    scanner: str | None = None
    reader: str = "openslide"


class Binning(Row, table=True):
    """One clustering of an organ's candidates.

    `sizes` lists the number of candidates per bin, `quotas` how many shall be picked of each (empty: nobody has said),
    `silhouettes` each bin's mean silhouette, -1 to 1. `normalisation` names the stain normalisation before the encoder.
    """

    organ: str = Field(index=True)
    encoder: str
    encoder_version: str
    seed: int
    bins: int
    sizes: list[int] = Field(default_factory=list, sa_type=JSON)
    normalisation: str = "none"
    quotas: list[int] = Field(default_factory=list, sa_type=JSON)
    silhouettes: list[float | None] = Field(default_factory=list, sa_type=JSON)
    current: bool = True


class Roi(Row, table=True):
    """A sampled field of view: a candidate until someone selects or rejects it.

    `x`, `y` are level-0 pixels of the top-left corner, `size` the side in output pixels, `mpp` micrometres per
    output pixel. `bin_distance` is the distance to the bin's centre (smaller is more typical), `map_x` and `map_y` the
    place on the binning's two-dimensional map, 0 to 1. `flags` holds the measured artefacts by name. The PNG
    (`image_path`, relative to the workspace) is written when the ROI is selected.
    """

    __table_args__ = (
        UniqueConstraint("slide_id", "x", "y", "size", "mpp", name="uq_roi_place"),
        Index("ix_roi_organ_state", "organ", "state"),
    )

    slide_id: str = Field(foreign_key="slide.id", index=True)
    organ: str
    x: int
    y: int
    size: int
    mpp: float | None = None
    magnification: str
    tissue_share: float | None = None
    state: str = "candidate"
    draw: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    binning_id: str | None = Field(default=None, foreign_key="binning.id")
    bin: int | None = None
    bin_distance: float | None = None
    map_x: float | None = None
    map_y: float | None = None
    flags: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    thumbnail_path: str | None = None
    image_path: str | None = None
    image_sha256: str | None = None


class Seed(Row, table=True):
    """A pathologist's question, answer and category for one ROI. `is_true` is set for a statement.

    `held_by` names the job or the process that is generating its items, so that no other one does.
    """

    roi_id: str = Field(foreign_key="roi.id", index=True)
    question: str
    answer: str
    is_true: bool | None = None
    category: str
    author: str
    notes: str = ""
    state: str = "written"
    reason: str | None = None
    held_by: str | None = None


class Item(Row, table=True):
    """One of a seed's three formats; its text lives in its versions."""

    seed_id: str = Field(foreign_key="seed.id", index=True)
    generation_id: str = Field(index=True)
    format: str
    state: str = Field(default="drafted", index=True)
    current_version_id: str | None = None
    reason: str | None = None


class ItemVersion(Row, table=True):
    """One text of an item (`content`, an evaluation.items document) and where it came from.

    `provenance` holds model, prompt hash, parameters, tokens and cost; `parent_id` and `reason` say what it
    replaced and why. `guess_verdict` is `guessable`, `passed`, `incomplete` or none (not checked).
    """

    __table_args__ = (UniqueConstraint("item_id", "number", name="uq_version_number"),)

    item_id: str = Field(foreign_key="item.id", index=True)
    number: int
    content: dict[str, Any] = Field(sa_type=JSON)
    provenance: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    parent_id: str | None = Field(default=None, foreign_key="itemversion.id")
    reason: str | None = None
    guess_verdict: str | None = None


class ModelCall(Row, table=True):
    """One call to a writing model for a seed: what came back, valid or not, is kept as it came."""

    seed_id: str = Field(foreign_key="seed.id", index=True)
    generation_id: str = Field(index=True)
    purpose: str
    outcome: str
    reply: str = ""
    error: str | None = None
    provenance: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)


class GuessTrial(Row, table=True):
    """One image-free answer of the checker to one version.

    `choice_order[i]` is the stored index of the option shown at place i. `answer` holds stored indices (MCQ)
    or truth values (KPrim); `correct_count` counts right options (0 or 1) or statements (0 to 4).
    """

    __table_args__ = (UniqueConstraint("item_version_id", "trial", name="uq_guess_trial"),)

    item_version_id: str = Field(foreign_key="itemversion.id", index=True)
    trial: int
    outcome: str
    choice_order: list[int] = Field(default_factory=list, sa_type=JSON)
    answer: list[Any] = Field(default_factory=list, sa_type=JSON)
    correct_count: int | None = None
    confidence: str | None = None
    reasoning: str = ""
    reply: str = ""
    error: str | None = None
    provenance: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)


class ReviewDecision(Row, table=True):
    """A person's decision on one version: approve, revise, reject or undo. `recorded_by` says how it came in."""

    item_id: str = Field(foreign_key="item.id", index=True)
    item_version_id: str = Field(foreign_key="itemversion.id")
    decision: str
    state_before: str
    note: str = ""
    recorded_by: str


class Release(Row, table=True):
    """A frozen set of item versions under a name and version; `content_sha256` is that of its manifest."""

    __table_args__ = (UniqueConstraint("name", "version", name="uq_release_version"),)

    name: str
    version: str
    path: str
    content_sha256: str
    item_count: int
    image_count: int
    signed: bool = False


class ReleaseItem(Row, table=True):
    """Which version of which item a release holds."""

    __table_args__ = (UniqueConstraint("release_id", "item_id", name="uq_release_item"),)

    release_id: str = Field(foreign_key="release.id", index=True)
    item_id: str = Field(foreign_key="item.id")
    item_version_id: str = Field(foreign_key="itemversion.id")


class Run(Row, table=True):
    """An evaluation run: a folder that is registered here, not copied."""

    path: str = Field(unique=True)
    benchmark: str
    benchmark_sha256: str
    model: str
    ablation: str
    complete: bool
    summary: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)


class AuditEvent(SQLModel, table=True):
    """One change: who, in which roles, when, what, from what to what, and why. Rows are only ever added.

    `sequence` counts from 1 without a gap; `sha256` covers the row and `previous_sha256`, the hash of the row before.
    """

    __tablename__ = "audit_event"

    sequence: int = Field(primary_key=True)
    at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    who: str = Field(index=True)
    role: str = ""
    action: str
    object_type: str
    object_id: str = Field(index=True)
    old: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    new: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    reason: str | None = None
    previous_sha256: str
    sha256: str
