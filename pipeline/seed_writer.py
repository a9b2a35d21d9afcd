"""One seed's conversation with the models: replies asked for once more if invalid, items checked and rewritten."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from evaluation.items import KPrim, KPrimDraft, MultipleChoice, MultipleChoiceDraft
from evaluation.items.generation import (
    InvalidReplyError,
    Repair,
    kprim_regeneration_request,
    mcq_regeneration_request,
    read_kprim,
    read_mcq,
)
from evaluation.items.guessing import MAX_REGENERATIONS
from evaluation.items.prompts import PromptLibrary
from evaluation.models import ModelReply, ModelRequest
from pipeline.guessability import Checker, CheckResult, check_version
from pipeline.item_store import (
    derived_id,
    escalate,
    load_checked_content,
    provenance_of,
    record_call,
    store_regeneration,
    store_trials,
)
from pipeline.model_choice import ModelChoice, prompt_folder
from pipeline.seed_holds import StartedSeed
from pipeline.steps import Steps
from pipeline.stored_files import picture_file
from pipeline.workspace import Workspace

T = TypeVar("T")

TRIES_PER_CALL = 2
"""A reply that is no valid item is asked for once more with the validation error, then recorded as failed."""


class SeedWriter:
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
        self.image = picture_file(workspace.root, started.image_path).read_bytes()
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
