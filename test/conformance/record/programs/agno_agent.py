"""An Agno agent with a tool, in a session of a user."""

import recording

recording.start()

from agno.agent import Agent  # noqa: E402
from agno.models.openai import OpenAIChat  # noqa: E402

agent = Agent(name="weather_agent", model=OpenAIChat(id="gpt-5-mini"), instructions=recording.SYSTEM,
              tools=[recording.get_weather], telemetry=False)
recording.knows(session=recording.SESSION, user=recording.USER, agent="weather_agent")
agent.run(recording.QUESTION, session_id=recording.SESSION, user_id=recording.USER)
