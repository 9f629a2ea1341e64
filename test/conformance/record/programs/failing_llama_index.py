"""A LlamaIndex agent with a tool, whose run fails as RECORD_MODE says."""

import recording

recording.start()

import failing  # noqa: E402
from llama_index.core.agent.workflow import FunctionAgent  # noqa: E402, instrumented before it is used
from llama_index.core.tools import FunctionTool  # noqa: E402
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent  # noqa: E402
from llama_index.llms.openai import OpenAI  # noqa: E402


async def approved_weather(ctx: Context, city: str) -> str:
    """The weather of a city."""
    await ctx.wait_for_event(HumanResponseEvent, waiter_id=city, waiter_event=InputRequiredEvent(prefix=f"Look up {city}?"))
    return failing.get_weather(city)


asks = failing.MODE == "interrupt"
agent = FunctionAgent(name="weather_agent", system_prompt=recording.SYSTEM, streaming=False,
                      llm=OpenAI(model="gpt-4.1-mini", max_retries=0, timeout=failing.MODEL_TIMEOUT),
                      tools=[FunctionTool.from_defaults(approved_weather if asks else failing.get_weather, name="get_weather")])


async def agent_run():
    handler = agent.run(recording.QUESTION)
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            handler.ctx.send_event(HumanResponseEvent(response="yes"))
    await handler
    return failing.ANSWERED


failing.run(agent_run)
