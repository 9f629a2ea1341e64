"""A Strands agent with a tool on an OpenAI model, whose run fails as RECORD_MODE says."""

import recording

recording.start()

import failing  # noqa: E402
from strands import Agent, ToolContext, tool  # noqa: E402, instrumented before it is used
from strands.models.openai import OpenAIModel  # noqa: E402


@tool(context=True)
def get_weather(city: str, tool_context: ToolContext) -> str:
    """The weather of a city."""
    if failing.MODE == "interrupt":
        tool_context.interrupt("approve", reason=city)
    return failing.get_weather(city)


model = OpenAIModel(client_args={"max_retries": 0, "timeout": failing.MODEL_TIMEOUT}, model_id="gpt-5-mini")
agent = Agent(name="weather_agent", system_prompt=recording.SYSTEM, callback_handler=None, model=model, tools=[get_weather],
              retry_strategy=None)
failing.run(lambda: failing.WAITS if agent(recording.QUESTION).stop_reason == "interrupt" else failing.ANSWERED)
