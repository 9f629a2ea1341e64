"""A smolagents agent with a tool, whose run fails as RECORD_MODE says."""

import recording

recording.start()

import failing  # noqa: E402
from smolagents import OpenAIServerModel, ToolCallingAgent, tool  # noqa: E402, instrumented before it is used


@tool
def get_weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: Name of the city
    """
    return failing.get_weather(city)


model = OpenAIServerModel(model_id="gpt-5-mini", client_kwargs={"max_retries": 0, "timeout": failing.MODEL_TIMEOUT}, retry=False)
agent = ToolCallingAgent(tools=[get_weather], model=model, name="weather_agent", description="Tells the weather.")


def agent_run():
    agent.run(recording.QUESTION)
    return failing.ANSWERED


failing.run(agent_run)
