"""A LangGraph agent with a tool, in a thread of its own; a second run whose model call is refused."""

import recording

recording.start()

from langchain.agents import create_agent  # noqa: E402, instrumented before it is used
from langchain_core.tools import tool  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402

agent = create_agent(
    ChatOpenAI(model="gpt-5-mini", max_retries=0, use_responses_api=False), [tool(recording.get_weather)],
    system_prompt=recording.SYSTEM, name="weather_agent")
question = {"messages": [{"role": "user", "content": recording.QUESTION}]}
config = {"configurable": {"thread_id": recording.SESSION}, "metadata": {"session_id": recording.SESSION}}
recording.knows(session=recording.SESSION, agent="weather_agent")
agent.invoke(question, config)
recording.refused(agent.invoke, question, config)
