"""A deep agent that gives a task to a subagent, which has the tool."""

import recording

recording.start()

from deepagents import create_deep_agent  # noqa: E402, instrumented before it is used
from langchain_core.tools import tool  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402

agent = create_deep_agent(
    model=ChatOpenAI(model="gpt-5-mini", max_retries=0, use_responses_api=False), tools=[], system_prompt=recording.SYSTEM,
    subagents=[{"name": "clerk", "description": "Knows the weather.", "system_prompt": recording.SYSTEM,
                "tools": [tool(recording.get_weather)]}])
agent.invoke({"messages": [{"role": "user", "content": recording.QUESTION}]},
             {"configurable": {"thread_id": recording.SESSION}})
