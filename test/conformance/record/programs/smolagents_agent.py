"""A smolagents agent with a tool; its answer is a tool call too."""

import recording

recording.start()

from smolagents import OpenAIServerModel, ToolCallingAgent, tool  # noqa: E402


@tool
def get_weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: Name of the city
    """
    return recording.get_weather(city)


agent = ToolCallingAgent(tools=[get_weather], model=OpenAIServerModel(model_id="gpt-5-mini"), name="weather_agent",
                         description="Tells the weather.")
recording.knows(agent="weather_agent")
answer = agent.run(recording.QUESTION)
recording.said("final_answer", {"answer": answer}, answer)
