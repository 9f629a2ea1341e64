"""A Pydantic AI agent whose run fails as RECORD_MODE says. RECORD_VERSION is the format of its spans."""

import os

import recording

recording.start()

import failing  # noqa: E402
from openai import AsyncOpenAI  # noqa: E402
from pydantic_ai import Agent, DeferredToolRequests, ModelRetry, Tool  # noqa: E402
from pydantic_ai.models.instrumented import InstrumentationSettings  # noqa: E402
from pydantic_ai.models.openai import OpenAIChatModel  # noqa: E402
from pydantic_ai.providers.openai import OpenAIProvider  # noqa: E402


def get_weather(city: str) -> str:
    """The weather of a city."""
    try:
        return failing.get_weather(city)
    except ValueError as error:
        if failing.MODE == "recover":
            raise ModelRetry(str(error)) from error
        raise


Agent.instrument_all(InstrumentationSettings(version=int(os.environ["RECORD_VERSION"])))
client = AsyncOpenAI(max_retries=0, timeout=failing.MODEL_TIMEOUT)
agent = Agent(OpenAIChatModel("gpt-5-mini", provider=OpenAIProvider(openai_client=client)),
              name="weather_agent", instructions=recording.SYSTEM, output_type=[str, DeferredToolRequests],
              tools=[Tool(get_weather, requires_approval=failing.MODE == "interrupt")])
failing.run(lambda: failing.ANSWERED if isinstance(agent.run_sync(recording.QUESTION).output, str) else failing.WAITS)
