"""Tests of init: settings, existing providers, sampling and instrumentations."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from receiver import Receiver

import looptrace
from looptrace._config import Config, resolve
from looptrace._instrument import LIBRARIES

_NOTHING: dict[str, Any] = dict.fromkeys(
    ("api_key", "endpoint", "project", "service_name", "environment", "release", "capture_content", "content_limit",
     "sample_rate", "redact", "instrument", "timeout")
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("LOOPTRACE_", "OTEL_")):
            monkeypatch.delenv(name)


def settings(**given: Any) -> Config:
    return resolve(**{**_NOTHING, **given})


def test_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings().traces_url == "http://127.0.0.1:7090/v1/traces"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel:4318/")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "7")
    assert (settings().traces_url, settings().web_url) == ("http://otel:4318/v1/traces", None)
    assert settings().timeout == 7
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://otel:4318/custom")
    assert settings().traces_url == "http://otel:4318/custom"
    monkeypatch.setenv("LOOPTRACE_ENDPOINT", "https://lt.example/v1/traces")
    monkeypatch.setenv("LOOPTRACE_TIMEOUT", "2.5")
    assert (settings().traces_url, settings().web_url) == ("https://lt.example/v1/traces", "https://lt.example")
    assert settings().timeout == 2.5
    assert settings(endpoint="http://a").traces_url == "http://a/v1/traces"
    assert settings(timeout=1).timeout == 1


def test_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "API_KEY": "k", "PROJECT": "p", "SERVICE_NAME": "s", "ENVIRONMENT": "e", "RELEASE": "r",
        "CAPTURE_CONTENT": "false", "SAMPLE_RATE": "0.25", "INSTRUMENT": "openai, pydantic_ai", "CONTENT_LIMIT": "10",
    }.items():  # fmt: skip
        monkeypatch.setenv("LOOPTRACE_" + name, value)
    config = settings()
    assert (config.api_key, config.project, config.service_name, config.environment, config.release) == tuple("kpser")
    assert (config.capture_content, config.sample_rate, config.content_limit) == (False, 0.25, 10)
    assert config.instrument == ("openai", "pydantic-ai")
    assert "api_key" not in repr(config), "the key must not appear in logs"


def test_invalid_settings_are_replaced(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("LOOPTRACE_SAMPLE_RATE", "often")
    monkeypatch.setenv("LOOPTRACE_CAPTURE_CONTENT", "perhaps")
    config = settings(timeout=-1)
    assert (config.sample_rate, config.capture_content, config.timeout) == (1.0, True, 5.0)
    assert len(caplog.records) == 3


def test_idempotent(started: Callable[..., looptrace.InitResult], receiver: Receiver) -> None:
    first = started()
    assert looptrace.init(endpoint="http://elsewhere", api_key="other") is first
    with looptrace.span("once"):
        pass
    looptrace.flush(5)
    assert len(receiver.spans) == 1
    assert receiver.requests[0]["authorization"] == "Bearer k"
    assert receiver.requests[0]["path"] == "/v1/traces"


def test_disabled(program: Any, receiver: Receiver) -> None:
    source = "import looptrace; print(looptrace.init().enabled); looptrace.span('a').__enter__()"
    assert program(source, OTEL_SDK_DISABLED="true", LOOPTRACE_ENDPOINT=receiver.url).stdout == "False\n"
    assert receiver.requests == []


def test_resource(program: Any, receiver: Receiver) -> None:
    program(
        "import looptrace; looptrace.init(service_name='shop', environment='test', release='1.2')\n"
        "with looptrace.span('a'): pass",
        LOOPTRACE_ENDPOINT=receiver.url,
        LOOPTRACE_API_KEY="k",
        OTEL_SERVICE_NAME="not this",
        OTEL_RESOURCE_ATTRIBUTES="team=blue",
    )
    resource = receiver.named("a").resource
    assert resource["service.name"] == "shop"
    assert resource["deployment.environment.name"] == "test"
    assert resource["service.version"] == "1.2"
    assert resource["team"] == "blue"


def test_long_conversations_are_kept(program: Any, receiver: Receiver) -> None:
    program(
        "import looptrace; looptrace.init()\n"
        "with looptrace.span('a') as span:\n"
        "    for number in range(1000): span.set_attribute(f'llm.input_messages.{number}', 'x')",
        LOOPTRACE_ENDPOINT=receiver.url,
        LOOPTRACE_API_KEY="k",
    )
    assert len(receiver.named("a").attributes) == 1001


_EXISTING = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=lambda span: span.name + "\\n")))
trace.set_tracer_provider(provider)
import looptrace
looptrace.init(sample_rate=RATE, redact=lambda key, value: "gone")
assert trace.get_tracer_provider() is provider
for number in range(200):
    with trace.get_tracer("theirs").start_as_current_span(f"theirs {number}", attributes={"secret": "x"}):
        with looptrace.span(f"ours {number}"):
            pass
"""


def test_existing_provider_is_kept(program: Any, receiver: Receiver) -> None:
    environment = {"LOOPTRACE_ENDPOINT": receiver.url, "LOOPTRACE_API_KEY": "k"}
    printed = program(_EXISTING.replace("RATE", "0.5"), **environment).stdout.splitlines()
    assert len(printed) == 400, "the existing exporter gets all spans"
    by_trace: dict[str, set[str]] = {}
    for span in receiver.spans:
        by_trace.setdefault(span.trace_id, set()).add(span.name.partition(" ")[0])
    assert 60 < len(by_trace) < 140, "about half of the runs"
    assert all(names == {"ours", "theirs"} for names in by_trace.values()), "a run is recorded completely or not at all"
    assert {span.attributes["secret"] for span in receiver.spans if span.name.startswith("theirs")} == {"gone"}


@pytest.mark.parametrize(("rate", "least", "most"), [("0", 0, 0), ("0.5", 60, 140), ("1", 200, 200)])
def test_sampling(program: Any, receiver: Receiver, rate: str, least: int, most: int) -> None:
    source = (
        "import looptrace; looptrace.init()\n"
        "for _ in range(200):\n"
        "    with looptrace.span('root'), looptrace.span('child'): pass"
    )
    program(source, LOOPTRACE_ENDPOINT=receiver.url, LOOPTRACE_API_KEY="k", LOOPTRACE_SAMPLE_RATE=rate)
    traces = {span.trace_id for span in receiver.spans}
    assert least <= len(traces) <= most
    assert len(receiver.spans) == 2 * len(traces)


@pytest.mark.skipif(importlib.util.find_spec("langchain_core") is None, reason="LangChain is not installed")
def test_skipped_libraries_have_reasons(program: Any) -> None:
    source = (
        "import looptrace, json\n"
        "result = looptrace.init(api_key='k', instrument=['langchain', 'nonsense', 'crewai'], endpoint='http://127.0.0.1:1')\n"
        "print(json.dumps([dict(result.instrumented), dict(result.skipped)]))"
    )
    instrumented, skipped = json.loads(program(source, LOOPTRACE_TIMEOUT="0.2").stdout)
    assert list(instrumented) == ["langchain"]
    assert instrumented["langchain"].startswith("openinference-instrumentation-langchain ")
    assert skipped["nonsense"].startswith("unknown library; supported are agno, ")
    assert skipped["crewai"] == "not installed"
    assert skipped["openai-agents"] == "not requested"
    assert set(instrumented) | set(skipped) == {*LIBRARIES, "nonsense"}


def test_one_instrumentation_per_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenInference is preferred if all instrumentations are installed. No library is imported."""
    from opentelemetry.sdk.trace import TracerProvider

    from looptrace import _instrument

    chosen: list[str] = []
    monkeypatch.setattr(_instrument, "_version", lambda _distribution: "1")
    monkeypatch.setattr(_instrument, "_entry_points", lambda _distribution: [])
    monkeypatch.setattr("wrapt.register_post_import_hook", lambda _hook, name: chosen.append(name))
    monkeypatch.setattr(_instrument, "sys", type("sys", (), {"modules": {}}))
    found = _instrument.Instrumentations(settings(), TracerProvider())
    found.turn_on("auto")
    assert found.skipped == {}
    assert len(chosen) == len(set(chosen))
    assert found.instrumented["openai"] == "openinference-instrumentation-openai 1"
    assert found.instrumented["pydantic-ai"] == "pydantic-ai-slim 1", "the library's own instrumentation comes first"
    assert found.instrumented["strands"] == "strands-agents 1"


class _Hostile:
    def __str__(self) -> str:
        raise RuntimeError("str")

    __repr__ = __bool__ = __iter__ = __float__ = __eq__ = __hash__ = __str__  # type: ignore[assignment]


_ODD: list[Any] = [5, 0.5, [1], {"a": 1}, b"x", _Hostile(), object, "\ud800", "odd", [None], [_Hostile()]]


@pytest.mark.parametrize("setting", list(_NOTHING))
def test_no_setting_turns_recording_off(
    setting: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A setting that cannot be used is said in the log, and has its default."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for odd in _ODD:
        given = {"endpoint": receiver.url, "api_key": "k", "instrument": False, "timeout": 5, setting: odd}
        try:
            assert looptrace.init(**given).enabled, odd
            with looptrace.span("a"):
                pass
            assert looptrace.flush(0.1 if setting == "timeout" else 5)
        finally:
            looptrace.shutdown(5)
    assert "could not start recording" not in caplog.text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (5, "auto"),
        (True, "auto"),
        (0, ()),
        (_Hostile(), "auto"),
        (False, ()),
        ([], ()),
        ("openai", ("openai",)),
        (["openai", 5, "pydantic_ai"], ("openai", "5", "pydantic-ai")),
    ],
)
def test_instrument(given: Any, expected: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert settings(instrument=given).instrument == expected
    assert ("instrument" in caplog.text) == (expected == "auto" and given is not True)


@pytest.mark.parametrize(
    "endpoint",
    ["localhost:7090", "htp://localhost", "//localhost", "http://", "http://[::1", "http://localhost:99999", "ł ", "5"],
)
def test_an_endpoint_that_is_no_url_is_said(endpoint: str, caplog: pytest.LogCaptureFixture) -> None:
    assert looptrace.init(endpoint=endpoint, api_key="k", instrument=False, timeout=1).enabled
    try:
        first = caplog.messages[-1]
        with looptrace.span("a"):
            pass
        assert looptrace.flush(5)
        assert looptrace.dropped() == looptrace.Dropped(refused=1)
    finally:
        looptrace.shutdown(1)
    for message in (first, caplog.messages[-1]):
        assert endpoint.strip().rstrip("/") in message
        assert "is not the URL of a service" in message


@pytest.mark.parametrize("endpoint", ["http://localhost:7090", "HTTPS://lt.example/v1/traces", "http://[::1]:7090/"])
def test_an_endpoint_that_is_a_url(endpoint: str, caplog: pytest.LogCaptureFixture) -> None:
    looptrace.init(endpoint=endpoint, api_key="k", instrument=False)
    looptrace.shutdown(0)
    assert not caplog.messages
