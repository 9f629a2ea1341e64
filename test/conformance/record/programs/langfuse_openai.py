"""Langfuse's SDK: an observed agent and tool, OpenAI's client in its wrapper, a session and a user; a refused call."""

import json
import os

import recording

os.environ.update(LANGFUSE_PUBLIC_KEY="pk-lf-none", LANGFUSE_SECRET_KEY="sk-lf-none",
                  LANGFUSE_HOST=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"], LANGFUSE_BASE_URL=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])

import contextlib  # noqa: E402

from langfuse import get_client, observe  # noqa: E402
from langfuse.openai import OpenAI  # noqa: E402

try:
    from langfuse import propagate_attributes
except ImportError:  # before 3.9 the trace is told from within
    propagate_attributes = None

client = OpenAI(max_retries=0)
context = {"session_id": recording.SESSION, "user_id": recording.USER, "tags": ["clerk", "test"]}
tools = [{"type": "function", "function": {"name": "get_weather", "description": recording.TOOL_DESCRIPTION,
                                           "parameters": recording.TOOL_PARAMETERS}}]


@observe(as_type="tool")
def get_weather(city):
    return recording.get_weather(city)


@observe(as_type="agent")
def weather_agent(question):
    if not propagate_attributes:
        get_client().update_current_trace(**context)
    messages = [{"role": "system", "content": recording.SYSTEM}, {"role": "user", "content": question}]
    call = client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=tools).choices[0].message.tool_calls[0]
    result = get_weather(**json.loads(call.function.arguments))
    messages += [
        {"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": {
            "name": call.function.name, "arguments": call.function.arguments}}]},
        {"role": "tool", "tool_call_id": call.id, "content": result},
    ]
    return client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=tools).choices[0].message.content


recording.knows(session=context["session_id"], user=context["user_id"], tags=context["tags"])
with propagate_attributes(**context) if propagate_attributes else contextlib.nullcontext():
    weather_agent(recording.QUESTION)
    recording.refused(weather_agent, recording.QUESTION)
get_client().flush()
