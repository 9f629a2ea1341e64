"""A Pydantic AI agent with a tool; a second run whose model call is refused. RECORD_VERSION is the format of its spans."""

import os

import recording

recording.start()

from pydantic_ai import Agent  # noqa: E402
from pydantic_ai.models.instrumented import InstrumentationSettings  # noqa: E402
from pydantic_ai.models.openai import OpenAIChatModel  # noqa: E402
from pydantic_ai.providers.openai import OpenAIProvider  # noqa: E402
from openai import AsyncOpenAI  # noqa: E402

Agent.instrument_all(InstrumentationSettings(version=int(os.environ["RECORD_VERSION"])))
agent = Agent(OpenAIChatModel("gpt-5-mini", provider=OpenAIProvider(openai_client=AsyncOpenAI(max_retries=0))),
              name="weather_agent", instructions=recording.SYSTEM, tools=[recording.get_weather])
recording.knows(agent="weather_agent")
agent.run_sync(recording.QUESTION)
recording.refused(agent.run_sync, recording.QUESTION)
