"""Gemini through Google's client: a tool call and its answer, a stream, an error."""

import os

import recording

recording.start()

from google import genai  # noqa: E402
from google.genai import types  # noqa: E402

client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=os.environ["RECORD_PROVIDER"]))
declaration = types.FunctionDeclaration(name="get_weather", description=recording.TOOL_DESCRIPTION, parameters=types.Schema(
    type="OBJECT", properties={"city": types.Schema(type="STRING", description="Name of the city")}, required=["city"]))
config = types.GenerateContentConfig(system_instruction=recording.SYSTEM, tools=[types.Tool(function_declarations=[declaration])])
contents = [types.Content(role="user", parts=[types.Part(text=recording.QUESTION)])]
answer = client.models.generate_content(model="gemini-2.5-flash", contents=contents, config=config)
call = next(part.function_call for part in answer.candidates[0].content.parts if part.function_call)
result = recording.get_weather(**call.args)
contents += [types.Content(role="model", parts=[types.Part(function_call=types.FunctionCall(id=call.id, name=call.name, args=call.args))]),
             types.Content(role="user", parts=[types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response={"result": result}))])]
client.models.generate_content(model="gemini-2.5-flash", contents=contents, config=config)
for _ in client.models.generate_content_stream(model="gemini-2.5-flash", contents=recording.QUESTION):
    pass
recording.refused(client.models.generate_content, model="gemini-2.5-flash", contents=recording.QUESTION)
