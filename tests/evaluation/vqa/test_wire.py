"""The same run over HTTP: a provider's faults become outcomes, images travel, keys and answers stay at home."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from evaluation.models import CallLimits
from tests.evaluation.vqa import drawn, scripted
from tests.evaluation.vqa.conftest import Runner
from tests.wire.stub import Answer, Fault, Received, Step, WireStub

KEY = "sk-never-to-be-seen-0123456789"


def server(received: Received) -> Step:
    if "MCQ 1?" in received.text:
        return Fault(500, f"overloaded, key {KEY}")
    if "KPrim 0?" in received.text:
        return Answer("", stop="filter")
    if "Free text 0?" in received.text:
        return Answer("fatty chan", stop="length")
    return Answer(scripted.knows_all(received.text, None))


@pytest.mark.parametrize("ablation", ["normal", "no-image"])
def test_a_provider_s_faults_are_counted_as_what_they_are(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ablation: str
) -> None:
    with WireStub(script=server) as stub:
        monkeypatch.setenv("STUB_BASE_URL", stub.openai_url)
        monkeypatch.setenv("STUB_API_KEY", KEY)
        results = run(
            "knowing",
            model="openai-api/stub/some-model",
            ablation=ablation,
            rotations=2,
            limits=CallLimits(max_retries=0),
        )
        asked = [received for received in stub.received if "MCQ 3?" in received.text]
    assert results.outcomes["mcq"].model_dump() == {"scored": 8, "unparsed": 0, "refused": 0, "failed": 2}
    assert results.outcomes["kprim"].refused == 4
    assert results.outcomes["free_text"].model_dump() == {"scored": 2, "unparsed": 1, "refused": 0, "failed": 0}
    assert results.metrics["mcq"].model_dump(include={"mean", "n"}) == {"mean": 1.0, "n": 4}
    assert results.metrics["kprim"].mean == pytest.approx(3 / 4)
    assert results.metrics["free_text"].mean == pytest.approx(2 / 3)
    assert not results.complete
    assert results.provenance.model_is_language_model
    assert results.provenance.parameters_sent[0]["temperature"] == 0
    own_image = base64.b64encode(drawn.png(3)).decode()
    assert len(asked) == 2
    assert all((own_image in received.raw) == (ablation == "normal") for received in asked)
    assert all(("data:image" in received.raw) == (ablation == "normal") for received in asked)
    written = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in written)
