"""Keyword arguments for the clients of OpenAI and Anthropic. Prompts have the shapes of OpenAI's chat completions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
# Anthropic's API requires a limit.
_MAX_TOKENS = 4096


def parameters(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the model configuration of a version as arguments for OpenAI's client."""
    names = {"max_output_tokens": "max_completion_tokens", "extra": "extra_body"}
    return {names.get(name, name): value for name, value in config.items() if name != "provider_id" and value != {}}


def openai(
    messages: list[Any], tools: list[Any], response_format: dict[str, Any] | None, given: dict[str, Any]
) -> dict[str, Any]:
    arguments = {**given, "messages": messages}
    if tools:
        arguments["tools"] = tools
    if response_format is not None:
        arguments["response_format"] = response_format
    return arguments


def anthropic(
    messages: list[Any], tools: list[Any], response_format: dict[str, Any] | None, config: dict[str, Any]
) -> dict[str, Any]:
    """Raises ValueError for what Anthropic's API has no form for."""
    system: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for place, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise TypeError(f"messages[{place}] is a {type(message).__name__}; pass placeholders messages as dicts")
        turn = _turn(message, f"messages[{place}]")
        if turn["role"] == "system" and not turns:
            system += turn["content"]
        # The results of parallel calls belong into one turn.
        elif message.get("role") == "tool" and turns and messages[place - 1].get("role") == "tool":
            turns[-1]["content"] += turn["content"]
        else:
            turns.append(turn)
    arguments: dict[str, Any] = {
        "max_tokens": config.get("max_output_tokens", _MAX_TOKENS),
        "messages": [{**turn, "content": _short(turn["content"])} for turn in turns],
        "model": config.get("model"),
        "output_config": _output_config(response_format, config),
        "stop_sequences": config.get("stop"),
        "system": _short(system),
        "tools": [_tool(tool) for tool in tools],
        "tool_choice": _tool_choice(config.get("tool_choice")),
        # Newer versions of the client have no arguments for the first two.
        "extra_body": {
            **{name: config[name] for name in ("temperature", "top_p") if name in config},
            **config.get("extra", {}),
        },
    }
    return {name: value for name, value in arguments.items() if name == "messages" or value not in (None, [], {})}


def _short(blocks: list[Any]) -> Any:
    """Returns the text of a single block of text, else the blocks."""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks


def _turn(message: Mapping[str, Any], path: str) -> dict[str, Any]:
    role = message.get("role")
    blocks = _blocks(message.get("content"), path + ".content")
    if role == "tool":
        result = {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": _short(blocks)}
        return {"role": "user", "content": [result]}
    for number, call in enumerate(message.get("tool_calls") or ()):
        blocks.append(_tool_use(call, f"{path}.tool_calls[{number}]"))
    return {"role": "system" if role == "developer" else role, "content": blocks}


def _blocks(content: Any, path: str) -> list[dict[str, Any]]:
    """Returns content as blocks. An empty text is none, because Anthropic's API refuses it. A part that is a block of
    Anthropic's stays as it is."""
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks = []
    for number, part in enumerate(content):
        match part.get("type"):
            case "text" if part.get("text") == "":
                continue
            case "image_url":
                blocks.append(_image(part.get("image_url")))
            case "refusal":
                blocks.append({"type": "text", "text": part.get("refusal")})
            case "input_audio" | "file" as kind:
                raise ValueError(f"{path}[{number}]: Anthropic's API has no form for a part of the type {kind}")
            case _:
                blocks.append(part)
    return blocks


def _image(image: Any) -> dict[str, Any]:
    url = image.get("url") if isinstance(image, Mapping) else image
    if data := _DATA_URL.fullmatch(str(url)):
        return {"type": "image", "source": {"type": "base64", "media_type": data[1], "data": data[2]}}
    return {"type": "image", "source": {"type": "url", "url": url}}


def _tool_use(call: Mapping[str, Any], path: str) -> dict[str, Any]:
    function = call.get("function")
    if not isinstance(function, Mapping):
        raise ValueError(f"{path}: Anthropic's API has no form for a call of the type {call.get('type')}")  # noqa: TRY004
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except ValueError as error:
        raise ValueError(f"{path}.function.arguments: not JSON: {error}") from None
    return {"type": "tool_use", "id": call.get("id"), "name": function.get("name"), "input": arguments}


def _tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, Mapping):
        return tool
    converted = {
        "name": function.get("name"),
        "description": function.get("description"),
        "input_schema": function.get("parameters") or {"type": "object", "properties": {}},
        "strict": function.get("strict"),
    }
    return {name: value for name, value in converted.items() if value is not None}


def _tool_choice(choice: Any) -> Any:
    if isinstance(choice, Mapping) and isinstance(choice.get("function"), Mapping):
        return {"type": "tool", "name": choice["function"].get("name")}
    if isinstance(choice, str):
        return {"type": "any" if choice == "required" else choice}
    return choice


def _output_config(response_format: dict[str, Any] | None, config: dict[str, Any]) -> dict[str, Any]:
    output: dict[str, Any] = {}
    if "reasoning_effort" in config:
        output["effort"] = config["reasoning_effort"]
    kind = "text" if response_format is None else response_format.get("type")
    if response_format is not None and kind == "json_schema":
        schema = response_format.get("json_schema") or {}
        output["format"] = {"type": "json_schema", "schema": schema.get("schema") or {}}
    elif kind != "text":
        raise ValueError(f"response_format: Anthropic's API has no form for the type {kind}; use json_schema")
    return output
