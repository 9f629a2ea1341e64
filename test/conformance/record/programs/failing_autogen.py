"""An AutoGen assistant with a tool, whose run fails as RECORD_MODE says."""

import recording

recording.start()

import failing  # noqa: E402
from autogen_agentchat.agents import AssistantAgent  # noqa: E402, instrumented before it is used
from autogen_agentchat.messages import HandoffMessage  # noqa: E402
from autogen_ext.models.openai import OpenAIChatCompletionClient  # noqa: E402

model = OpenAIChatCompletionClient(model="gpt-4.1-mini", max_retries=0, timeout=failing.MODEL_TIMEOUT)
agent = AssistantAgent("weather_agent", model, tools=[failing.get_weather], system_message=recording.SYSTEM,
                       handoffs=["person"] if failing.MODE == "interrupt" else None, max_tool_iterations=3)


async def agent_run():
    result = await agent.run(task=recording.QUESTION)
    return failing.WAITS if isinstance(result.messages[-1], HandoffMessage) else failing.ANSWERED


failing.run(agent_run)
