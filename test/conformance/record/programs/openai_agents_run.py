"""An agent of OpenAI's Agents SDK with a tool over the Responses API; a second run whose model call is refused."""

import recording

recording.start()

from agents import Agent, RunConfig, Runner, function_tool, set_default_openai_client  # noqa: E402
from openai import AsyncOpenAI  # noqa: E402

set_default_openai_client(AsyncOpenAI(max_retries=0), use_for_tracing=False)
agent = Agent(name="weather_agent", instructions=recording.SYSTEM, model="gpt-5-mini",
              tools=[function_tool(recording.get_weather)])
config = RunConfig(workflow_name="weather", group_id=recording.SESSION)
recording.knows(session=recording.SESSION, agent="weather_agent")
Runner.run_sync(agent, recording.QUESTION, run_config=config)
recording.refused(Runner.run_sync, agent, recording.QUESTION, run_config=config)
