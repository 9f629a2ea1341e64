"""OpenInference's annotations and evaluations, of a span and of its trace."""

import recording

traces = recording.start()

from openinference.instrumentation import OITracer, TraceConfig, get_annotation_attributes, get_evaluation_attributes  # noqa: E402

tracer = OITracer(traces.get_tracer("weather"), TraceConfig())
recording.knows(scores=[
    {"of": "weather_agent", "name": "correct", "value": 1, "label": "yes", "comment": "It did rain.", "source": "program"},
    {"of": "weather_agent", "name": "tone", "label": "friendly", "source": "human"},
    {"of": "weather_agent", "name": "tone", "value": 0.25, "source": "program"},
    {"of": "run", "name": "helpful", "value": 0.75, "comment": "Short.", "source": "human"},
])
with tracer.start_as_current_span("weather_agent", openinference_span_kind="agent") as span:
    span.set_attributes(get_annotation_attributes(annotations=[
        {"name": "correct", "score": 1.0, "label": "yes", "explanation": "It did rain.", "annotator_kind": "LLM"},
        {"name": "tone", "label": "friendly", "annotator_kind": "HUMAN", "identifier": "ada"},
    ]))
    span.set_attributes(get_evaluation_attributes(evaluations=[
        {"name": "tone", "score": 0.25, "annotator_kind": "CODE", "identifier": "length"},
    ]))
    span.set_attributes(get_annotation_attributes(annotations=[
        {"name": "helpful", "score": 0.75, "explanation": "Short.", "annotator_kind": "HUMAN"},
    ], scope="trace"))
