"""A LangGraph agent with a tool, run, streamed and failing, in one session."""

import looptrace

looptrace.init(service_name="langgraph-program")

from langchain.agents import create_agent  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402


@looptrace.observe
def look_outside(city: str) -> str:
    return f"Rain in {city}"


def get_weather(city: str) -> str:
    """The weather in a city."""
    looptrace.score("tool-called", 1)
    return look_outside(city)


agent = create_agent(ChatOpenAI(model="gpt-5-mini", stream_usage=True, max_retries=0), [get_weather], name="weather")

with looptrace.session("langgraph-session"), looptrace.user("ada"), looptrace.tags("test", "langgraph"):
    answer = agent.invoke({"messages": [{"role": "user", "content": "Weather in Paris?"}]})
    print(answer["messages"][-1].content)
    for _ in agent.stream({"messages": [{"role": "user", "content": "Stream the weather"}]}, stream_mode="messages"):
        pass
    try:
        agent.invoke({"messages": [{"role": "user", "content": "fail with 500"}]})
    except Exception as error:  # noqa: BLE001
        print(type(error).__name__)
