"""Messages through Anthropic's client: a tool call and its answer with a cached prefix, a stream, two errors."""

import recording

recording.start()

import anthropic  # noqa: E402, instrumented before it is used

client = anthropic.Anthropic(max_retries=0)
tools = [{"name": "get_weather", "description": recording.TOOL_DESCRIPTION, "input_schema": recording.TOOL_PARAMETERS}]
request = {"model": "claude-sonnet-4-5", "max_tokens": 1024, "system": recording.SYSTEM, "tools": tools}
messages = [{"role": "user", "content": recording.QUESTION}]
answer = client.messages.create(messages=messages, **request)
call = next(block for block in answer.content if block.type == "tool_use")
result = recording.get_weather(**call.input)
messages += [
    {"role": "assistant", "content": [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": result}]},
]
client.messages.create(messages=messages, **request)
question = [{"role": "user", "content": recording.QUESTION}]
for _ in client.messages.create(model="claude-sonnet-4-5", max_tokens=1024, messages=question, stream=True):
    pass
client.with_options(max_retries=1).messages.create(model="claude-sonnet-4-5", max_tokens=1024, messages=question)
recording.refused(client.messages.create, model="claude-sonnet-4-5", max_tokens=1024, messages=question)
recording.refused(client.messages.create, model="claude-sonnet-4-5", max_tokens=1024, messages=question)
