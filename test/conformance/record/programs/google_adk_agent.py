"""An ADK agent with a tool on Gemini; a second turn whose model call is refused."""

import asyncio

import recording

recording.start()

from google.adk.agents import Agent  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.genai import types  # noqa: E402

agent = Agent(name="weather_agent", model="gemini-2.5-flash", instruction=recording.SYSTEM, tools=[recording.get_weather])
recording.knows(conversation=recording.SESSION, agent="weather_agent")


async def main():
    runner = InMemoryRunner(agent=agent, app_name="weather")
    await runner.session_service.create_session(app_name="weather", user_id=recording.USER, session_id=recording.SESSION)
    message = types.Content(role="user", parts=[types.Part(text=recording.QUESTION)])
    async for _ in runner.run_async(user_id=recording.USER, session_id=recording.SESSION, new_message=message):
        pass


asyncio.run(main())
