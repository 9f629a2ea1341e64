"""Langfuse's SDK with a prompt of its prompt management, in its wrapper of OpenAI's client."""

import os

import recording

os.environ.update(LANGFUSE_PUBLIC_KEY="pk-lf-none", LANGFUSE_SECRET_KEY="sk-lf-none",
                  LANGFUSE_HOST=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"], LANGFUSE_BASE_URL=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])

from langfuse import get_client, observe  # noqa: E402
from langfuse.api import Prompt_Text  # noqa: E402
from langfuse.model import TextPromptClient  # noqa: E402
from langfuse.openai import OpenAI  # noqa: E402

prompt = TextPromptClient(Prompt_Text(name="weather/clerk", version=3, prompt=recording.SYSTEM, config={}, labels=["production"],
                                      tags=[], type="text"))


@observe(as_type="chain")
def weather(question):
    return OpenAI(max_retries=0).chat.completions.create(model="gpt-5-mini", langfuse_prompt=prompt, messages=[
        {"role": "system", "content": prompt.compile()}, {"role": "user", "content": question}])


recording.knows(prompt=prompt.name, prompt_version=str(prompt.version))
weather(recording.QUESTION)
get_client().flush()
