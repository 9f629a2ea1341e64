"""Evaluates an agent that calls a model by OpenAI's client, with another number of calls for each item."""

import asyncio

import openai

import looptrace

client, asynchronous = openai.OpenAI(max_retries=0), openai.AsyncOpenAI(max_retries=0)
CASES = [{"key": f"calls-{number}", "input": {"calls": number}} for number in range(3)]


@looptrace.agent
def agent(calls: int) -> str:
    for _ in range(calls):
        messages = [{"role": "user", "content": "Is it raining?"}]
        client.chat.completions.create(model="gpt-5-mini", messages=messages)  # type: ignore[arg-type]
    return "done"


async def agent_async(calls: int) -> str:
    text = "fail with 500" if calls == 2 else "Is it raining?"
    messages = [{"role": "user", "content": text}]
    answer = await asynchronous.chat.completions.create(model="gpt-5-mini", messages=messages)  # type: ignore[arg-type]
    return str(answer.choices[0].message.content)


first = looptrace.evaluate(CASES, agent, name="calls", branch="main")
for result in sorted(first.results, key=lambda each: str(each.item.key)):
    print(result.item.key, result.model, result.usage)
second = asyncio.run(looptrace.evaluate_async(CASES, agent_async, name="calls", branch="topic"))
for result in sorted(second.results, key=lambda each: str(each.item.key)):
    print(result.item.key, result.output, result.error and result.error.code, result.usage)
print(looptrace.gate(second, first, metric="failures", margin=1).decision)
print(first.id, first.problems, second.problems)
looptrace.shutdown(10)
