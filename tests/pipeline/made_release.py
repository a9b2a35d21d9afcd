"""A small release made by hand, where building a real one would take longer than what is tested."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from db import new_id
from db.tables import Release
from pipeline.release_folder import MANIFEST_FILE
from pipeline.workspace import Workspace


def put_release(workspace: Workspace, files: Mapping[str, bytes]) -> Release:
    """Write `liver` 1.0.0 with these files and the manifest that names them, and register it."""
    folder = workspace.releases / "liver" / "1.0.0"
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    listed = [
        {"path": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()
    ]
    manifest = json.dumps({"name": "liver", "version": "1.0.0", "files": listed}).encode()
    (folder / MANIFEST_FILE).write_bytes(manifest)
    row = Release(
        id=new_id("rel"),
        created_by="root",
        name="liver",
        version="1.0.0",
        path=str(folder),
        content_sha256=hashlib.sha256(manifest).hexdigest(),
        item_count=1,
        image_count=1,
    )
    with workspace.writing() as session:
        session.add(row)
    return row
