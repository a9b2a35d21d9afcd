"""Releases: approved items frozen as a benchmark that opens with the usual tools, under a name and a version."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlmodel import Session, col, select

import evaluation.vqa as vqa
from assets import text as asset_text
from db import new_id, record_event
from db.tables import Item, Release, ReleaseItem
from evaluation.items import FreeText, KPrim, MultipleChoice, normalise_text
from pipeline.errors import InputError, NotFoundError
from pipeline.people import restore_signature_file
from pipeline.permissions import Permission, needs
from pipeline.release_folder import MANIFEST_FILE, verify_release
from pipeline.review import ItemEntry, list_items
from pipeline.roi_images import require_image
from pipeline.states import move
from pipeline.workspace import Workspace

__all__ = [
    "ANNOTATION_LICENCE",
    "MANIFEST_FILE",
    "PARQUET_FILE",
    "Gate",
    "ReleaseResult",
    "build_release",
    "dataset_card",
    "find_release",
    "list_releases",
    "release_gate",
    "verify_release",
]

ANNOTATION_LICENCE = "CC-BY-4.0"
"""Licence of questions, keys and rubrics unless the release names another."""

PARQUET_FILE = "data/test-00000-of-00001.parquet"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))


@dataclass(frozen=True)
class ReleaseResult:
    """A built release: its row, its folder, and whether it was there before with the same content."""

    release: Release
    path: Path
    existed: bool


@dataclass(frozen=True)
class Gate:
    """What stands between the workspace and a release: items that would go in, and what is wrong."""

    entries: list[ItemEntry]
    problems: list[str]


@needs(Permission.VIEW_RELEASES)
def release_gate(workspace: Workspace) -> Gate:
    """Return the items that a release would hold now, and every reason why one cannot be built.

    Approved items, and those released before, go in; each needs its image as it was selected, a licence and
    a source.
    """
    entries = list_items(workspace, states=("approved", "released"))
    problems: list[str] = []
    if not entries:
        problems.append("no item is approved; review items first")
    checked: set[str] = set()
    for entry in entries:
        roi, slide = entry.roi, entry.slide
        if roi.id in checked:
            continue
        checked.add(roi.id)
        if not slide.licence or not slide.source:
            problems.append(f"slide {slide.name} ({slide.id}) has no licence or no source")
        if slide.withdrawn_at is not None:
            problems.append(f"slide {slide.name} ({slide.id}) is withdrawn")
        try:
            require_image(workspace, roi, slide)
        except InputError as error:
            problems.append(error.message)
    return Gate(entries, problems)


@needs(Permission.BUILD_RELEASES)
def build_release(
    workspace: Workspace,
    *,
    name: str,
    version: str,
    out: Path | None = None,
    annotation_licence: str = ANNOTATION_LICENCE,
    who: str,
) -> ReleaseResult:
    """Freeze all approved items as an unsigned release.

    The folder holds the Parquet file, a dataset card and a manifest with the SHA-256 of each. Building the
    same version with the same content again is allowed and changes nothing; signatures stay beside it.

    Args:
        workspace: whose items.
        name: lower-case letters, digits, dot, dash, underscore.
        version: likewise, such as 1.0.0.
        out: the folder to write; by default releases/NAME/VERSION in the workspace.
        annotation_licence: licence of questions and keys.
        who: the account.

    Raises:
        InputError: the gate is shut, the version or the folder exists with other content.
    """
    for what, value in (("name", name), ("version", version)):
        if not _NAME.fullmatch(value):
            raise InputError(
                f"--{what} {value!r} must begin with a letter or digit and hold only a-z, 0-9, '.', '-' and '_'"
            )
    if not normalise_text(annotation_licence):
        raise InputError("the annotation licence must not be empty")
    gate = release_gate(workspace)
    if gate.problems:
        raise InputError("The release cannot be built; nothing was written", gate.problems)
    target = (out or workspace.releases / name / version).expanduser().absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as staging:
        staged = Path(staging) / "release"
        content_sha256 = _write_files(workspace, gate.entries, staged, name, version, annotation_licence)
        with workspace.writing() as session:
            existing = session.exec(select(Release).where(Release.name == name, Release.version == version)).first()
            if existing is not None and existing.content_sha256 != content_sha256:
                raise InputError(
                    f"Release {name} {version} exists with other content ({existing.path}). "
                    "A version never changes: choose another one."
                )
            folder_existed = _folder_holds(target, content_sha256)
            release = existing or _register(session, gate.entries, name, version, target, content_sha256, who)
            # Moved before the transaction ends: a crash leaves a folder that the next build knows again,
            # never a registered release without its files.
            if not folder_existed:
                if target.exists():
                    target.rmdir()
                shutil.move(str(staged), str(target))
            if release.signed:
                # The folder may be a new one, or a crash may have come between a signature and its copy.
                restore_signature_file(session, release.id, target)
    return ReleaseResult(release, target, existed=existing is not None and folder_existed)


def _folder_holds(target: Path, content_sha256: str) -> bool:
    """Say whether the folder is this very release; anything else in it is refused."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return False
    manifest = target / MANIFEST_FILE
    if manifest.is_file() and hashlib.sha256(manifest.read_bytes()).hexdigest() == content_sha256:
        damaged = verify_release(target)
        if damaged:
            raise InputError(f"{target} is this release but was changed since; nothing was written", damaged)
        return True
    raise InputError(f"{target} exists and holds something else; nothing was written. Choose another --out.")


def _write_files(
    workspace: Workspace,
    entries: Sequence[ItemEntry],
    folder: Path,
    name: str,
    version: str,
    annotation_licence: str,
) -> str:
    (folder / "data").mkdir(parents=True)
    ordered = sorted(entries, key=lambda entry: (entry.roi.organ, entry.seed.id, entry.item.format))
    rows = [_benchmark_row(workspace, entry, annotation_licence) for entry in ordered]
    vqa.write_benchmark(rows, folder / PARQUET_FILE)
    card = dataset_card(ordered, name, version, annotation_licence)
    (folder / "README.md").write_text(card, encoding="utf-8")
    manifest = {
        "name": name,
        "version": version,
        "items": [
            {"item": entry.item.id, "version": entry.version.id, "number": entry.version.number} for entry in ordered
        ],
        "files": [
            {
                "path": path,
                "bytes": (folder / path).stat().st_size,
                "sha256": hashlib.sha256((folder / path).read_bytes()).hexdigest(),
            }
            for path in (PARQUET_FILE, "README.md")
        ],
    }
    data = json.dumps(manifest, indent=2, ensure_ascii=False).encode()
    (folder / MANIFEST_FILE).write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def _benchmark_row(workspace: Workspace, entry: ItemEntry, annotation_licence: str) -> vqa.BenchmarkRow:
    content, roi, slide = entry.content, entry.roi, entry.slide
    choices: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    rubric, points = "", 1
    match content:
        case MultipleChoice():
            answer, choices = content.key_letter, tuple(option.text for option in content.options)
        case KPrim():
            answer = json.dumps(list(content.truth))
            choices = tuple(statement.text for statement in content.statements)
        case FreeText():
            answer, synonyms = content.answer, content.synonyms
            rubric, points = content.rubric, content.points
    return vqa.BenchmarkRow(
        image=require_image(workspace, roi, slide),
        question=content.stem,
        question_type=content.format,
        answer=answer,
        choices=choices,
        synonyms=synonyms,
        scoring_rubric=rubric,
        organ=roi.organ,
        category=entry.seed.category,
        magnification=roi.magnification,
        source=slide.source,
        image_id=f"{roi.organ}_{(roi.image_sha256 or '')[:12]}",
        image_license=slide.licence,
        annotation_license=annotation_licence,
        item_id=entry.item.id,
        item_version_id=entry.version.id,
        points=points,
        slide_id=slide.id,
    )


def dataset_card(entries: Sequence[ItemEntry], name: str, version: str, annotation_licence: str) -> str:
    """Return the card (Markdown with a YAML head) that a release of `entries` has."""
    import jinja2

    size = next((label for limit, label in _SIZES if len(entries) < limit), "n>100K")
    writers = Counter(
        (
            entry.version.provenance.get("model") or f"{entry.version.provenance.get('written_by')} (a person)",
            bool(entry.version.provenance.get("is_language_model", True)),
        )
        for entry in entries
    )
    template = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  (Markdown)
    ).from_string(asset_text("dataset_card.md"))
    return template.render(
        name=name,
        version=version,
        size=size,
        items=len(entries),
        images=len({entry.roi.id for entry in entries}),
        formats=sorted(Counter(entry.item.format for entry in entries).items()),
        organs=sorted(Counter(entry.roi.organ for entry in entries).items()),
        categories=sorted(Counter(entry.seed.category for entry in entries).items()),
        sources=sorted({(entry.slide.source, entry.slide.licence) for entry in entries}),
        writers=sorted(writers.items()),
        annotation_licence=annotation_licence,
        species=sorted({entry.slide.species for entry in entries}),
        stains=sorted({entry.slide.stain for entry in entries}),
    )


def _register(
    session: Session,
    entries: Sequence[ItemEntry],
    name: str,
    version: str,
    target: Path,
    content_sha256: str,
    who: str,
) -> Release:
    release = Release(
        id=new_id("rel"),
        created_by=who,
        name=name,
        version=version,
        path=str(target),
        content_sha256=content_sha256,
        item_count=len(entries),
        image_count=len({entry.roi.id for entry in entries}),
    )
    session.add(release)
    session.flush()
    for entry in entries:
        _pin(session, release, entry, who)
    record_event(
        session,
        who=who,
        action="build",
        row=release,
        new={"name": name, "version": version, "sha256": content_sha256, "items": len(entries)},
    )
    return release


def _pin(session: Session, release: Release, entry: ItemEntry, who: str) -> None:
    item = session.get_one(Item, entry.item.id)
    if item.current_version_id != entry.version.id or item.state not in ("approved", "released"):
        raise InputError(
            f"Item {item.id} was changed while the release was built; build it again. Nothing was registered."
        )
    session.add(
        ReleaseItem(
            id=new_id("rit"),
            created_by=who,
            release_id=release.id,
            item_id=item.id,
            item_version_id=entry.version.id,
        )
    )
    if item.state == "approved":
        move(session, item, "released", who=who, reason=f"release {release.name} {release.version}")


@needs(Permission.VIEW_RELEASES)
def list_releases(workspace: Workspace) -> list[Release]:
    """Return the releases of the workspace, newest first."""
    with workspace.reading() as session:
        return list(session.exec(select(Release).order_by(col(Release.created_at).desc())))


@needs(Permission.VIEW_RELEASES)
def find_release(workspace: Workspace, name: str, version: str) -> Release:
    """Return the release of a name and a version.

    Raises:
        NotFoundError: there is none.
    """
    with workspace.reading() as session:
        found = session.exec(select(Release).where(Release.name == name, Release.version == version)).first()
    if found is None:
        raise NotFoundError(f"There is no release {name} {version} in this workspace.")
    return found
