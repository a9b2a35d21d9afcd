"""The inspect_ai task of a run: a sample is an item; its rotations, statements and judge are calls inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from evaluation.vqa._asking import Asker
from evaluation.vqa._rows import BenchmarkRow
from evaluation.vqa._scoring import ItemScore

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.scorer import Scorer
    from inspect_ai.solver import Solver

OnItem = Callable[[ItemScore], None]
"""Called when an item's calls are done, for progress."""


def build_task(items: Sequence[BenchmarkRow], asker: Asker, on_item: OnItem) -> Task:
    """Return the task over `items`; samples carry image ids, never image bytes."""
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample

    samples = [
        Sample(
            id=item.identity(),
            input=item.question,
            target=item.answer,
            choices=list(item.choices) or None,
            metadata={
                "format": item.question_type,
                "organ": item.organ,
                "category": item.category,
                "image_id": item.image_id,
                "item_version_id": item.item_version_id,
            },
        )
        for item in items
    ]
    by_id = {item.identity(): item for item in items}
    return Task(
        name="vqa",
        dataset=MemoryDataset(samples, name="vqa"),
        solver=_ask_items(by_id, asker, on_item),
        scorer=_item_score(by_id, asker),
    )


def _ask_items(items: dict[str, BenchmarkRow], asker: Asker, on_item: OnItem) -> Solver:
    from inspect_ai.solver import Generate, TaskState, solver

    @solver(name="ask_item")
    def ask_item() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 (inspect's signature)
            on_item(await asker.ask(items[str(state.sample_id)]))
            return state

        return solve

    return ask_item()


def _item_score(items: dict[str, BenchmarkRow], asker: Asker) -> Scorer:
    from inspect_ai.scorer import Score, Target, grouped, mean, scorer
    from inspect_ai.solver import TaskState

    @scorer(metrics=[grouped(mean(), "format", all=False)], name="item_score")
    def item_score() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (inspect's signature)
            found = asker.score(items[str(state.sample_id)])
            explanation = f"answers: {', '.join(found.outcomes)}"
            if found.score is None:
                return Score.unscored(reason="failed", explanation=explanation)
            return Score(value=found.score, explanation=explanation)

        return score

    return item_score()
