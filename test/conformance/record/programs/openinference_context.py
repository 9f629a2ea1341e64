"""OpenInference's context: session, user, tags, metadata and a prompt template around a call, and decorated spans."""

import recording

traces = recording.start()

from openai import OpenAI  # noqa: E402, instrumented before it is used
from openinference.instrumentation import OITracer, TraceConfig, using_attributes  # noqa: E402

tracer = OITracer(traces.get_tracer("weather"), TraceConfig())


@tracer.tool(name="get_weather", description=recording.TOOL_DESCRIPTION)
def get_weather(city: str) -> str:
    return recording.get_weather(city)


@tracer.agent(name="weather_agent")
def weather_agent(question):
    get_weather("Paris")
    return OpenAI(max_retries=0).chat.completions.create(
        model="gpt-5-mini", messages=[{"role": "user", "content": question}]).choices[0].message.content


recording.knows(session=recording.SESSION, user=recording.USER, tags=["clerk", "test"], prompt_version="v7")
with using_attributes(session_id=recording.SESSION, user_id=recording.USER, tags=["clerk", "test"], metadata={"tenant": "north"},
                      prompt_template="What is the weather in {city}?", prompt_template_version="v7",
                      prompt_template_variables={"city": "Paris"}):
    weather_agent(recording.QUESTION)
