"""An AG2 agent with a tool, traced by AG2's own middleware; a second run whose model call is refused."""

import asyncio

import recording

traces = recording.start()

from ag2 import Agent, tool  # noqa: E402
from ag2.config import OpenAIConfig  # noqa: E402
from ag2.middleware import TelemetryMiddleware  # noqa: E402

agent = Agent("weather_agent", prompt=recording.SYSTEM, config=OpenAIConfig("gpt-5-mini", max_retries=0),
              tools=[tool(recording.get_weather)],
              middleware=[TelemetryMiddleware(tracer_provider=traces, agent_name="weather_agent")])
recording.knows(agent="weather_agent")
asyncio.run(agent.ask(recording.QUESTION))
recording.refused(lambda: asyncio.run(agent.ask(recording.QUESTION)))
