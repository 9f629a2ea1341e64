"""An agent that calls a model with a prompt, once in the scope of the prompt and once without it."""

import openai

import looptrace

looptrace.init()
client = openai.OpenAI()


@looptrace.agent
def triage(ticket: str) -> str:
    prompt = looptrace.prompt("support/triage", alias="production")
    with prompt.render(product="Looptrace", ticket=ticket, placeholders={"history": []}) as rendered:
        answer = client.chat.completions.create(**rendered.openai())
        look(ticket)
    client.chat.completions.create(model="gpt-5-mini", messages=[{"role": "user", "content": "Something else."}])
    print(looptrace.current_run_id())
    return str(answer.choices[0].message.content)


@looptrace.tool
def look(ticket: str) -> str:
    return ticket


print(triage("I cannot log in."))
looptrace.shutdown(10)
