"""Records the trip of testdata/trip.json with the stock OpenTelemetry SDK and prints its trace id.

Usage: send.py http|grpc ENDPOINT KEY TRIP SERVICE
"""

import json
import sys

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Status, StatusCode, Tracer


def new_exporter(protocol: str, endpoint: str, key: str) -> SpanExporter:
    headers = {"authorization": f"Bearer {key}"}
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter(endpoint=endpoint, insecure=True, headers=headers)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=endpoint, headers=headers)


def attribute(value: object) -> object:
    """Encodes structures as JSON text, as the GenAI conventions allow for spans."""
    is_structure = isinstance(value, dict) or (isinstance(value, list) and isinstance(value[0], dict))
    return json.dumps(value) if is_structure else value


def record(tracer: Tracer, step: dict) -> int:
    attributes = {name: attribute(value) for name, value in step["attributes"].items()}
    with tracer.start_as_current_span(step["name"], attributes=attributes) as span:
        for child in step["steps"]:
            record(tracer, child)
        if error := step.get("error"):
            span.set_attribute("error.type", error["type"])
            span.set_status(Status(StatusCode.ERROR, error["message"]))
            if stack := error.get("stack"):
                span.add_event(
                    "exception",
                    {
                        "exception.type": error["type"],
                        "exception.message": error["message"],
                        "exception.stacktrace": stack,
                    },
                )
        return span.get_span_context().trace_id


def main() -> None:
    protocol, endpoint, key, trip, service = sys.argv[1:]
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(new_exporter(protocol, endpoint, key)))
    with open(trip, encoding="utf-8") as file:
        trace_id = record(provider.get_tracer("e2e", "1.0"), json.load(file))
    provider.shutdown()  # sends the rest
    print(trace.format_trace_id(trace_id))


main()
