"""A crew of one agent with a tool, whose run fails as RECORD_MODE says."""

import io
import os
import sys

import recording

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"
recording.start()

import failing  # noqa: E402
from crewai import LLM, Agent, Crew, Task  # noqa: E402, instrumented before it is used
from crewai.tools import tool  # noqa: E402

model = LLM(model="openai/gpt-5-mini", base_url=os.environ["OPENAI_BASE_URL"], max_retries=0, timeout=failing.MODEL_TIMEOUT)
agent = Agent(role="weather_agent", goal="Tell the weather.", backstory=recording.SYSTEM, llm=model, max_retry_limit=0,
              tools=[tool("get_weather")(failing.get_weather)], verbose=False)
asks = failing.MODE == "interrupt"
task = Task(description=recording.QUESTION, expected_output="One sentence.", agent=agent, human_input=asks)
if asks:
    sys.stdin = io.StringIO("\n")  # the person accepts the answer


def agent_run():
    Crew(agents=[agent], tasks=[task], verbose=False).kickoff()
    return failing.ANSWERED


failing.run(agent_run)
