"""An Atomic agent: an answer, and another one in the same history."""

import recording

recording.start()

import instructor  # noqa: E402, instrumented before it is used
from atomic_agents import AgentConfig, AtomicAgent, BasicChatInputSchema, BasicChatOutputSchema  # noqa: E402
from openai import OpenAI  # noqa: E402

agent = AtomicAgent[BasicChatInputSchema, BasicChatOutputSchema](
    AgentConfig(client=instructor.from_openai(OpenAI(max_retries=0)), model="gpt-5-mini"))
agent.run(BasicChatInputSchema(chat_message=recording.QUESTION))
agent.run(BasicChatInputSchema(chat_message=recording.QUESTION))
