"""A provider whose models do what a test tells them to, through inspect_ai's own machinery."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

Script = Callable[[str, "bytes | None"], "str | ModelOutput"]
"""From the prompt's text and the image to a reply; what it raises fails the call."""

SCRIPTS: dict[str, Script] = {}
CALLS: list[str] = []


@modelapi(name="scripted")
class Scripted(ModelAPI):
    """Answers with the script of its model name."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Note the prompt and give the scripted reply."""
        text = "\n".join(message.text for message in input)
        CALLS.append(text)
        reply = SCRIPTS[self.model_name](text, _image(input[-1]))
        if isinstance(reply, ModelOutput):
            return reply
        return ModelOutput.from_content("scripted", reply)


def _image(message: ChatMessage) -> bytes | None:
    parts: list[Any] = message.content if isinstance(message.content, list) else []
    uris = [part.image for part in parts if part.type == "image"]
    return base64.b64decode(uris[0].partition(",")[2]) if uris else None


def always_first(text: str, image: bytes | None) -> str:
    """Always A, always true, always the same words."""
    if "Statement:" in text:
        return "ANSWER: true"
    return "ANSWER: A" if "ANSWER: <letter>" in text else "fatty change"


def knows_all(text: str, image: bytes | None) -> str:
    """Pick the option that holds "key", and take each statement at its word."""
    if "Statement:" in text:
        return "ANSWER: true" if " is true" in text.split("Statement:")[1].split("\n")[0] else "ANSWER: false"
    for line in text.splitlines():
        if ". key" in line:
            return f"I see it.\nANSWER: {line[0]}"
    return "fatty change"


def full_marks(text: str, image: bytes | None) -> str:
    """Give every answer 10 and 10."""
    return '{"accuracy": 10, "completeness": 10, "reason": "right"}'
