"""An OpenAI Agents program with a tool, run, streamed and failing, in one session."""

import asyncio

from agents import Agent, Runner, function_tool, set_trace_processors

import looptrace

set_trace_processors([])  # no upload to OpenAI
looptrace.init(service_name="openai-agents-program")


@looptrace.observe
def look_outside(city: str) -> str:
    return f"Rain in {city}"


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    looptrace.score("tool-called", 1)
    return look_outside(city)


agent = Agent(name="weather", instructions="Be brief.", model="gpt-5-mini", tools=[get_weather])


async def main() -> None:
    with looptrace.session("agents-session"), looptrace.user("ada"), looptrace.tags("test", "agents"):
        print((await Runner.run(agent, "Weather in Paris?")).final_output)
        streamed = Runner.run_streamed(agent, "Stream the weather")
        async for _ in streamed.stream_events():
            pass
        try:
            await Runner.run(agent, "fail with 400")
        except Exception as error:  # noqa: BLE001
            print(type(error).__name__)


asyncio.run(main())
