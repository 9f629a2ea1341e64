"""An agent of OpenAI's Agents SDK over chat completions that hands off to another: an answer as a stream."""

import asyncio

import recording

recording.start()

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool  # noqa: E402
from openai import AsyncOpenAI  # noqa: E402

model = OpenAIChatCompletionsModel(model="gpt-5-mini", openai_client=AsyncOpenAI(max_retries=0))
clerk = Agent(name="clerk", instructions=recording.SYSTEM, model=model, tools=[function_tool(recording.get_weather)])
desk = Agent(name="desk", instructions="Hand over to the clerk.", model=model, handoffs=[clerk])


async def main():
    async for _ in Runner.run_streamed(desk, recording.QUESTION).stream_events():
        pass


asyncio.run(main())
