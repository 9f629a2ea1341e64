"""Completions through LiteLLM with its own OpenTelemetry callback, or an instrumentation: OpenAI and Anthropic, an error."""

import json
import os

import recording

traces = recording.start()

import litellm  # noqa: E402

if not os.environ.get("RECORD_INSTRUMENT"):
    litellm.callbacks = ["otel"]
tools = [{"type": "function", "function": {"name": "get_weather", "description": recording.TOOL_DESCRIPTION,
                                           "parameters": recording.TOOL_PARAMETERS}}]
messages = [{"role": "system", "content": recording.SYSTEM}, {"role": "user", "content": recording.QUESTION}]
call = litellm.completion(model="openai/gpt-4.1-mini", messages=messages, tools=tools).choices[0].message.tool_calls[0]
result = recording.get_weather(**json.loads(call.function.arguments))
messages += [
    {"role": "assistant", "content": None, "tool_calls": [{"id": call.id, "type": "function", "function": {
        "name": call.function.name, "arguments": call.function.arguments}}]},
    {"role": "tool", "tool_call_id": call.id, "content": result},
]
litellm.completion(model="openai/gpt-4.1-mini", messages=messages, tools=tools)
litellm.completion(model="anthropic/claude-sonnet-4-5", messages=messages[:2], max_tokens=1024)
recording.refused(litellm.completion, model="openai/gpt-4.1-mini", messages=messages[:2], num_retries=0, max_retries=0)
