"""An ADK agent with a tool on Gemini, whose run fails as RECORD_MODE says."""

import recording

recording.start()

import failing  # noqa: E402
from google.adk.agents import Agent  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.adk.tools import FunctionTool  # noqa: E402
from google.genai import types  # noqa: E402

# Without a function for errors, the exception of a tool ends the run.
options = {}
if failing.MODE == "recover":
    options["on_tool_error_callback"] = lambda tool, args, tool_context, error: {"error": str(error)}
timeout = types.HttpOptions(timeout=int(failing.MODEL_TIMEOUT * 1000))
agent = Agent(name="weather_agent", model="gemini-2.5-flash", instruction=recording.SYSTEM,
              tools=[FunctionTool(failing.get_weather, require_confirmation=failing.MODE == "interrupt")],
              generate_content_config=types.GenerateContentConfig(http_options=timeout), **options)


async def agent_run():
    runner = InMemoryRunner(agent=agent, app_name="weather")
    await runner.session_service.create_session(app_name="weather", user_id=recording.USER, session_id=recording.SESSION)
    message = types.Content(role="user", parts=[types.Part(text=recording.QUESTION)])
    end = None
    async for event in runner.run_async(user_id=recording.USER, session_id=recording.SESSION, new_message=message):
        if event.long_running_tool_ids:
            end = failing.WAITS
        elif event.is_final_response() and not event.error_code and event.content and end is None:
            end = failing.ANSWERED
    return end


failing.run(agent_run)
