"""The model calls of an item: what the model under test is asked, and what the judge is."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from evaluation.items import OPTION_LETTERS, ItemFormat
from evaluation.models import JudgeFacts, ModelRequest, QuestionFacts
from evaluation.vqa._config import KprimMode, VqaConfig
from evaluation.vqa._images import ShownImage
from evaluation.vqa._rows import BenchmarkRow
from evaluation.vqa._scoring import JUDGE_SCALE, rotated

if TYPE_CHECKING:
    from evaluation.items.prompts import PromptLibrary

JUDGE_MAX_TOKENS = 2048


def prompt_names(formats: Collection[ItemFormat], kprim_mode: KprimMode) -> list[str]:
    """Return the names of the prompts that a run over `formats` uses."""
    names = []
    if "mcq" in formats:
        names.append("answer_mcq")
    if "kprim" in formats:
        names.append(f"answer_kprim_{kprim_mode}")
    if "free_text" in formats:
        names += ["answer_free_text", "judge_system", "judge_user", "repair"]
    return names


class Requests:
    """Builds the calls of a run with one set of prompts; the model under test gets no answer key."""

    def __init__(self, config: VqaConfig, prompts: PromptLibrary) -> None:
        self._config = config
        self._prompts = prompts

    def check(self, items: Iterable[BenchmarkRow]) -> None:
        """Render every prompt once for each format, so that a faulty one is found before any call.

        Raises:
            PromptError: a template is faulty or asks for a variable that is not given.
        """
        for item in {item.question_type: item for item in items}.values():
            self.answer(item, 0, None)
            if item.question_type == "free_text":
                self.judge(item, "a reply", ("an invalid verdict", "a reason"))

    def answer(self, item: BenchmarkRow, part: int, image: ShownImage | None) -> ModelRequest:
        """Return the call of a rotation (mcq), of one statement or all four (kprim), or of a free text."""
        if item.question_type == "mcq":
            shown = [item.choices[index] for index in rotated(len(item.choices), part)]
            user = self._prompts.render(
                "answer_mcq", stem=item.question, options=list(zip(OPTION_LETTERS, shown, strict=True))
            )
            return self._request(item, user, image, choices=tuple(shown))
        if item.question_type == "kprim" and self._config.kprim_mode == "statement":
            statement = item.choices[part]
            user = self._prompts.render("answer_kprim_statement", stem=item.question, statement=statement)
            return self._request(item, user, image, statement=statement)
        if item.question_type == "kprim":
            user = self._prompts.render(
                "answer_kprim_joint", stem=item.question, statements=list(enumerate(item.choices, start=1))
            )
            return self._request(item, user, image, choices=item.choices)
        user = self._prompts.render("answer_free_text", stem=item.question)
        return self._request(item, user, image)

    def judge(self, item: BenchmarkRow, reply: str, earlier: tuple[str, str] | None) -> ModelRequest:
        """Return the call that marks `reply`; `earlier` is the judge's invalid reply and its fault."""
        user = self._prompts.render(
            "judge_user",
            stem=item.question,
            answer=item.answer,
            synonyms=item.synonyms,
            rubric=item.scoring_rubric,
            reply=reply,
        )
        if earlier is not None:
            user += "\n\n" + self._prompts.render("repair", reply=earlier[0], error=earlier[1])
        facts = JudgeFacts(
            stem=item.question,
            answer=item.answer,
            synonyms=item.synonyms,
            rubric=item.scoring_rubric,
            reply=reply,
        )
        return ModelRequest(
            model=self._config.judge,
            purpose="judge",
            system=self._prompts.render("judge_system", scale=JUDGE_SCALE),
            user=user,
            facts=facts.model_dump(),
            temperature=self._config.temperature,
            max_tokens=JUDGE_MAX_TOKENS,
            seed=self._config.seed,
        )

    def _request(
        self,
        item: BenchmarkRow,
        user: str,
        image: ShownImage | None,
        *,
        choices: tuple[str, ...] = (),
        statement: str | None = None,
    ) -> ModelRequest:
        facts = QuestionFacts(
            format=item.question_type,
            stem=item.question,
            choices=choices,
            organ=item.organ,
            statement=statement,
        )
        return ModelRequest(
            model=self._config.model,
            purpose="answer",
            system="",
            user=user,
            image_png=image.png if image is not None else None,
            facts=facts.model_dump(),
            temperature=self._config.temperature,
            max_tokens=self._config.max_tokens,
            seed=self._config.seed,
        )
