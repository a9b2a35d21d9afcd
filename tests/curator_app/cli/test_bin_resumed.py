"""`rois bin` that is killed and run again, and on a Dask cluster: the features and the bins are those of one run."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import pytest

from pipeline.rois import list_rois
from pipeline.sampling import sample_candidates
from pipeline.workspace import Workspace, open_workspace

pytestmark = pytest.mark.sqlite("files of embeddings, which lie beside any database")

CANDIDATES = 160
WAIT_S = 240


def _bin(root: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "curator_app", "rois", "bin", "--organ=liver", "--bins=4", f"--workspace={root}"]
    return subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _stored(root: Path) -> int:
    """Return how many vectors the files hold; one that is being written counts as empty."""
    found = 0
    for path in root.glob("features/*/*.h5"):
        try:
            with h5py.File(path, "r", locking=False) as file:
                found += len(file["features"])
        except (OSError, KeyError, RuntimeError):
            continue
    return found


def _features(root: Path) -> dict[str, dict[bytes, bytes]]:
    """Return the vector of each place of each file."""
    found: dict[str, dict[bytes, bytes]] = {}
    for path in root.glob("features/*/*.h5"):
        with h5py.File(path, "r") as file:
            pairs = zip(file["coords"][:], file["features"][:], strict=True)
            found[path.name] = {place.tobytes(): vector.tobytes() for place, vector in pairs}
    return found


def _bins(root: Path) -> dict[str, int | None]:
    workspace = open_workspace(root)
    bins = {roi.id: roi.bin for roi, _ in list_rois(workspace, states=("candidate",))}
    workspace.engine.dispose()
    return bins


def test_killed_and_resumed_and_on_a_cluster_the_features_are_equal(with_slides: Workspace, tmp_path: Path) -> None:
    sample_candidates(
        with_slides, organ="liver", count=CANDIDATES, size=128, min_tissue=0.2, max_overlap=0.9, who="test"
    )
    with_slides.engine.dispose()
    roots = [tmp_path / name for name in ("undisturbed", "killed", "cluster")]
    for root in roots:
        shutil.copytree(with_slides.root, root)
    undisturbed, killed, cluster = roots

    assert _bin(undisturbed).wait(WAIT_S) == 0
    total = _stored(undisturbed)
    assert total == CANDIDATES

    process = _bin(killed)
    end = time.monotonic() + WAIT_S
    while _stored(killed) == 0:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait(WAIT_S)
    before = _stored(killed)
    assert 0 < before < total, "killed in the middle"
    assert set(_bins(killed).values()) == {None}
    assert _bin(killed).wait(WAIT_S) == 0
    assert _bin(cluster, "--scheduler=local").wait(WAIT_S) == 0

    for root in (killed, cluster):
        assert _features(root) == _features(undisturbed)
        assert _bins(root) == _bins(undisturbed)
