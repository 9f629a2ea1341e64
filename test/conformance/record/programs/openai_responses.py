"""The Responses API through OpenAI's client: reasoning and a tool call, the answer as a stream, an error; embeddings."""

import json

import recording

recording.start()

from openai import OpenAI  # noqa: E402, instrumented before it is used

client = OpenAI(max_retries=0)
tools = [{"type": "function", "name": "get_weather", "description": recording.TOOL_DESCRIPTION,
          "parameters": recording.TOOL_PARAMETERS, "strict": False}]
request = {"model": "gpt-5-mini", "instructions": recording.SYSTEM, "tools": tools}
items = [{"role": "user", "content": recording.QUESTION}]
call = next(item for item in client.responses.create(input=items, **request).output if item.type == "function_call")
result = recording.get_weather(**json.loads(call.arguments))
items += [{"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments},
          {"type": "function_call_output", "call_id": call.call_id, "output": result}]
for _ in client.responses.create(input=items, stream=True, **request):
    pass
recording.refused(client.responses.create, model="gpt-5-mini", input=recording.QUESTION, temperature=3)
client.embeddings.create(model="text-embedding-3-small", input=["Paris", "Rome"])
