"""LangSmith's SDK in its OpenTelemetry mode: traceable functions around OpenAI's client in its wrapper; a refused call."""

import json
import os

os.environ.update(LANGSMITH_TRACING="true", LANGSMITH_OTEL_ENABLED="true", LANGSMITH_OTEL_ONLY="true", LANGSMITH_API_KEY="none",
                  LANGSMITH_ENDPOINT=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])

import recording  # noqa: E402

traces = recording.start()

from langsmith import Client, traceable  # noqa: E402
from langsmith.wrappers import wrap_openai  # noqa: E402
from openai import OpenAI  # noqa: E402

client = wrap_openai(OpenAI(max_retries=0))
tracer = Client()
tools = [{"type": "function", "function": {"name": "get_weather", "description": recording.TOOL_DESCRIPTION,
                                           "parameters": recording.TOOL_PARAMETERS}}]


@traceable(run_type="tool", name="get_weather", client=tracer)
def get_weather(city):
    return recording.get_weather(city)


@traceable(run_type="chain", name="weather", client=tracer)
def weather(question):
    messages = [{"role": "system", "content": recording.SYSTEM}, {"role": "user", "content": question}]
    call = client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=tools).choices[0].message.tool_calls[0]
    result = get_weather(**json.loads(call.function.arguments))
    messages += [
        {"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": {
            "name": call.function.name, "arguments": call.function.arguments}}]},
        {"role": "tool", "tool_call_id": call.id, "content": result},
    ]
    return client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=tools).choices[0].message.content


recording.knows(session=recording.SESSION)
extra = {"metadata": {"session_id": recording.SESSION}}
weather(recording.QUESTION, langsmith_extra=extra)
recording.refused(weather, recording.QUESTION, langsmith_extra=extra)
tracer.flush()
traces.force_flush()
