"""A Strands agent with a tool on an OpenAI model; a second run whose model call is refused."""

import recording

recording.start()

from strands import Agent, tool  # noqa: E402
from strands.models.openai import OpenAIModel  # noqa: E402

agent = Agent(name="weather_agent", system_prompt=recording.SYSTEM, callback_handler=None,
              model=OpenAIModel(client_args={"max_retries": 0}, model_id="gpt-5-mini"), tools=[tool(recording.get_weather)],
              trace_attributes={"session.id": recording.SESSION, "user.id": recording.USER})
recording.knows(session=recording.SESSION, user=recording.USER, agent="weather_agent")
agent(recording.QUESTION)
agent.messages.clear()
recording.refused(agent, recording.QUESTION)
