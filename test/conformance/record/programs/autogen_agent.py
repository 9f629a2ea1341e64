"""An AutoGen assistant with a tool."""

import asyncio

import recording

recording.start()

from autogen_agentchat.agents import AssistantAgent  # noqa: E402
from autogen_ext.models.openai import OpenAIChatCompletionClient  # noqa: E402

agent = AssistantAgent("weather_agent", OpenAIChatCompletionClient(model="gpt-4.1-mini"), tools=[recording.get_weather],
                       system_message=recording.SYSTEM, reflect_on_tool_use=True)
recording.knows(agent="weather_agent")
asyncio.run(agent.run(task=recording.QUESTION))
