"""Asks a model for the three variants of a seed and for their regenerations, and reads what it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from evaluation.items._categories import Category
from evaluation.items._content import (
    FreeText,
    FreeTextDraft,
    ItemFormat,
    KPrim,
    KPrimDraft,
    MultipleChoice,
    MultipleChoiceDraft,
    VariantsDraft,
)
from evaluation.items._replies import InvalidReplyError, read_document
from evaluation.items.prompts import PromptLibrary
from evaluation.models import CallPurpose, GenerationFacts, ModelRequest

__all__ = [
    "MAX_TOKENS",
    "InvalidReplyError",
    "Repair",
    "SeedContext",
    "generation_request",
    "kprim_regeneration_request",
    "mcq_regeneration_request",
    "read_free_text",
    "read_kprim",
    "read_mcq",
    "read_variants",
    "rejection_request",
]

MAX_TOKENS = 4096
"""Tokens that a generation call may write: three items with their explanations take about 1,500."""

MAX_REPEATED_REPLY = 4_000
"""Characters of an invalid reply that the repair prompt repeats."""

_MCQ_FORM = (
    '{"stem": "…?", "correct_answer": "…", "correct_explanation": "why it is right", '
    '"distractors": [exactly 4 of {"text": "…", "explanation": "why it is wrong but plausible"}]}'
)
_KPRIM_FORM = (
    '{"stem": "…?", "statements": [exactly 4 of '
    '{"text": "…", "is_true": true or false, "explanation": "why it is true or false"}]}'
)
_FREE_TEXT_FORM = (
    '{"stem": "…?", "expected_answer": "…", "synonyms": ["…"], '
    '"scoring_rubric": "what earns the points", "max_points": 1 or 2}'
)
_VARIANTS_FORM = f'{{"mcq": {_MCQ_FORM}, "kprim": {_KPRIM_FORM}, "free_text": {_FREE_TEXT_FORM}}}'

_FORMS: dict[ItemFormat, tuple[str, type[BaseModel], str]] = {
    "mcq": (_MCQ_FORM, MultipleChoiceDraft, "multiple-choice"),
    "kprim": (_KPRIM_FORM, KPrimDraft, "KPrim"),
    "free_text": (_FREE_TEXT_FORM, FreeTextDraft, "free-text"),
}


class SeedContext(BaseModel):
    """A pathologist's seed and what is known about its image.

    `is_true` is None where `question` is a question with an `answer`; otherwise `question` is a statement.
    """

    model_config = ConfigDict(frozen=True)

    seed_id: str
    organ: str
    species: str
    stain: str
    source: str
    magnification: str
    audience: str
    question: str
    answer: str
    is_true: bool | None
    category: Category


class Repair(BaseModel):
    """An earlier reply to the same request that could not be used, and what was wrong with it."""

    model_config = ConfigDict(frozen=True)

    reply_text: str
    error: str


def generation_request(
    seed: SeedContext,
    *,
    model: str,
    image_png: bytes | None,
    prompts: PromptLibrary,
    max_tokens: int = MAX_TOKENS,
    repair: Repair | None = None,
) -> ModelRequest:
    """Return the call that asks for all three variants of `seed` (VIPER A.11 items 1 to 3)."""
    return _request(
        purpose="generate",
        system=_system(seed, prompts),
        user=prompts.render("generation_user", schema=_VARIANTS_FORM, **_seed_values(seed)),
        kind=VariantsDraft,
        facts=_facts(seed, formats=("mcq", "kprim", "free_text")),
        model=model,
        image_png=image_png,
        prompts=prompts,
        max_tokens=max_tokens,
        repair=repair,
    )


def mcq_regeneration_request(
    seed: SeedContext,
    failed: MultipleChoice,
    reasonings: Sequence[str],
    *,
    attempt: int,
    model: str,
    image_png: bytes | None,
    prompts: PromptLibrary,
    max_tokens: int = MAX_TOKENS,
    repair: Repair | None = None,
) -> ModelRequest:
    """Return the call that replaces a multiple-choice item that was guessed without its image (A.11 item 8).

    `reasonings` are the checker's reasons in the trials that it got right, `attempt` counts from 1.
    """
    user = prompts.render(
        "regeneration_mcq",
        schema=_MCQ_FORM,
        attempt=attempt,
        failed_stem=failed.stem,
        failed_key=failed.key_option.text,
        failed_distractors=[option.text for option in failed.distractors],
        reasonings=_reasons(reasonings),
        **_seed_values(seed),
    )
    failed_texts = (failed.stem, *(option.text for option in failed.options))
    return _request(
        purpose="regenerate",
        system=_system(seed, prompts),
        user=user,
        kind=MultipleChoiceDraft,
        facts=_facts(seed, formats=("mcq",), attempt=attempt, failed_texts=failed_texts),
        model=model,
        image_png=image_png,
        prompts=prompts,
        max_tokens=max_tokens,
        repair=repair,
    )


def kprim_regeneration_request(
    seed: SeedContext,
    failed: KPrim,
    n_correct: int,
    guessed: tuple[bool, ...],
    reasonings: Sequence[str],
    *,
    attempt: int,
    model: str,
    image_png: bytes | None,
    prompts: PromptLibrary,
    max_tokens: int = MAX_TOKENS,
    repair: Repair | None = None,
) -> ModelRequest:
    """Return the call that replaces a KPrim item that was guessed without its image (A.11 item 9).

    `n_correct` is the number of right judgements (0 to 4) in the checker's best trial, `guessed` says for each
    statement whether that trial judged it rightly, `attempt` counts from 1.

    Raises:
        ValueError: `guessed` has not one value per statement, or does not add up to `n_correct`.
    """
    if len(guessed) != len(failed.statements) or sum(guessed) != n_correct:
        raise ValueError(f"guessed {guessed} does not say which {n_correct} of the statements were judged rightly")
    user = prompts.render(
        "regeneration_kprim",
        schema=_KPRIM_FORM,
        attempt=attempt,
        failed_stem=failed.stem,
        n_correct=n_correct,
        guessed_statements=[
            {"number": place + 1, "is_true": statement.is_true, "text": statement.text}
            for place, statement in enumerate(failed.statements)
            if guessed[place]
        ],
        reasonings=_reasons(reasonings),
        **_seed_values(seed),
    )
    failed_texts = (failed.stem, *(statement.text for statement in failed.statements))
    return _request(
        purpose="regenerate",
        system=_system(seed, prompts),
        user=user,
        kind=KPrimDraft,
        facts=_facts(seed, formats=("kprim",), attempt=attempt, failed_texts=failed_texts),
        model=model,
        image_png=image_png,
        prompts=prompts,
        max_tokens=max_tokens,
        repair=repair,
    )


def rejection_request(
    seed: SeedContext,
    rejected: MultipleChoice | KPrim | FreeText,
    reviewer_note: str,
    others: Sequence[MultipleChoice | KPrim | FreeText],
    *,
    attempt: int,
    model: str,
    image_png: bytes | None,
    prompts: PromptLibrary,
    max_tokens: int = MAX_TOKENS,
    repair: Repair | None = None,
) -> ModelRequest:
    """Return the call that replaces an item that a reviewer rejected (VIPER A.11 items 10 and 11).

    `others` are the image's items in the other formats. The reply is read with the reader of `rejected`'s format.
    """
    form, kind, name = _FORMS[rejected.format]
    values = _seed_values(seed)
    user = prompts.render(
        "regeneration_rejection_user",
        schema=form,
        format_name=name,
        rejected_question=_as_text(rejected),
        reviewer_note=reviewer_note,
        other_questions="\n\n".join(_as_text(item) for item in others) or "There are none.",
        **values,
    )
    return _request(
        purpose="regenerate",
        system=_system(seed, prompts, "regeneration_rejection_system"),
        user=user,
        kind=kind,
        facts=_facts(seed, formats=(rejected.format,), attempt=attempt, failed_texts=_texts(rejected)),
        model=model,
        image_png=image_png,
        prompts=prompts,
        max_tokens=max_tokens,
        repair=repair,
    )


def read_variants(text: str) -> VariantsDraft:
    """Read the three variants from a generator's reply.

    Raises:
        InvalidReplyError: the reply does not hold exactly one valid JSON object of that form.
    """
    return read_document(text, VariantsDraft)


def read_mcq(text: str) -> MultipleChoiceDraft:
    """Read a multiple-choice question from a generator's reply; raises `InvalidReplyError`."""
    return read_document(text, MultipleChoiceDraft)


def read_kprim(text: str) -> KPrimDraft:
    """Read a KPrim question from a generator's reply; raises `InvalidReplyError`."""
    return read_document(text, KPrimDraft)


def read_free_text(text: str) -> FreeTextDraft:
    """Read a free-text question from a generator's reply; raises `InvalidReplyError`."""
    return read_document(text, FreeTextDraft)


def with_repair(user: str, repair: Repair | None, prompts: PromptLibrary) -> str:
    """Return the user prompt, followed by the repair prompt where an earlier reply could not be used."""
    if repair is None:
        return user
    reply = repair.reply_text or "(nothing)"
    return f"{user}\n\n{prompts.render('repair', reply=reply[:MAX_REPEATED_REPLY], error=repair.error)}"


def _request(
    *,
    purpose: CallPurpose,
    system: str,
    user: str,
    kind: type[BaseModel],
    facts: GenerationFacts,
    model: str,
    image_png: bytes | None,
    prompts: PromptLibrary,
    max_tokens: int,
    repair: Repair | None,
) -> ModelRequest:
    return ModelRequest(
        model=model,
        purpose=purpose,
        system=system,
        user=with_repair(user, repair, prompts),
        image_png=image_png,
        facts=facts.model_dump(mode="json"),
        json_schema=kind.model_json_schema(),
        schema_name=kind.__name__.lower(),
        max_tokens=max_tokens,
    )


def _system(seed: SeedContext, prompts: PromptLibrary, name: str = "generation_system") -> str:
    return prompts.render(name, species=seed.species, stain=seed.stain, source=seed.source, audience=seed.audience)


def _seed_values(seed: SeedContext) -> dict[str, Any]:
    return {
        "organ": seed.organ,
        "species": seed.species,
        "stain": seed.stain,
        "source": seed.source,
        "magnification": seed.magnification,
        "question": seed.question,
        "answer": seed.answer,
        "is_true": seed.is_true,
    }


def _facts(
    seed: SeedContext,
    *,
    formats: tuple[ItemFormat, ...],
    attempt: int = 0,
    failed_texts: tuple[str, ...] = (),
) -> GenerationFacts:
    return GenerationFacts(
        seed_id=seed.seed_id,
        organ=seed.organ,
        species=seed.species,
        stain=seed.stain,
        source=seed.source,
        magnification=seed.magnification,
        category=seed.category,
        question=seed.question,
        answer=seed.answer,
        is_true=seed.is_true,
        formats=formats,
        attempt=attempt,
        failed_texts=failed_texts,
    )


def _reasons(reasonings: Sequence[str]) -> list[str]:
    return [reason for reason in reasonings if reason.strip()] or ["The reader gave no reason."]


def _texts(item: MultipleChoice | KPrim | FreeText) -> tuple[str, ...]:
    if isinstance(item, MultipleChoice):
        return (item.stem, *(option.text for option in item.options))
    if isinstance(item, KPrim):
        return (item.stem, *(statement.text for statement in item.statements))
    return (item.stem, item.answer)


def _as_text(item: MultipleChoice | KPrim | FreeText) -> str:
    lines = [item.stem]
    if isinstance(item, MultipleChoice):
        lines += [
            f"{'ABCDE'[place]}. {option.text}{' (right answer)' if place == item.key else ''}"
            for place, option in enumerate(item.options)
        ]
    elif isinstance(item, KPrim):
        lines += [f"{statement.text} ({'true' if statement.is_true else 'false'})" for statement in item.statements]
    else:
        lines += [f"Expected answer: {item.answer}", f"Marking scheme: {item.rubric}"]
    return "\n".join(lines)
