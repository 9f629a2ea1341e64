"""A Haystack agent with a tool."""

import recording

recording.start()

from haystack.components.agents import Agent  # noqa: E402
from haystack.components.generators.chat import OpenAIChatGenerator  # noqa: E402
from haystack.dataclasses import ChatMessage  # noqa: E402
from haystack.tools import Tool  # noqa: E402

tool = Tool(name="get_weather", description=recording.TOOL_DESCRIPTION, parameters=recording.TOOL_PARAMETERS,
            function=recording.get_weather)
agent = Agent(chat_generator=OpenAIChatGenerator(model="gpt-5-mini", max_retries=0), tools=[tool],
              system_prompt=recording.SYSTEM)
agent.run(messages=[ChatMessage.from_user(recording.QUESTION)])
