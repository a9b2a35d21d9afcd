"""The inspect_ai provider behind `offline/…`: reads a question's fields and lets one of the built-in models answer."""

from __future__ import annotations

from typing import Any

from inspect_ai.model import ChatMessage, ChatMessageUser, GenerateConfig, ModelAPI, ModelCall, ModelOutput, StopReason
from inspect_ai.tool import ToolChoice, ToolInfo
from pydantic import BaseModel, ValidationError

from evaluation.models._calls import CallPurpose
from evaluation.models._errors import ModelConfigurationError
from evaluation.models._facts import GenerationFacts, JudgeFacts, QuestionFacts
from evaluation.models._offline._author import write_items
from evaluation.models._offline._baselines import answer_at_random, answer_first
from evaluation.models._offline._findings import UnwritableSeedError
from evaluation.models._offline._synonyms import judge
from evaluation.models._offline._test_wise import answer_test_wise

_KINDS: dict[str, type[BaseModel]] = {
    "author": GenerationFacts,
    "test-wise": QuestionFacts,
    "random": QuestionFacts,
    "first": QuestionFacts,
    "synonyms": JudgeFacts,
}
"""The built-in models, and the kind of question that each can answer."""


class OfflineFactsError(ValueError):
    """A built-in model was asked something without the fields that it reads, or of another kind."""


class OfflineAPI(ModelAPI):
    """Built-in models: no network, no key, no language model; the same question always gets the same answer."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
    ) -> None:
        if model_name not in _KINDS:
            raise ModelConfigurationError(
                f"offline/{model_name}",
                "there is no such built-in model.",
                f"Use one of: {', '.join('offline/' + name for name in _KINDS)}.",
            )
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],  # noqa: ARG002 (the interface's parameters)
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,
    ) -> tuple[ModelOutput, ModelCall]:
        """Answer the last user message from its `facts`."""
        facts, purpose = self._question(input)
        stop_reason: StopReason = "stop"
        try:
            text = self._answer(facts, purpose, config.seed)
        except UnwritableSeedError as error:
            # To decline is a refusal like a language model's, so that the reason is recorded with the seed.
            text, stop_reason = f"I write no item from this seed: {error}", "content_filter"
        output = ModelOutput.from_content(model=f"offline/{self.model_name}", content=text, stop_reason=stop_reason)
        request: dict[str, Any] = {"model": self.model_name}
        if config.seed is not None:
            request["seed"] = config.seed
        return output, ModelCall.create(request, {"content": text})

    def _question(self, chat: list[ChatMessage]) -> tuple[BaseModel, CallPurpose]:
        message = next((entry for entry in reversed(chat) if isinstance(entry, ChatMessageUser)), None)
        metadata = (message.metadata if message is not None else None) or {}
        if "facts" not in metadata:
            raise OfflineFactsError(
                f"offline/{self.model_name} reads no prose; give the question's fields as the message's "
                "metadata['facts']."
            )
        try:
            facts = _KINDS[self.model_name].model_validate(metadata["facts"])
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            raise OfflineFactsError(
                f"offline/{self.model_name} cannot answer this kind of question: "
                f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}. Choose another model."
            ) from None
        return facts, metadata.get("purpose", "answer")

    def _answer(self, facts: BaseModel, purpose: CallPurpose, seed: int | None) -> str:
        if isinstance(facts, GenerationFacts):
            return write_items(facts)
        if isinstance(facts, JudgeFacts):
            return judge(facts)
        assert isinstance(facts, QuestionFacts)  # noqa: S101 (_KINDS holds three kinds)
        if self.model_name == "test-wise":
            return answer_test_wise(facts, purpose, seed)
        return answer_first(facts, purpose) if self.model_name == "first" else answer_at_random(facts, purpose, seed)
