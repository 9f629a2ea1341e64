"""Rendering, and the arguments for the clients of OpenAI and Anthropic."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import anthropic
import openai
import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as AnthropicArguments
from models import ANSWER, Models
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as OpenAIArguments
from pydantic import TypeAdapter

import looptrace
from looptrace._prompt import Prompt, version_of_default

CASES = json.loads((pathlib.Path(__file__).parents[3] / "test/conformance/templates.json").read_text())["prompts"]

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Looks outside.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "strict": True,
    },
}
CALLS = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": name, "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
        for name in ("a", "b")
    ],
}
RESULTS = [{"role": "tool", "tool_call_id": name, "content": f"rain {name}"} for name in ("a", "b")]


def of(**members: Any) -> Prompt:
    return Prompt("support/triage", "production", version_of_default("support/triage", members), "default", 0.0)


def validate(kind: Any, arguments: dict[str, Any]) -> None:
    """Checks the arguments with the types of the client. extra_body is not among them."""
    known = {name: value for name, value in arguments.items() if name != "extra_body"}
    adapter = TypeAdapter(kind)  # lives as long as what it reads
    consume(adapter.validate_python(known))


def consume(value: Any) -> None:
    """pydantic validates an Iterable as it is read."""
    for member in value.values() if isinstance(value, dict) else value:
        if not isinstance(member, str) and hasattr(member, "__iter__"):
            consume(member)


def of_text(text: str) -> Prompt:
    return of(messages=[{"role": "user", "content": text}])


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    prompt = of(**case["version"])
    if "error" in case:
        with pytest.raises(looptrace.PromptValuesError) as refused:
            prompt.render(case["variables"], case["placeholders"])
        assert refused.value.missing_variables == case["error"]["missing_variables"]
        assert refused.value.missing_placeholders == case["error"]["missing_placeholders"]
        found = [{"name": name, "type": kind} for name, kind in refused.value.wrong_types.items()]
        assert found == case["error"]["wrong_types"]
    else:
        rendered = prompt.render(case["variables"], case["placeholders"])
        assert rendered.messages == case["messages"]
        assert rendered.unused == case["unused"]


def test_variables_by_keyword_and_as_a_mapping() -> None:
    prompt = of_text("{{self}} {{variables}} {{a}}")
    assert prompt.render({"variables": "v", "a": "x"}, self="s", a="y").messages[0]["content"] == "s v y"
    wrong: dict[str, Any]
    for wrong in ({"variables": "v"}, {"placeholders": []}):
        with pytest.raises(TypeError, match="instead of a mapping"):
            prompt.render(**wrong)


def test_errors_name_everything() -> None:
    prompt = of(
        messages=[{"role": "user", "content": "{{ticket}} {{user.name}}"}, {"type": "placeholder", "name": "history"}],
        variables={"limit": {"type": "integer"}},
    )
    with pytest.raises(
        looptrace.PromptValuesError,
        match=r"^no value for ticket, user\.name, history; limit is not of the type integer$",
    ):
        prompt.render(limit="5")
    with pytest.raises(TypeError, match=r"messages\[0\]\.content: a set is not JSON"):
        of_text("{{a}}").render(a={1})
    with pytest.raises(TypeError, match=r"placeholders\['history'\] is a str; pass a list of messages"):
        prompt.render({"ticket": 1, "user": {"name": 1}}, {"history": "none"})


def test_nobody_can_change_what_others_share() -> None:
    members = {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], "tools": [TOOL],
        "response_format": {"type": "json_object"}, "model_config": {"stop": ["x"]},
        "variables": {"a": {"type": "any"}},
    }  # fmt: skip
    before = json.dumps(members)
    prompt = of(**members)
    rendered = prompt.render()
    for part in (prompt, rendered):
        part.messages[0]["content"][0]["text"] = "changed"
        part.tools[0]["function"]["name"] = "changed"
        assert part.response_format is not None
        part.response_format["type"] = "changed"
    prompt.model_config["stop"].append("changed")
    rendered.parameters["stop"].append("changed")
    prompt.variables["a"]["type"] = "changed"
    assert json.dumps(members) == before
    assert prompt.render().messages == members["messages"]


@pytest.mark.parametrize(
    ("default", "message"),
    [
        ("", "the text is empty"),
        ("{{a", r"messages\[0\]\.content: line 1, column 1: the tag is not closed"),
        ([], "messages: at least one is needed"),
        (["Hi"], r"messages\[0\]: a str instead of a dict"),
        ([{"content": "Hi"}], r"messages\[0\]: neither a message with a role nor a placeholder"),
        ([{"type": "placeholder"}], r"messages\[0\]: neither a message"),
        ({"messages": [{"role": "user", "content": "Hi"}], "text": "Hi"}, "text: not a member of a version"),
        ({"messages": [{"role": "user"}], "tools": {}}, "tools: a dict instead of a list"),
        ({"messages": [{"role": "user"}], "model_config": "gpt-5"}, "model_config: a str instead of a dict"),
        ({"messages": [{"role": "user"}], "missing": "ignore"}, "missing: 'ignore' is none of error, keep, empty"),
        (
            {"messages": [{"role": "user"}], "variables": {"a": {"type": "text"}}},
            r"variables\['a'\]: not a declaration",
        ),
        ({"messages": [{"role": "user"}], "name": "other"}, "it is a version of the prompt other"),
        (7, "messages: a int instead of a list"),
    ],
)
def test_invalid_default(default: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r"^the default of the prompt support/triage: " + message):
        looptrace.prompt("support/triage", default=default)


FULL: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "You answer about {{product}}."},
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        {"type": "placeholder", "name": "history"},
        {"role": "user", "content": [
            {"type": "text", "text": "{{question}}"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/{{picture}}"}},
        ]},
    ],
    "tools": [TOOL],
    "response_format": {"type": "json_schema", "json_schema": {
        "name": "answer", "strict": True,
        "schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    }},
    "model_config": {
        "provider_id": "01985f6e-0000-7000-8000-000000000001", "model": "gpt-5-mini", "temperature": 0, "top_p": 0.5,
        "max_output_tokens": 100, "stop": ["END"], "seed": 7, "reasoning_effort": "low", "tool_choice": "required",
        "extra": {"service_tier": "auto"},
    },
}  # fmt: skip


def full(**model_config: Any) -> looptrace.RenderedPrompt:
    prompt = of(**{**FULL, "model_config": {**FULL["model_config"], **model_config}})
    history = [{"role": "user", "content": "Weather?"}, CALLS, *RESULTS]
    return prompt.render(product="Looptrace", question="And now?", picture="cat.png", placeholders={"history": history})


def test_arguments_for_openai(models: Models) -> None:
    rendered = full()
    arguments = rendered.openai()
    assert arguments.keys() - rendered.parameters.keys() == {"messages", "tools", "response_format"}
    assert rendered.parameters == {
        "model": "gpt-5-mini", "temperature": 0, "top_p": 0.5, "max_completion_tokens": 100, "stop": ["END"], "seed": 7,
        "reasoning_effort": "low", "tool_choice": "required", "extra_body": {"service_tier": "auto"},
    }  # fmt: skip
    validate(OpenAIArguments, arguments)
    client = openai.OpenAI(base_url=models.url + "/v1", api_key="k")
    client.chat.completions.create(**arguments)
    path, sent = models.requests[-1]
    assert path == "/v1/chat/completions"
    assert arguments.pop("extra_body") == {"service_tier": "auto"}
    assert sent == {**arguments, "service_tier": "auto"}
    assert of_text("Hi").render().openai() == {"messages": [{"role": "user", "content": "Hi"}]}
    plain = of_text("Weather?").render().openai() | {"model": "gpt-5-mini"}
    assert client.chat.completions.create(**plain).choices[0].message.content == ANSWER


def test_arguments_for_anthropic(models: Models) -> None:
    arguments = full().anthropic()
    assert arguments == {
        "model": "gpt-5-mini",
        "max_tokens": 100,
        "system": [
            {"type": "text", "text": "You answer about Looptrace."}, {"type": "text", "text": "Be brief."},
        ],
        "messages": [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "get_weather", "input": {"city": "Paris"}},
                {"type": "tool_use", "id": "b", "name": "get_weather", "input": {"city": "Paris"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "rain a"},
                {"type": "tool_result", "tool_use_id": "b", "content": "rain b"},
            ]},
            {"role": "user", "content": [
                {"type": "text", "text": "And now?"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/cat.png"}},
            ]},
        ],
        "tools": [{
            "name": "get_weather", "description": "Looks outside.", "strict": True,
            "input_schema": TOOL["function"]["parameters"],  # type: ignore[index]
        }],
        "tool_choice": {"type": "any"},
        "stop_sequences": ["END"],
        "output_config": {"effort": "low", "format": {
            "type": "json_schema", "schema": FULL["response_format"]["json_schema"]["schema"],
        }},
        "extra_body": {"temperature": 0, "top_p": 0.5, "service_tier": "auto"},
    }  # fmt: skip
    validate(AnthropicArguments, arguments)
    client = anthropic.Anthropic(base_url=models.url, api_key="k")
    client.messages.create(**arguments)
    extra = arguments.pop("extra_body")
    assert models.requests[-1] == ("/v1/messages", {**arguments, **extra})


def test_anthropic_without_settings(models: Models) -> None:
    arguments = of_text("Weather?").render().anthropic()
    assert arguments == {"max_tokens": 4096, "messages": [{"role": "user", "content": "Weather?"}]}
    client = anthropic.Anthropic(base_url=models.url, api_key="k")
    answer = client.messages.create(**(arguments | {"model": "claude-sonnet-5"}))
    assert answer.content[0].text == ANSWER  # type: ignore[union-attr]


def test_instructions_within_a_conversation_stay_there() -> None:
    messages = [
        {"role": "system", "content": "a"}, {"role": "user", "content": "b"}, {"role": "developer", "content": "c"},
        {"role": "user", "content": "d"},
    ]  # fmt: skip
    arguments = of(messages=messages).render().anthropic()
    assert arguments["system"] == "a"
    assert [(message["role"], message["content"]) for message in arguments["messages"]] == [
        ("user", "b"), ("system", "c"), ("user", "d"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ({"type": "function", "function": {"name": "get_weather"}}, {"type": "tool", "name": "get_weather"}),
        ({"type": "any", "disable_parallel_tool_use": True}, {"type": "any", "disable_parallel_tool_use": True}),
    ],
)
def test_tool_choice_for_anthropic(choice: Any, expected: Any) -> None:
    assert full(tool_choice=choice).anthropic()["tool_choice"] == expected


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]},
            r"messages\[0\]\.content\[0\]: Anthropic's API has no form for a part of the type input_audio",
        ),
        (
            {"messages": [{"role": "user", "content": "Hi"}], "response_format": {"type": "json_object"}},
            "response_format: Anthropic's API has no form for the type json_object; use json_schema",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "function": {"arguments": "{"}}]}]},
            r"messages\[0\]\.tool_calls\[0\]\.function\.arguments: not JSON",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "type": "custom"}]}]},
            r"messages\[0\]\.tool_calls\[0\]: Anthropic's API has no form for a call of the type custom",
        ),
    ],
)
def test_what_anthropic_has_no_form_for(members: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        of(**members).render().anthropic()


def test_parts_of_anthropic_stay() -> None:
    block = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "{{x}}"}}
    history = [
        {"role": "user", "content": [block]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    ]
    rendered = of(messages=[{"type": "placeholder", "name": "history"}]).render(placeholders={"history": history})
    assert rendered.anthropic()["messages"] == [
        {"role": "user", "content": [block]}, {"role": "assistant", "content": "no"},
    ]  # fmt: skip
    with pytest.raises(TypeError, match=r"messages\[0\] is a object; pass placeholders messages as dicts"):
        of(messages=[{"type": "placeholder", "name": "h"}]).render(placeholders={"h": [object()]}).anthropic()
