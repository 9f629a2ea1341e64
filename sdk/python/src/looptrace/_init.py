"""init and its counterpart."""

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

from . import _instrument, _keys
from ._config import Config, Instrument, Redact, resolve
from ._content import Rewriter, redacting, without_content
from ._context import for_processor
from ._log import failed, logger
from ._processor import Dropped, Limits, QueueProcessor
from ._state import Running, state
from ._version import __version__

# Without these the instrumentations of OpenTelemetry capture no content, or put it into log records.
_CAPTURE_CONTENT = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
}


@dataclass(frozen=True)
class InitResult:
    """What init did."""

    # False when nothing is recorded: OTEL_SDK_DISABLED, or a failure that the log tells of.
    enabled: bool
    # Where spans go.
    endpoint: str
    # Library → the distribution that records it, with its version. One that is not imported yet is instrumented when
    # it is.
    instrumented: Mapping[str, str] = field(default_factory=dict)
    # Library → why it is not recorded.
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
    """Starts recording: spans of this program go to Looptrace, and every installed instrumentation that this package
    knows is turned on.

    What is not given is read from LOOPTRACE_*, then from OTEL_*; docs/python-sdk.md lists them. A second call changes
    nothing and returns the first one's result. It never raises.

    Args:
        api_key: A key with the scope ingest:write.
        endpoint: The product's address, http://127.0.0.1:7090 by default, or the full one of its OTLP traces.
        project: The project's id, for run_url. Where spans go is the key's to say.
        service_name: The resource's service.name.
        environment: For example "production".
        release: The program's version.
        capture_content: False keeps prompts, answers, arguments and results out of what is sent.
        content_limit: About how many characters of one value are kept by this package's spans; 65,536 by default.
        sample_rate: The share of runs to record, 0 to 1. A run is recorded whole or not at all.
        redact: Called with the key and the value of every attribute before it is sent, whoever recorded it. Returns
            the value to send, None for none. Where it raises, the value is replaced.
        instrument: "auto", the names of libraries, or False.
        timeout: Seconds for one request, for flush and shutdown, and so at most for the program's exit. 5 by default.
    """
    global _result
    with _lock:
        if _result is not None:
            logger.debug("init was called again; the first call's settings stand")
            return _result
        try:
            config = resolve(
                api_key=api_key, endpoint=endpoint, project=project, service_name=service_name, environment=environment,
                release=release, capture_content=capture_content, content_limit=content_limit, sample_rate=sample_rate,
                redact=redact, instrument=instrument, timeout=timeout,
            )  # fmt: skip
            _result = _start(config)
        except Exception as error:  # noqa: BLE001 - a program runs on without being recorded
            failed("start recording", error)
            _result = InitResult(enabled=False, endpoint="")
        return _result


def _start(config: Config) -> InitResult:
    if config.disabled:
        logger.info("nothing is recorded: OTEL_SDK_DISABLED is set")
        return InitResult(enabled=False, endpoint=config.traces_url)
    if config.capture_content:
        for name, value in _CAPTURE_CONTENT.items():
            os.environ.setdefault(name, value)
    if config.api_key is None and not any(os.environ.get(name) for name in _HEADERS):
        logger.warning("no key: give init an api_key or set LOOPTRACE_API_KEY; the service will refuse spans")
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
        is_repeat=found.repeats,
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


_MOST_ATTRIBUTES = 16_384
_HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")


def _provider(config: Config) -> TracerProvider:
    named = {
        _keys.SERVICE_NAME: config.service_name,
        _keys.ENVIRONMENT: config.environment,
        _keys.SERVICE_VERSION: config.release,
    }
    resource = Resource.create({key: value for key, value in named.items() if value is not None})
    # Without a rate, OTEL_TRACES_SAMPLER says, and without that everything is recorded.
    sampler = None if config.sample_rate is None else ParentBased(TraceIdRatioBased(config.sample_rate))
    # OpenInference puts each part of each message into an attribute of its own: of a long conversation, 128 attributes
    # would keep the end.
    limited = any(os.environ.get(name) for name in ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT"))
    limits = None if limited else SpanLimits(max_span_attributes=_MOST_ATTRIBUTES)
    return TracerProvider(resource=resource, sampler=sampler, shutdown_on_exit=False, span_limits=limits)


def _rewriters(config: Config) -> list[Rewriter]:
    rewriters: list[Rewriter] = []
    if not config.capture_content:
        rewriters.append(Rewriter(without_content, drops_events=True))
    if config.redact is not None:
        rewriters.append(Rewriter(redacting(config.redact)))
    return rewriters


def flush(timeout: float | None = None) -> bool:
    """Sends what waits, within timeout seconds (init's without one). False when that did not succeed."""
    try:
        if (running := state.running) is None:
            return True
        return running.processor.flush(running.config.timeout if timeout is None else timeout)
    except Exception as error:  # noqa: BLE001 - user code calls this
        failed("flush", error)
        return False


def shutdown(timeout: float | None = None) -> bool:
    """Sends what waits and stops recording, within timeout seconds. False when something was left. A program need not
    call it: it happens at exit."""
    global _result
    try:
        with _lock:
            running, state.running, _result = state.running, None, None
        return True if running is None else running.processor.close(timeout)
    except Exception as error:  # noqa: BLE001 - user code calls this
        failed("shut down", error)
        return False


def dropped() -> Dropped:
    """How many spans were not recorded, and why."""
    return Dropped() if state.processor is None else state.processor.dropped
