"""Embedding an organ's candidates: once each, by name, with stain normalisation, here or on a Dask cluster."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from distributed import LocalCluster
from numpy.typing import NDArray

from evaluation.encoders import EncoderError
from evaluation.stains import StainError
from pipeline.bins import bin_candidates
from pipeline.embedding import candidates_of, embed_candidates, embed_organ, stored_features
from pipeline.encoders import known_encoders, load_encoder
from pipeline.errors import InputError
from pipeline.health import check_workspace
from pipeline.sampling import sample_candidates
from pipeline.similar import more_like
from pipeline.workspace import Workspace


@pytest.fixture
def drawn(with_slides: Workspace) -> Workspace:
    sample_candidates(with_slides, organ="liver", count=6, size=128, who="test")
    return with_slides


def features(workspace: Workspace, **how: str | None) -> NDArray[np.float32]:
    encoder = load_encoder(workspace, "colour-texture")
    return embed_candidates(workspace, rows=candidates_of(workspace, "liver"), encoder=encoder, **how)  # type: ignore[arg-type]


def test_candidates_are_embedded_once_and_again_where_a_file_is_gone(drawn: Workspace) -> None:
    seen: list[tuple[int, int]] = []
    first = embed_organ(drawn, organ="liver", progress=lambda done, total, _slide: seen.append((done, total)))
    assert (first.candidates, first.embedded, first.blank) == (6, 6, 0)
    assert seen[-1] == (6, 6)
    whole = features(drawn)
    assert embed_organ(drawn, organ="liver").embedded == 0
    lost = sorted(drawn.features.glob("colour-texture-1-none/*.h5"))[0]
    lost.unlink()
    assert 0 < embed_organ(drawn, organ="liver").embedded < 6
    np.testing.assert_array_equal(features(drawn), whole)


def test_rows_come_in_the_order_that_they_are_asked_for(drawn: Workspace) -> None:
    rows = candidates_of(drawn, "liver")
    encoder = load_encoder(drawn, "colour-texture")
    backwards = embed_candidates(drawn, rows=rows[::-1], encoder=encoder)
    np.testing.assert_array_equal(backwards, embed_candidates(drawn, rows=rows, encoder=encoder)[::-1])


def test_a_normalisation_has_vectors_of_its_own_and_bins_remember_it(drawn: Workspace) -> None:
    assert not np.array_equal(features(drawn), features(drawn, normalisation="reinhard"))
    binning = bin_candidates(drawn, organ="liver", bins=2, normalisation="reinhard", who="test")
    assert binning.normalisation == "reinhard"
    rows, stored = stored_features(drawn, rows=candidates_of(drawn, "liver"), binning=binning)
    assert rows == candidates_of(drawn, "liver")
    np.testing.assert_array_equal(stored, features(drawn, normalisation="reinhard"))
    assert len(more_like(drawn, rows[0][0].id, organ="liver")) == 5


def test_bins_whose_vectors_are_gone_say_what_to_do(drawn: Workspace) -> None:
    bin_candidates(drawn, organ="liver", bins=2, who="test")
    for path in drawn.features.rglob("*.h5"):
        path.unlink()
    with pytest.raises(InputError, match="make its bins again"):
        more_like(drawn, candidates_of(drawn, "liver")[0][0].id, organ="liver")


def test_on_a_cluster_of_two_processes_the_vectors_are_equal(drawn: Workspace, tmp_path: Path) -> None:
    expected = features(drawn)
    for path in drawn.features.rglob("*.h5"):
        path.unlink()
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        scheduler = cluster.scheduler_address
        np.testing.assert_array_equal(features(drawn, scheduler=scheduler), expected)
        assert embed_organ(drawn, organ="liver", scheduler=scheduler).embedded == 0
        slide = candidates_of(drawn, "liver")[0][1]
        Path(slide.path).rename(tmp_path / "away.tiff")
        with pytest.raises(InputError, match="what was finished is kept") as caught:
            embed_organ(drawn, organ="liver", normalisation="reinhard", scheduler=scheduler)
        assert slide.name in str(caught.value)
        assert "there is no such file" in str(caught.value)
        Path(tmp_path / "away.tiff").rename(slide.path)
        assert embed_organ(drawn, organ="liver", normalisation="reinhard").embedded == sum(
            one.id == slide.id for _, one in candidates_of(drawn, "liver")
        )


def test_a_scheduler_that_is_none_or_does_not_answer_is_said(drawn: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    import dask

    with pytest.raises(InputError, match="there is no scheduler 'moon'"):
        embed_organ(drawn, organ="liver", scheduler="moon")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "100ms"}),
        pytest.raises(InputError, match="does not answer"),
    ):
        embed_organ(drawn, organ="liver", scheduler="tcp://127.0.0.1:1")
    with pytest.raises(InputError, match="SLURM's jobs are not described"):
        embed_organ(drawn, organ="liver", scheduler="slurm")
    monkeypatch.setattr("pipeline.cluster.find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"needs distributed: pip install -e '\.\[cluster\]'"):
        embed_organ(drawn, organ="liver", scheduler="local")


def test_what_cannot_be_used_is_said_before_anything_is_made(drawn: Workspace) -> None:
    for how, error, message in (
        ({"encoder": "resnet"}, EncoderError, "there is no encoder"),
        ({"normalisation": "vahadane"}, StainError, "choose one of none, macenko, reinhard"),
        ({"checkpoint": Path("x.pt")}, EncoderError, "brings its own weights"),
        ({"organ": "spleen"}, InputError, "no candidates of spleen"),
    ):
        with pytest.raises(error, match=message):
            embed_organ(drawn, **{"organ": "liver", **how})  # type: ignore[arg-type]
    assert list(drawn.features.rglob("*.h5")) == []


def test_the_doctor_names_damaged_and_old_files_of_embeddings(drawn: Workspace) -> None:
    def found(*, deep: bool = False) -> tuple[str, str]:
        finding = next(one for one in check_workspace(drawn, deep=deep) if one.what == "embeddings")
        return finding.state, finding.found

    features(drawn)
    assert found(deep=True) == ("ok", "2 files, read whole")
    path = sorted(drawn.features.rglob("*.h5"))[0]
    path.write_bytes(path.read_bytes()[:-100])
    (drawn.features / "liver-colour-texture-1.h5").write_bytes(b"of a former version")
    state, said = found()
    assert state == "broken"
    assert said.startswith("2 of 3 cannot be used: ")
    assert path.name in said


def test_settings_name_checkpoints(drawn: Workspace, tmp_path: Path) -> None:
    drawn.settings.encoder_checkpoints["uni"] = tmp_path / "uni.bin"
    known = {encoder.name: encoder for encoder in known_encoders(drawn)}
    assert known["colour-texture"].available
    assert known["uni"].weights == str(tmp_path / "uni.bin")
    assert not known["virchow2"].available
