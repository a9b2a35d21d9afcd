"""The same run over HTTP: a provider's faults become outcomes, images travel, keys and answers stay at home."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from evaluation.models import CallLimits
from tests.evaluation.vqa import drawn, scripted
from tests.evaluation.vqa.conftest import Runner
from tests.wire.stub import Answer, Fault, RawBody, Received, Step, WireStub

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


@pytest.mark.parametrize("step", [Fault(401, f"Incorrect API key provided: {KEY}"), Answer(f"Your key is {KEY}.")])
def test_a_key_that_the_provider_repeats_is_in_no_file(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: Step
) -> None:
    with WireStub(step) as stub:
        monkeypatch.setenv("STUB_BASE_URL", stub.openai_url)
        monkeypatch.setenv("STUB_API_KEY", KEY)
        run("knowing", model="openai-api/stub/some-model", limit=2, limits=CallLimits(max_retries=0))
    logs = list((tmp_path / "run" / "logs").glob("*.eval"))
    assert logs
    # The log is compressed: its bytes say nothing.
    assert not any(KEY in read_eval_log(str(log)).model_dump_json() for log in logs)
    written = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in written)


def test_half_a_surrogate_pair_is_no_crash(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = {"role": "assistant", "content": "PLACE"}
    body = json.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": reply}],
        }
    ).replace("PLACE", "ANSWER: A \\ud800\\u0000")
    with WireStub(RawBody(body)) as stub:
        monkeypatch.setenv("STUB_BASE_URL", stub.openai_url)
        monkeypatch.setenv("STUB_API_KEY", KEY)
        results = run("knowing", model="openai-api/stub/some-model", limit=1, limits=CallLimits(max_retries=0))
    assert results.complete


def test_a_process_whose_watcher_is_gone_asks_no_more(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(received: Received) -> Step:
        time.sleep(0.2)
        return Answer(scripted.knows_all(received.text, None))

    with WireStub(script=slow) as stub:
        monkeypatch.setenv("STUB_BASE_URL", stub.openai_url)
        monkeypatch.setenv("STUB_API_KEY", KEY)
        config = {
            "benchmark": str(release),
            "model": "openai-api/stub/m",
            "judge": "openai-api/stub/m",
            "out": str(tmp_path / "run"),
            "concurrency": 1,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "evaluation.vqa"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"config": config, "workspace": str(tmp_path)}))
        process.stdin.close()
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 1
        assert len(stub.received) <= 10, "those of the item that was being asked"
