"""A service with the stock OpenTelemetry SDK. It answers three requests, each with a call of a model, a log record and a data point.

Prints its traces and the attribute "id" of everything that it sent as JSON. The standard environment configures it. Fails if an
export failed.
"""

import json
import logging
import sys
import uuid

from opentelemetry._logs import SeverityNumber
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, format_trace_id


class Failures(logging.Handler):
    """Notes whether the SDK logged a failure: it returns none."""

    any = False

    def emit(self, record: logging.LogRecord) -> None:
        self.any = True
        print(self.format(record), file=sys.stderr)


failures = Failures(logging.ERROR)
logging.getLogger("opentelemetry").addHandler(failures)

spans, logs = TracerProvider(), LoggerProvider()
spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
metrics = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())])
tracer, logger = spans.get_tracer("shop"), logs.get_logger("shop")
requests = metrics.get_meter("shop").create_counter("shop.requests")

traces: list[str] = []
ids: list[str] = []


def unique() -> str:
    ids.append(str(uuid.uuid4()))
    return ids[-1]


def call_model() -> None:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 30,
        "id": unique(),
    }
    with tracer.start_as_current_span("chat gpt-4o-mini", kind=SpanKind.CLIENT, attributes=attributes):
        logger.emit(
            severity_number=SeverityNumber.INFO, severity_text="INFO", body="a model wrote", attributes={"id": unique()}
        )


for _ in range(3):
    attributes = {
        "http.request.method": "POST",
        "http.route": "/recommendations",
        "url.path": "/recommendations",
        "url.scheme": "http",
        "http.response.status_code": 200,
        "id": unique(),
    }
    with tracer.start_as_current_span("POST /recommendations", kind=SpanKind.SERVER, attributes=attributes) as span:
        call_model()
        requests.add(1, {"id": unique()})
    traces.append(format_trace_id(span.get_span_context().trace_id))

flushed = [provider.force_flush() for provider in (spans, logs, metrics)]
print(json.dumps({"traces": traces, "ids": ids}))
sys.exit(not all(flushed) or failures.any)
