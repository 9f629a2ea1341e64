"""Traceloop's SDK with a managed prompt: what its get_prompt tells the spans that follow."""

import os

import recording

from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import workflow
from traceloop.sdk.tracing.tracing import set_managed_prompt_tracing_context

Traceloop.init(app_name="weather", api_endpoint=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"], disable_batch=True,
               telemetry_enabled=False)

from openai import OpenAI  # noqa: E402, instrumented before it is used


@workflow(name="weather")
def weather(question):
    set_managed_prompt_tracing_context("weather/clerk", 3, "warmer", "a1b2c3", {})
    return OpenAI(max_retries=0).chat.completions.create(model="gpt-5-mini", messages=[
        {"role": "system", "content": recording.SYSTEM}, {"role": "user", "content": question}])


recording.knows(prompt="weather/clerk", prompt_version="3")
weather(recording.QUESTION)
