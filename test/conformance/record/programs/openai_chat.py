"""Chat completions through OpenAI's client: a tool call and its answer, a stream, a refusal that is retried, two errors."""

import json

import recording

recording.start()

from openai import OpenAI  # noqa: E402, instrumented before it is used

client = OpenAI(max_retries=0)
tools = [{"type": "function", "function": {"name": "get_weather", "description": recording.TOOL_DESCRIPTION,
                                           "parameters": recording.TOOL_PARAMETERS}}]
messages = [{"role": "system", "content": recording.SYSTEM}, {"role": "user", "content": recording.QUESTION}]
answer = client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=tools).choices[0].message
call = answer.tool_calls[0]
result = recording.get_weather(**json.loads(call.function.arguments))
messages += [
    {"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": {
        "name": call.function.name, "arguments": call.function.arguments}}]},
    {"role": "tool", "tool_call_id": call.id, "content": result},
]
client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=tools)
question = [{"role": "user", "content": recording.QUESTION}]
stream = client.chat.completions.create(model="gpt-5-mini", messages=question, stream=True,
                                        stream_options={"include_usage": True})
for _ in stream:
    pass
client.with_options(max_retries=1).chat.completions.create(model="gpt-5-mini", messages=question)
recording.refused(client.chat.completions.create, model="gpt-5-mini", messages=question, temperature=3)
recording.refused(client.chat.completions.create, model="gpt-5-mini", messages=question)
