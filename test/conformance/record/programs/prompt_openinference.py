"""OpenInference: a function that names its prompt by prompt.id, within a prompt template's version."""

import recording

traces = recording.start()

from openai import OpenAI  # noqa: E402, instrumented before it is used
from openinference.instrumentation import OITracer, TraceConfig, using_prompt_template  # noqa: E402
from openinference.semconv.trace import SpanAttributes  # noqa: E402
from opentelemetry import trace  # noqa: E402

tracer = OITracer(traces.get_tracer("weather"), TraceConfig())


@tracer.chain(name="weather")
def weather(question):
    trace.get_current_span().set_attribute(SpanAttributes.PROMPT_ID, "weather/clerk")
    return OpenAI(max_retries=0).chat.completions.create(model="gpt-5-mini", messages=[
        {"role": "system", "content": recording.SYSTEM}, {"role": "user", "content": question}])


recording.knows(prompt="weather/clerk", prompt_version="3")
with using_prompt_template(template=recording.SYSTEM, version="3", variables={}):
    weather(recording.QUESTION)
