"""A LlamaIndex agent with a tool; a second run whose model call is refused."""

import asyncio

import recording

recording.start()

from llama_index.core.agent.workflow import FunctionAgent  # noqa: E402
from llama_index.core.tools import FunctionTool  # noqa: E402
from llama_index.llms.openai import OpenAI  # noqa: E402

agent = FunctionAgent(name="weather_agent", system_prompt=recording.SYSTEM, streaming=False,
                      llm=OpenAI(model="gpt-4.1-mini", max_retries=0),
                      tools=[FunctionTool.from_defaults(recording.get_weather)])
recording.knows(agent="weather_agent")


async def main():
    await agent.run(recording.QUESTION)
    try:
        await agent.run(recording.QUESTION)
    except Exception:  # the class is the library's own
        return
    raise AssertionError("the provider was to refuse this call")


asyncio.run(main())
