"""What the recorded programs share: a tracer provider that exports to the recorder, and tools that say what they did."""

import importlib
import json
import os
import urllib.request

QUESTION = "What is the weather in Paris?"
SYSTEM = "You are a weather clerk. Use the tool."
WEATHER = "Rain, 12 degrees"
SESSION = "thread-7"
USER = "ada"
TOOL_DESCRIPTION = "The weather of a city."
TOOL_PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Name of the city"}},
    "required": ["city"],
}


def start(**resource):
    """Sets the global providers of traces and logs, and instruments what RECORD_INSTRUMENT names, or Looptrace's SDK."""
    if os.environ.get("RECORD_INSTRUMENT") == "looptrace":
        import looptrace
        looptrace.init()
        return None
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    described = Resource.create({"service.name": os.environ["RECORD_NAME"], **resource})
    traces = TracerProvider(resource=described)
    traces.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(traces)
    logs = LoggerProvider(resource=described)
    logs.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter()))
    try:
        from opentelemetry._logs import set_logger_provider
        set_logger_provider(logs)
        from opentelemetry import _events
        from opentelemetry.sdk._events import EventLoggerProvider
        _events.set_event_logger_provider(EventLoggerProvider(logs))
    except ImportError:
        pass  # newer versions of the API have no events apart from logs
    for name in filter(None, os.environ.get("RECORD_INSTRUMENT", "").split(",")):
        module, _, attribute = name.partition(":")
        getattr(importlib.import_module(module), attribute)().instrument(
            tracer_provider=traces, **json.loads(os.environ.get("RECORD_INSTRUMENT_OPTIONS", "{}")))
    return traces


def get_weather(city: str) -> str:
    """The weather of a city."""
    said("get_weather", {"city": city}, WEATHER)
    return WEATHER


def said(name, arguments, result):
    """Tells the recorder that a tool ran."""
    tell("tool", {"name": name, "arguments": arguments, "result": result})


def knows(**context):
    """Tells the recorder what the program says about itself: session, conversation, user, agent, tags."""
    tell("context", context)


def tell(what, value):
    request = urllib.request.Request(f"{os.environ['RECORD_PROVIDER']}/journal/{what}", json.dumps(value).encode(),
                                     {"Content-Type": "application/json"})
    urllib.request.urlopen(request).close()


def refused(call, *args, **kwargs):
    """Makes a call that the provider refuses and returns the exception."""
    try:
        call(*args, **kwargs)
    except Exception as exception:  # the class is the library's own
        return exception
    raise AssertionError("the provider was to refuse this call")
