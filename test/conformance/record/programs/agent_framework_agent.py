"""A Microsoft Agent Framework agent with a tool; a second run whose model call is refused."""

import asyncio

import recording

recording.start()

from agent_framework import Agent  # noqa: E402
from agent_framework.observability import enable_instrumentation  # noqa: E402
from agent_framework.openai import OpenAIChatCompletionClient  # noqa: E402

enable_instrumentation(enable_sensitive_data=True)
agent = Agent(client=OpenAIChatCompletionClient(model="gpt-5-mini"), name="weather_agent", instructions=recording.SYSTEM,
              tools=[recording.get_weather])
recording.knows(agent="weather_agent")


async def main():
    await agent.run(recording.QUESTION)
    try:
        await agent.run(recording.QUESTION)
    except Exception:  # the class is the library's own
        return
    raise AssertionError("the provider was to refuse this call")


asyncio.run(main())
