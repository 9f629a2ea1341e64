"""Traceloop's SDK: a workflow, an agent and a tool by decorator around OpenAI's client, with a session and a user."""

import json
import os

import recording

from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent, tool, workflow

Traceloop.init(app_name="weather", api_endpoint=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"], disable_batch=True,
               telemetry_enabled=False)

from openai import OpenAI  # noqa: E402, instrumented before it is used

client = OpenAI(max_retries=0)
tools = [{"type": "function", "function": {"name": "get_weather", "description": recording.TOOL_DESCRIPTION,
                                           "parameters": recording.TOOL_PARAMETERS}}]


@tool(name="get_weather")
def get_weather(city):
    return recording.get_weather(city)


@agent(name="weather_agent")
def weather_agent(question):
    messages = [{"role": "system", "content": recording.SYSTEM}, {"role": "user", "content": question}]
    call = client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=tools).choices[0].message.tool_calls[0]
    result = get_weather(**json.loads(call.function.arguments))
    messages += [
        {"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": {
            "name": call.function.name, "arguments": call.function.arguments}}]},
        {"role": "tool", "tool_call_id": call.id, "content": result},
    ]
    return client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=tools).choices[0].message.content


@workflow(name="weather")
def weather(question):
    return weather_agent(question)


recording.knows(session=recording.SESSION, user=recording.USER, agent="weather_agent")
Traceloop.set_association_properties({"session_id": recording.SESSION, "user_id": recording.USER})
weather(recording.QUESTION)
recording.refused(weather, recording.QUESTION)
