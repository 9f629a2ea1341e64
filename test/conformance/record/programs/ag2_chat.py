"""A chat of two AG2 agents (autogen), of which one has a tool, traced by autogen.opentelemetry."""

import recording

traces = recording.start()

from autogen import ConversableAgent, LLMConfig  # noqa: E402
from autogen.opentelemetry import instrument_agent, instrument_llm_wrapper  # noqa: E402

instrument_llm_wrapper(tracer_provider=traces, capture_messages=True)
agent = ConversableAgent("weather_agent", system_message=recording.SYSTEM, llm_config=LLMConfig({"model": "gpt-5-mini"}),
                         functions=[recording.get_weather], human_input_mode="NEVER")
user = ConversableAgent("user", llm_config=False, human_input_mode="NEVER")
for one in (agent, user):
    instrument_agent(one, tracer_provider=traces)
recording.knows(agent="weather_agent")
user.register_for_execution(name="get_weather")(recording.get_weather)
user.initiate_chat(agent, message=recording.QUESTION, max_turns=2)
