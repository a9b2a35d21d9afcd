"""From seed to items (VIPER section 3.2): three formats written, checked without the image, rewritten if guessed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sqlmodel import col, select

from db import new_id
from db.tables import Seed
from evaluation.items import KPrim, KPrimDraft, MultipleChoice, MultipleChoiceDraft
from evaluation.items.generation import (
    InvalidReplyError,
    Repair,
    generation_request,
    kprim_regeneration_request,
    mcq_regeneration_request,
    read_kprim,
    read_mcq,
    read_variants,
)
from evaluation.items.guessing import MAX_REGENERATIONS
from evaluation.items.prompts import PromptLibrary
from evaluation.models import (
    ModelReply,
    ModelRequest,
    check_model,
    close_models,
    is_offline,
    use_workspace,
)
from pipeline.errors import InputError
from pipeline.guessability import Checker, CheckResult, check_version
from pipeline.item_store import (
    StartedSeed,
    derived_id,
    end_generation,
    escalate,
    holder_is_gone,
    load_checked_content,
    provenance_of,
    record_call,
    start_generation,
    store_drafts,
    store_regeneration,
    store_trials,
    this_process,
)
from pipeline.jobs import release_ended_seeds
from pipeline.progress import Progress, silent
from pipeline.steps import ForegroundSteps, Steps
from pipeline.workspace import Workspace

T = TypeVar("T")

_log = logging.getLogger(__name__)

TRIES_PER_CALL = 2
"""A reply that is no valid item is asked for once more with the validation error, then recorded as failed."""


@dataclass(frozen=True)
class ModelChoice:
    """Which model writes and which checks (inspect_ai names)."""

    generator: str
    checker: str


@dataclass(frozen=True)
class SeedResult:
    """What came of one seed: its state and, where it failed, why."""

    seed_id: str
    state: str
    reason: str | None = None


@dataclass
class GenerationReport:
    """What came of a generation run. `offline` names the chosen models that are no language models."""

    results: list[SeedResult] = field(default_factory=list)
    offline: tuple[str, ...] = ()

    @property
    def ready(self) -> int:
        """How many seeds got their items."""
        return sum(result.state == "ready" for result in self.results)


def choose_models(workspace: Workspace, *, generator: str | None, checker: str | None) -> ModelChoice:
    """Return the models to use, the settings' where none is given, after checking that they can be called.

    Raises:
        evaluation.models.ModelConfigurationError: a model is unknown, or its key or package is missing.
    """
    choice = ModelChoice(
        generator=generator or workspace.settings.generator, checker=checker or workspace.settings.checker
    )
    use_workspace(workspace.root)
    for name in dict.fromkeys((choice.generator, choice.checker)):
        check_model(name)
    return choice


def pending_seeds(workspace: Workspace) -> list[str]:
    """Return the ids of seeds that wait for items: written, failed, or left behind by a lost process or job."""
    release_ended_seeds(workspace, who=workspace.owner().name)
    query = (
        select(Seed)
        .where(col(Seed.state).in_(("written", "failed", "generating")), col(Seed.withdrawn_at).is_(None))
        .order_by(col(Seed.created_at), col(Seed.id))
    )
    with workspace.reading() as session:
        return [seed.id for seed in session.exec(query) if seed.state != "generating" or holder_is_gone(seed.held_by)]


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

    async def run() -> None:
        steps = ForegroundSteps(workspace.settings.model_concurrency)
        room = asyncio.Semaphore(2 * workspace.settings.model_concurrency)

        async def one(seed_id: str) -> None:
            async with room:
                result = await develop_seed(
                    workspace,
                    seed_id,
                    models=models,
                    generation_id=new_id("gen"),
                    holder=this_process(),
                    steps=steps,
                    who=who,
                )
            report.results.append(result)
            progress(len(report.results), len(ids), f"{seed_id} {result.state}")

        try:
            await asyncio.gather(*(one(seed_id) for seed_id in ids))
        finally:
            await close_models()

    asyncio.run(run())
    return report


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
        _log.exception("generation of seed %s", seed_id)
        failed_because = f"the program failed: {type(error).__name__}: {error}"
    state = await steps.write(end_generation, workspace, seed_id, failed_because=failed_because, who=who)
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
    writer = _Writer(workspace, started, models, generation_id, steps, who)
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
        who=who,
    )
    for item_format in ("mcq", "kprim"):
        await writer.check_and_rewrite(ids[item_format])
    return None


class _Writer:
    """The calls and writes of one seed's generation, numbered in their order."""

    def __init__(
        self,
        workspace: Workspace,
        started: StartedSeed,
        models: ModelChoice,
        generation_id: str,
        steps: Steps,
        who: str,
    ) -> None:
        self.workspace = workspace
        self.context = started.context
        self.image = (workspace.root / started.image_path).read_bytes()
        self.models = models
        self.generation_id = generation_id
        self.steps = steps
        self.who = who
        self.prompts = PromptLibrary(prompt_folder(workspace))
        self.checker = Checker(models.checker, self.prompts, started.context.organ, started.context.audience)
        self._calls = 0

    async def ask(
        self, purpose: str, build: Callable[[Repair | None], ModelRequest], read: Callable[[str], T]
    ) -> tuple[T, ModelReply] | str:
        """Call the writing model, once more with the error if the reply is not valid.

        Returns:
            what was read and the reply it stands in, or why there is nothing.
        """
        repair: Repair | None = None
        why = ""
        for _ in range(TRIES_PER_CALL):
            reply = await self.steps.call(build(repair))
            value: T | None = None
            error: str | None = None
            if reply.outcome == "answered":
                try:
                    value = read(reply.text)
                except InvalidReplyError as invalid:
                    error = str(invalid)
            self._calls += 1
            await self.steps.write(
                record_call,
                self.workspace,
                seed_id=self.context.seed_id,
                generation_id=self.generation_id,
                number=self._calls,
                purpose=purpose,
                reply=reply,
                error=error,
                who=self.who,
            )
            if value is not None:
                return value, reply
            why = _why_not(reply, error)
            if reply.outcome in ("failed", "refused"):
                break
            repair = Repair(reply_text=reply.text, error=error or why)
        return f"{purpose}: {why}"

    async def check_and_rewrite(self, item_id: str) -> None:
        """Check an item without the image; rewrite it up to three times while it is guessed, then escalate."""
        version_number = 1
        for round_number in range(MAX_REGENERATIONS + 1):
            version_id = derived_id("ver", item_id, version_number)
            content = await self.steps.write(load_checked_content, self.workspace, version_id)
            check = await check_version(
                content,
                version_id=version_id,
                checker=self.checker,
                steps=self.steps,
                who=self.who,
            )
            await self.steps.write(
                store_trials,
                self.workspace,
                version_id=version_id,
                trials=check.trials,
                verdict=check.verdict,
                reason=check.reason,
                who=self.who,
            )
            if check.verdict != "guessable":
                return
            if round_number == MAX_REGENERATIONS:
                reason = f"guessed without the image after {MAX_REGENERATIONS} regenerations"
                await self.steps.write(escalate, self.workspace, item_id=item_id, reason=reason, who=self.who)
                return
            if not await self._rewrite(item_id, content, check, round_number + 1):
                return
            version_number += 1

    async def _rewrite(self, item_id: str, content: MultipleChoice | KPrim, check: CheckResult, attempt: int) -> bool:
        def build(repair: Repair | None) -> ModelRequest:
            return self._regeneration(content, check, attempt, repair)

        written: tuple[MultipleChoiceDraft | KPrimDraft, ModelReply] | str
        if isinstance(content, MultipleChoice):
            written = await self.ask("regenerate", build, read_mcq)
        else:
            written = await self.ask("regenerate", build, read_kprim)
        if isinstance(written, str):
            await self.steps.write(escalate, self.workspace, item_id=item_id, reason=written, who=self.who)
            return False
        draft, reply = written
        await self.steps.write(
            store_regeneration,
            self.workspace,
            item_id=item_id,
            draft=draft,
            order_key=f"{item_id}/{attempt}",
            provenance=provenance_of(reply, attempt=attempt),
            reason=check.reason or "",
            who=self.who,
        )
        return True

    def _regeneration(
        self, content: MultipleChoice | KPrim, check: CheckResult, attempt: int, repair: Repair | None
    ) -> ModelRequest:
        if isinstance(content, MultipleChoice):
            return mcq_regeneration_request(
                self.context,
                content,
                check.reasonings,
                attempt=attempt,
                model=self.models.generator,
                image_png=self.image,
                prompts=self.prompts,
                max_tokens=self.workspace.settings.max_output_tokens,
                repair=repair,
            )
        return kprim_regeneration_request(
            self.context,
            content,
            n_correct=max(check.correct),
            guessed=check.guessed,
            reasonings=check.reasonings,
            attempt=attempt,
            model=self.models.generator,
            image_png=self.image,
            prompts=self.prompts,
            max_tokens=self.workspace.settings.max_output_tokens,
            repair=repair,
        )


def _why_not(reply: ModelReply, error: str | None) -> str:
    if reply.outcome == "answered":
        return f"the reply is no valid item: {error}"
    if reply.outcome == "truncated":
        return "the reply was cut at the token limit; raise max_output_tokens"
    what = "was refused" if reply.outcome == "refused" else "failed"
    return f"the call {what}: {reply.error or reply.text[:200]}"


def prompt_folder(workspace: Workspace) -> Path | None:
    """Return the folder of the workspace's own prompts, or None where it uses those that ship."""
    folder = workspace.settings.prompts
    if folder is None:
        return None
    return folder if folder.is_absolute() else workspace.root / folder
