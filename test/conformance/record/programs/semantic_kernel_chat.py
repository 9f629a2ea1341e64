"""A Semantic Kernel chat completion that calls a function."""

import asyncio
import logging

import recording

recording.start()
# Its messages are log records of Python's own logging.
try:
    from opentelemetry.instrumentation.logging.handler import LoggingHandler
except ImportError:
    from opentelemetry.sdk._logs import LoggingHandler
diagnostics = logging.getLogger("semantic_kernel.utils.telemetry")
diagnostics.addHandler(LoggingHandler())
diagnostics.setLevel(logging.INFO)

from semantic_kernel import Kernel  # noqa: E402
from semantic_kernel.agents import ChatCompletionAgent  # noqa: E402
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion  # noqa: E402
from semantic_kernel.functions import kernel_function  # noqa: E402


class Weather:
    @kernel_function(name="get_weather", description=recording.TOOL_DESCRIPTION)
    def get_weather(self, city: str) -> str:
        recording.said("Weather-get_weather", {"city": city}, recording.WEATHER)
        return recording.WEATHER


kernel = Kernel()
kernel.add_service(OpenAIChatCompletion(ai_model_id="gpt-5-mini"))
agent = ChatCompletionAgent(kernel=kernel, name="weather_agent", instructions=recording.SYSTEM, plugins=[Weather()])
recording.knows(agent="weather_agent")
asyncio.run(agent.get_response(recording.QUESTION))
