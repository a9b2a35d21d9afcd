"""From seed to items (VIPER section 3.2): three formats written, checked without the image, rewritten if guessed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlmodel import col, select

from db import new_id
from db.tables import Seed
from evaluation.items.generation import generation_request, read_variants
from evaluation.models import is_offline, run_models
from pipeline.errors import InputError
from pipeline.item_store import provenance_of, store_drafts
from pipeline.jobs import release_ended_seeds
from pipeline.model_choice import ModelChoice, choose_models, prompt_folder
from pipeline.permissions import Permission, needs
from pipeline.progress import Progress, silent
from pipeline.seed_holds import (
    StartedSeed,
    end_generation,
    escalate_lost_checks,
    holder_is_gone,
    process_hold,
    start_generation,
)
from pipeline.seed_writer import SeedWriter
from pipeline.steps import ForegroundSteps, Steps
from pipeline.troubles import trouble_of
from pipeline.workspace import Workspace

__all__ = [
    "GenerationReport",
    "ModelChoice",
    "SeedResult",
    "choose_models",
    "develop_seed",
    "generate_items",
    "pending_seeds",
    "prompt_folder",
]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SeedResult:
    """What came of one seed: its state and, where it failed, why."""

    seed_id: str
    state: str
    reason: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the seed has no items."""
        return self.state != "ready"


@dataclass
class GenerationReport:
    """What came of a generation run. `offline` names the chosen models that are no language models."""

    results: list[SeedResult] = field(default_factory=list)
    offline: tuple[str, ...] = ()

    @property
    def ready(self) -> int:
        """How many seeds got their items."""
        return sum(result.state == "ready" for result in self.results)


@needs(Permission.VIEW_SEEDS)
def pending_seeds(workspace: Workspace) -> list[str]:
    """Return the ids of seeds that wait for items: written, failed, or left behind by a lost process or job."""
    who = workspace.owner().name
    release_ended_seeds(workspace, who=who)
    escalate_lost_checks(workspace, who=who)
    query = (
        select(Seed)
        .where(col(Seed.state).in_(("written", "failed", "generating")), col(Seed.withdrawn_at).is_(None))
        .order_by(col(Seed.created_at), col(Seed.id))
    )
    with workspace.reading() as session:
        return [
            seed.id
            for seed in session.exec(query)
            if seed.state != "generating" or holder_is_gone(workspace, seed.held_by)
        ]


@needs(Permission.GENERATE_ITEMS)
def generate_items(
    workspace: Workspace,
    *,
    models: ModelChoice,
    seed_ids: Sequence[str] | None = None,
    who: str,
    progress: Progress = silent,
) -> GenerationReport:
    """Write and check the items of seeds in this process.

    Args:
        workspace: where.
        models: from `choose_models`.
        seed_ids: which seeds; None takes all that wait.
        who: the account.
        progress: told after each seed.
    """
    ids = list(seed_ids) if seed_ids is not None else pending_seeds(workspace)
    report = GenerationReport(
        offline=tuple(name for name in dict.fromkeys((models.generator, models.checker)) if is_offline(name))
    )

    async def run(holder: str) -> None:
        steps = ForegroundSteps(workspace.settings.model_concurrency)
        room = asyncio.Semaphore(2 * workspace.settings.model_concurrency)

        async def one(seed_id: str) -> None:
            async with room:
                result = await develop_seed(
                    workspace,
                    seed_id,
                    models=models,
                    generation_id=new_id("gen"),
                    holder=holder,
                    steps=steps,
                    who=who,
                )
            report.results.append(result)
            progress(len(report.results), len(ids), f"{seed_id} {result.state}")

        await asyncio.gather(*(one(seed_id) for seed_id in ids))

    with process_hold(workspace) as holder:
        run_models(run(holder))
    return report


@needs(Permission.GENERATE_ITEMS)
async def develop_seed(
    workspace: Workspace,
    seed_id: str,
    *,
    models: ModelChoice,
    generation_id: str,
    holder: str,
    steps: Steps,
    who: str,
) -> SeedResult:
    """Take one seed from its question to three checked items.

    A fault of the program fails this seed with its reason, and no other one. The order of calls and writes
    depends on nothing but the seed and the replies, so that a durable job can repeat it from its record.
    """
    try:
        started = await steps.write(start_generation, workspace, seed_id, generation_id, holder, who)
    except InputError as error:
        return SeedResult(seed_id, "skipped", error.message)
    failed_because: str | None
    try:
        failed_because = await _write_and_check(workspace, started, models, generation_id, steps, who)
    except Exception as error:
        # A full disk or a lost database is no failure of this seed: whoever runs the steps goes on later.
        if (trouble := trouble_of(error)) is not None and trouble.kind != "files":
            raise
        _log.exception("generation of seed %s", seed_id)
        # What a database said alone: the whole message holds the statement.
        failed_because = f"the program failed: {type(error).__name__}: {getattr(error, 'orig', None) or error}"
    state = await steps.write(
        end_generation, workspace, seed_id, generation_id=generation_id, failed_because=failed_because, who=who
    )
    return SeedResult(seed_id, state, failed_because)


async def _write_and_check(
    workspace: Workspace,
    started: StartedSeed,
    models: ModelChoice,
    generation_id: str,
    steps: Steps,
    who: str,
) -> str | None:
    """Write a started seed's items and check them; returns why there are none."""
    writer = SeedWriter(workspace, started, models, generation_id, steps, who)
    written = await writer.ask(
        "generate",
        lambda repair: generation_request(
            started.context,
            model=models.generator,
            image_png=writer.image,
            prompts=writer.prompts,
            max_tokens=workspace.settings.max_output_tokens,
            repair=repair,
        ),
        read_variants,
    )
    if isinstance(written, str):
        return written
    draft, reply = written
    ids = await steps.write(
        store_drafts,
        workspace,
        seed_id=started.context.seed_id,
        generation_id=generation_id,
        draft=draft,
        provenance=provenance_of(reply, attempt=0),
        kept=started.kept,
        who=who,
    )
    for item_format in ("mcq", "kprim"):
        if item_format in ids:
            await writer.check_and_rewrite(ids[item_format])
    return None
