"""Turns a pydantic JSON schema into the self-contained form that providers take for structured output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_ai.model import ResponseSchema

_KEPT = ("type", "description", "enum", "required")


def response_schema(schema: dict[str, Any], name: str) -> ResponseSchema:
    """Return `schema` for inspect_ai, its references resolved and every object closed.

    Lengths and ranges are left to our own validation: providers differ in which of them they accept, and one
    that rejects a keyword rejects the whole call.

    Raises:
        ValueError: the schema refers to a definition that it does not hold.
    """
    from inspect_ai.model import ResponseSchema
    from inspect_ai.util import JSONSchema

    plain = _inline(schema, schema.get("$defs", {}))
    return ResponseSchema(name=name, json_schema=JSONSchema.model_validate(plain), strict=True)


def _inline(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        target = node["$ref"].removeprefix("#/$defs/")
        if target not in definitions:
            raise ValueError(f"the JSON schema refers to {node['$ref']}, which it does not define")
        return _inline(definitions[target], definitions)
    plain = {key: node[key] for key in _KEPT if key in node}
    if "const" in node:
        plain["enum"] = [node["const"]]
    if "anyOf" in node:
        plain["anyOf"] = [_inline(choice, definitions) for choice in node["anyOf"]]
    if "items" in node:
        plain["items"] = _inline(node["items"], definitions)
    if "properties" in node:
        plain["properties"] = {key: _inline(value, definitions) for key, value in node["properties"].items()}
        plain["additionalProperties"] = False
        # Strict structured output wants every property listed; one with a default may then be empty.
        plain["required"] = list(plain["properties"])
    return plain
