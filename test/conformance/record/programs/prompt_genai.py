"""The newest conventions: OpenTelemetry's instrumentation, and a span processor that names the prompt of each model call."""

import recording

traces = recording.start()

from openai import OpenAI  # noqa: E402, instrumented before it is used
from opentelemetry import baggage, context  # noqa: E402
from opentelemetry.sdk.trace import SpanProcessor  # noqa: E402


class NamePrompt(SpanProcessor):
    def on_start(self, span, parent_context=None):
        for key in ("gen_ai.prompt.name", "gen_ai.prompt.version"):
            if value := baggage.get_baggage(key, parent_context):
                span.set_attribute(key, value)


traces.add_span_processor(NamePrompt())
recording.knows(prompt="weather/clerk", prompt_version="3")
with traces.get_tracer("weather").start_as_current_span("invoke_workflow weather", attributes={"gen_ai.operation.name": "invoke_workflow"}):
    token = context.attach(baggage.set_baggage("gen_ai.prompt.version", "3", baggage.set_baggage("gen_ai.prompt.name", "weather/clerk")))
    OpenAI(max_retries=0).chat.completions.create(model="gpt-5-mini", messages=[
        {"role": "system", "content": recording.SYSTEM}, {"role": "user", "content": recording.QUESTION}])
    context.detach(token)
