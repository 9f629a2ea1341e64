"""A LangGraph agent of a model and a node of tools, whose run fails as RECORD_MODE says."""

import recording

recording.start()

import failing  # noqa: E402
from langchain_core.tools import tool  # noqa: E402, instrumented before it is used
from langchain_openai import ChatOpenAI  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.graph import START, MessagesState, StateGraph  # noqa: E402
from langgraph.prebuilt import ToolNode, tools_condition  # noqa: E402
from langgraph.types import interrupt  # noqa: E402


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    if failing.MODE == "interrupt":
        interrupt({"approve": city})
    return failing.get_weather(city)


model = ChatOpenAI(model="gpt-5-mini", max_retries=0, timeout=failing.MODEL_TIMEOUT, use_responses_api=False).bind_tools([get_weather])
graph = StateGraph(MessagesState)
graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
# Without handling of errors, the exception of a tool ends the run.
graph.add_node("tools", ToolNode([get_weather], handle_tool_errors=failing.MODE == "recover"))
graph.add_edge(START, "model")
graph.add_conditional_edges("model", tools_condition)
graph.add_edge("tools", "model")
agent = graph.compile(checkpointer=InMemorySaver(), name="weather_agent")


def agent_run():
    question = {"messages": [{"role": "user", "content": recording.QUESTION}]}
    state = agent.invoke(question, {"configurable": {"thread_id": recording.SESSION}})
    return failing.WAITS if "__interrupt__" in state else failing.ANSWERED


failing.run(agent_run)
