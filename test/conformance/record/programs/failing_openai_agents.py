"""An agent of OpenAI's Agents SDK whose run fails as RECORD_MODE says."""

import recording

recording.start()

import failing  # noqa: E402
from agents import Agent, RunConfig, Runner, function_tool, set_default_openai_client  # noqa: E402, instrumented first
from openai import AsyncOpenAI  # noqa: E402

set_default_openai_client(AsyncOpenAI(max_retries=0, timeout=failing.MODEL_TIMEOUT), use_for_tracing=False)
# Without a function for errors, the exception of a tool ends the run.
options = {"failure_error_function": None} if failing.MODE == "raise" else {}
tool = function_tool(failing.get_weather, needs_approval=failing.MODE == "interrupt", **options)
agent = Agent(name="weather_agent", instructions=recording.SYSTEM, model="gpt-5-mini", tools=[tool])
config = RunConfig(workflow_name="weather", group_id=recording.SESSION)


def agent_run():
    result = Runner.run_sync(agent, recording.QUESTION, run_config=config)
    return failing.WAITS if result.interruptions else failing.ANSWERED


failing.run(agent_run)
