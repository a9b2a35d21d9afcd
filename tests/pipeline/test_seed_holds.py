"""What an interrupted generation leaves behind, and who may take its seed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter

import pytest

from db.tables import Item
from pipeline import seed_writer
from pipeline.review import approve_passed, decide, edit_item, list_items
from pipeline.seed_holds import end_generation, holder_is_gone, process_hold, start_generation
from pipeline.seeds import list_seeds
from pipeline.variants import choose_models, generate_items, pending_seeds
from pipeline.workspace import Workspace

HOLDER_PROCESS = """
import sys, time
from pathlib import Path
from pipeline.seed_holds import process_hold, start_generation
from pipeline.workspace import open_workspace

workspace = open_workspace(Path(sys.argv[1]))
with process_hold(workspace) as holder:
    start_generation(workspace, sys.argv[2], "gen_lost", holder, "test")
    print(holder, flush=True)
    time.sleep(60)
"""


def first_seed(workspace: Workspace) -> str:
    return list_seeds(workspace)[0].seed.id


def generate(workspace: Workspace, *seed_ids: str) -> list[str]:
    models = choose_models(workspace, generator=None, checker=None)
    report = generate_items(workspace, models=models, seed_ids=seed_ids or None, who="test")
    return [result.state for result in report.results]


def live_formats(workspace: Workspace, seed_id: str) -> Counter[str]:
    return Counter(entry.item.format for entry in list_items(workspace) if entry.seed.id == seed_id)


class _Killed(BaseException):
    """Ends a generation as a kill does: no `except Exception` sees it."""


def interrupt_after_drafts(workspace: Workspace, seed_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Generate a seed and die after its items are stored, before any of them is checked."""

    async def dies(*_: object, **__: object) -> None:
        raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr(seed_writer.SeedWriter, "check_and_rewrite", dies)
        with pytest.raises(_Killed):
            generate(workspace, seed_id)


def test_a_killed_process_holds_nothing_a_living_one_does(with_seeds: Workspace) -> None:
    seed_id = first_seed(with_seeds)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER_PROCESS, str(with_seeds.root), seed_id], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    holder = process.stdout.readline().strip()
    assert not holder_is_gone(with_seeds, holder)
    assert seed_id not in pending_seeds(with_seeds)
    assert generate(with_seeds, seed_id) == ["skipped"]
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert holder_is_gone(with_seeds, holder), "whatever the machine is called now"
    assert seed_id in pending_seeds(with_seeds)
    assert generate(with_seeds, seed_id) == ["ready"]
    assert live_formats(with_seeds, seed_id) == {"mcq": 1, "kprim": 1, "free_text": 1}


def test_a_hold_ends_with_its_block_and_an_ended_job_holds_none(with_seeds: Workspace) -> None:
    first, second = (entry.seed.id for entry in list_seeds(with_seeds)[:2])
    with process_hold(with_seeds) as holder:
        start_generation(with_seeds, first, "gen_a", holder, "test")
        start_generation(with_seeds, second, "gen_b", "job:1234", "test")
        waiting = pending_seeds(with_seeds)
        assert first not in waiting
        assert second in waiting, "no queue knows the job"
    assert first in pending_seeds(with_seeds)


def test_an_interrupted_generation_leaves_no_second_item_of_a_format(
    with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_id = first_seed(with_seeds)
    interrupt_after_drafts(with_seeds, seed_id, monkeypatch)
    assert {e.item.format: e.item.state for e in list_items(with_seeds)}["free_text"] == "passed"
    assert approve_passed(with_seeds, as_user="test") == [], "its seed is not ready"
    assert generate(with_seeds, seed_id) == ["ready"]
    assert live_formats(with_seeds, seed_id) == {"mcq": 1, "kprim": 1, "free_text": 1}
    withdrawn = list_items(with_seeds, states=("withdrawn",))
    assert {entry.item.reason for entry in withdrawn} == {"its generation was interrupted"}
    assert len(withdrawn) == 3, "nothing is deleted"


def test_what_a_person_approved_meanwhile_stays_and_is_not_written_twice(
    with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_id = first_seed(with_seeds)
    interrupt_after_drafts(with_seeds, seed_id, monkeypatch)
    free_text = next(e.item for e in list_items(with_seeds, item_format="free_text"))
    decide(with_seeds, free_text.id, "approve", who="test")
    assert generate(with_seeds, seed_id) == ["ready"]
    assert live_formats(with_seeds, seed_id) == {"mcq": 1, "kprim": 1, "free_text": 1}
    assert next(e.item for e in list_items(with_seeds, item_format="free_text")).id == free_text.id


def test_a_failed_generation_leaves_no_item(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object, **__: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(seed_writer.SeedWriter, "check_and_rewrite", fails)
    assert generate(with_seeds, first_seed(with_seeds)) == ["failed"]
    assert list_items(with_seeds) == []
    assert [e.item.reason for e in list_items(with_seeds, states=("withdrawn",))] == ["its generation failed"] * 3


def test_items_of_an_earlier_generation_of_a_ready_seed_stay(with_seeds: Workspace) -> None:
    seed_id = first_seed(with_seeds)
    generate(with_seeds, seed_id)
    start_generation(with_seeds, seed_id, "gen_second", "job:1", "test")
    end_generation(with_seeds, seed_id, generation_id="gen_second", failed_because="no reply", who="test")
    assert live_formats(with_seeds, seed_id) == {"mcq": 1, "kprim": 1, "free_text": 1}


def test_a_lost_image_is_read_again_and_a_changed_one_is_named(with_seeds: Workspace) -> None:
    first, second = list_seeds(with_seeds)[:2]
    image = with_seeds.root / (first.roi.image_path or "")
    before = image.read_bytes()
    image.unlink()
    changed = with_seeds.root / (second.roi.image_path or "")
    changed.write_bytes(b"something else")
    models = choose_models(with_seeds, generator=None, checker=None)
    report = generate_items(with_seeds, models=models, seed_ids=[first.seed.id, second.seed.id], who="test")
    results = {result.seed_id: result for result in report.results}
    assert results[first.seed.id].state == "ready"
    assert image.read_bytes() == before
    assert results[second.seed.id].state == "skipped"
    assert second.roi.id in (results[second.seed.id].reason or "")
    assert next(e.seed.state for e in list_seeds(with_seeds) if e.seed.id == second.seed.id) == "written"


def test_an_edit_whose_check_is_lost_goes_to_a_person(with_seeds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    generate(with_seeds, first_seed(with_seeds))
    entry = next(e for e in list_items(with_seeds) if e.item.format == "mcq")
    content = entry.content.model_copy(update={"stem": "Which of these changes does the image show?"})

    def state() -> str:
        with with_seeds.reading() as session:
            return session.get_one(Item, entry.item.id).state

    def breaks(*_: object, **__: object) -> None:
        raise RuntimeError("the checker's client broke")

    monkeypatch.setattr("pipeline.review.check_stored_version", breaks)
    with pytest.raises(RuntimeError):
        edit_item(with_seeds, entry.item.id, content, who="test")
    assert state() == "escalated"

    # Killed in the middle of its check: the item stays in `checking`, and nobody holds it.
    monkeypatch.setattr("pipeline.review._check_edit", lambda _, item, *__: item)
    edit_item(with_seeds, entry.item.id, content.model_copy(update={"stem": "Which change is it then?"}), who="test")
    assert state() == "checking"
    pending_seeds(with_seeds)
    assert state() == "escalated"


def test_an_edit_whose_check_still_runs_is_left_to_it(with_seeds: Workspace) -> None:
    generate(with_seeds, first_seed(with_seeds))
    item = next(e.item for e in list_items(with_seeds) if e.item.format == "mcq")
    with with_seeds.writing() as session:
        session.get_one(Item, item.id).state = "checking"
    with process_hold(with_seeds, item.id):
        pending_seeds(with_seeds)
        with with_seeds.reading() as session:
            assert session.get_one(Item, item.id).state == "checking"
