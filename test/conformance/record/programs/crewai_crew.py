"""A crew of one agent with one task and a tool."""

import os

import recording

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"
recording.start()

from crewai import LLM, Agent, Crew, Task  # noqa: E402
from crewai.tools import tool  # noqa: E402

model = LLM(model="openai/gpt-5-mini", base_url=os.environ["OPENAI_BASE_URL"], max_retries=0)
agent = Agent(role="weather_agent", goal="Tell the weather.", backstory=recording.SYSTEM, llm=model,
              tools=[tool("get_weather")(recording.get_weather)], verbose=False)
task = Task(description=recording.QUESTION, expected_output="One sentence.", agent=agent)
recording.knows(agent="weather_agent")
Crew(agents=[agent], tasks=[task], verbose=False).kickoff()
