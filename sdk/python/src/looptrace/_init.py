"""init, flush and shutdown."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from . import _instrument, _keys, _prompt_cache
from ._config import Config, Instrument, Redact, is_url, not_a_url, resolve
from ._content import Rewriter, redacting, without_content
from ._context import for_processor, prompt_attributes
from ._log import failed, logger, warn
from ._processor import Dropped, Limits, QueueProcessor
from ._state import Running, state
from ._version import __version__

# Without these, OpenTelemetry instrumentations capture no content or send it in log records.
_CAPTURE_CONTENT = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
}


@dataclass(frozen=True)
class InitResult:
    """The result of init."""

    # False if nothing is recorded, because OTEL_SDK_DISABLED is set or because init failed and logged the error.
    enabled: bool
    # The URL that spans are sent to.
    endpoint: str
    # The name and version of the instrumentation's distribution, by library. A library that is not imported yet is
    # instrumented on import.
    instrumented: Mapping[str, str] = field(default_factory=dict)
    # The reason why a library is not recorded, by library.
    skipped: Mapping[str, str] = field(default_factory=dict)


_lock = threading.Lock()
_result: InitResult | None = None


def init(
    *,
    api_key: str | None = None,
    endpoint: str | None = None,
    project: str | None = None,
    service_name: str | None = None,
    environment: str | None = None,
    release: str | None = None,
    capture_content: bool | None = None,
    content_limit: int | None = None,
    sample_rate: float | None = None,
    redact: Redact | None = None,
    instrument: Instrument | None = None,
    timeout: float | None = None,
) -> InitResult:
    """Starts sending the spans of this program to Looptrace and turns on all supported installed instrumentations.

    Omitted arguments are read from LOOPTRACE_*, then from OTEL_* (see docs/python-sdk.md). A second call has no effect
    and returns the result of the first. init never raises.

    Args:
        api_key: A key with the scope ingest:write, and prompts:read for looptrace.prompt.
        endpoint: The base URL of Looptrace or its URL for OTLP traces. Default: http://127.0.0.1:7090.
        project: The project's id, for run_url. The key determines the project that spans are stored in.
        service_name: The resource's service.name.
        environment: For example "production".
        release: The program's version.
        capture_content: False removes prompts, responses, arguments and results before sending.
        content_limit: The approximate maximum length of a value in spans of this package. Default: 65,536.
        sample_rate: The fraction of runs to record, 0 to 1. A run is recorded completely or not at all.
        redact: Called with the key and value of every attribute of every instrumentation before sending. Returns the
            value to send, or None to remove the attribute. If it raises, the value is replaced.
        instrument: "auto", the names of libraries, or False.
        timeout: The time limit of one request, of flush and of shutdown at exit, in seconds. Default: 5.
    """
    global _result
    with _lock:
        if _result is not None:
            logger.debug("init was already called; ignoring this call")
            return _result
        try:
            config = resolve(
                api_key=api_key, endpoint=endpoint, project=project, service_name=service_name, environment=environment,
                release=release, capture_content=capture_content, content_limit=content_limit, sample_rate=sample_rate,
                redact=redact, instrument=instrument, timeout=timeout,
            )  # fmt: skip
            _result = _start(config)
        except Exception as error:  # noqa: BLE001 - must not raise into user code
            failed("start recording", error)
            _result = InitResult(enabled=False, endpoint="")
        return _result


def _start(config: Config) -> InitResult:
    if config.disabled:
        logger.info("recording is off: OTEL_SDK_DISABLED is set")
        return InitResult(enabled=False, endpoint=config.traces_url)
    if config.capture_content:
        for name, value in _CAPTURE_CONTENT.items():
            os.environ.setdefault(name, value)
    if not is_url(config.traces_url):
        warn("%s; no span can be sent", not_a_url(config.traces_url))
    if config.api_key is None and not any(os.environ.get(name) for name in _HEADERS):
        warn("no API key, so spans will be rejected: set LOOPTRACE_API_KEY or pass api_key to init")
    existing: Any = trace.get_tracer_provider()
    provider: Any = existing if hasattr(existing, "add_span_processor") else _provider(config)
    found = _instrument.Instrumentations(config, provider)
    sampler = TraceIdRatioBased(config.sample_rate) if provider is existing and config.sample_rate is not None else None
    processor = QueueProcessor(
        url=config.traces_url,
        headers={"authorization": f"Bearer {config.api_key}"} if config.api_key else {},
        timeout=config.timeout,
        limits=Limits.from_environment(),
        attributes=for_processor,
        call_attributes=prompt_attributes,
        is_duplicate=found.is_duplicate,
        rewriters=_rewriters(config),
        sample_below=None if sampler is None else sampler.bound,
    )
    provider.add_span_processor(processor)
    if provider is not existing:
        trace.set_tracer_provider(provider)
    state.running = Running(config, provider.get_tracer("looptrace", __version__), processor)
    state.processor = processor
    atexit.register(processor.shutdown)
    found.turn_on(config.instrument)
    _instrument.log(found)
    return InitResult(
        enabled=True,
        endpoint=config.traces_url,
        instrumented=MappingProxyType(found.instrumented),
        skipped=MappingProxyType(found.skipped),
    )


_MAX_ATTRIBUTES = 16_384
_HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")


def _provider(config: Config) -> TracerProvider:
    named = {
        _keys.SERVICE_NAME: config.service_name,
        _keys.ENVIRONMENT: config.environment,
        _keys.SERVICE_VERSION: config.release,
    }
    resource = Resource.create({key: value for key, value in named.items() if value is not None})
    # Without a rate, the provider uses OTEL_TRACES_SAMPLER, which by default records everything.
    sampler = None if config.sample_rate is None else ParentBased(TraceIdRatioBased(config.sample_rate))
    # OpenInference stores each part of each message in a separate attribute. With the default limit of 128, only the
    # end of a long conversation would remain.
    limited = any(os.environ.get(name) for name in ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT"))
    limits = None if limited else SpanLimits(max_span_attributes=_MAX_ATTRIBUTES)
    return TracerProvider(resource=resource, sampler=sampler, shutdown_on_exit=False, span_limits=limits)


def _rewriters(config: Config) -> list[Rewriter]:
    rewriters: list[Rewriter] = []
    if not config.capture_content:
        rewriters.append(Rewriter(without_content, drops_events=True))
    if config.redact is not None:
        rewriters.append(Rewriter(redacting(config.redact)))
    return rewriters


def flush(timeout: float | None = None) -> bool:
    """Sends queued spans within timeout seconds, by default the timeout of init. Returns whether all were sent."""
    try:
        if (running := state.running) is None:
            return True
        return running.processor.flush(running.config.timeout if timeout is None else timeout)
    except Exception as error:  # noqa: BLE001 - must not raise into user code
        failed("flush", error)
        return False


def shutdown(timeout: float | None = None) -> bool:
    """Sends queued spans and stops recording within timeout seconds. Returns whether all were sent. It runs
    automatically at exit."""
    global _result
    try:
        _prompt_cache.close()
        with _lock:
            running, state.running, _result = state.running, None, None
        return True if running is None else running.processor.close(timeout)
    except Exception as error:  # noqa: BLE001 - must not raise into user code
        failed("shut down", error)
        return False


def dropped() -> Dropped:
    """Returns the number of spans that were dropped, by reason."""
    return Dropped() if state.processor is None else state.processor.dropped
