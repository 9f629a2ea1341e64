"""Tests of sending: redaction, limits, and a service that is unavailable, slow or rejects spans."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import trace
from receiver import Receiver

import looptrace
from looptrace._content import UNREDACTED, is_content
from looptrace._context import PromptScopes, enter_prompt, exit_prompt
from looptrace._scores import _redacted
from looptrace._state import state

Start = Callable[..., looptrace.InitResult]


def spans(count: int, **attributes: object) -> None:
    for number in range(count):
        with looptrace.span(f"span {number}") as span:
            for key, value in attributes.items():
                span.set_attribute(key, value)


def test_redaction_reaches_every_value(started: Start, receiver: Receiver) -> None:
    seen: set[str] = set()

    def redact(key: str, value: Any) -> Any:
        seen.add(key)
        if key == "explode":
            raise RuntimeError(value)
        if key == "odd":
            return object()
        if key == "away":
            return None
        return value.replace("4242", "****") if isinstance(value, str) else value

    started(redact=redact)

    @looptrace.tool
    def pay(card: str) -> str:
        looptrace.score("card 4242", 1, explanation="4242")
        raise ValueError(f"declined {card}")

    with looptrace.metadata(card="4242"), looptrace.span("root") as root:
        for key in ("explode", "odd", "away"):
            root.set_attribute(key, "4242")
        with pytest.raises(ValueError, match="4242"):
            pay("4242")
    assert looptrace.flush(5)
    text = repr(receiver.spans)
    assert "4242" not in text
    attributes = receiver.named("root").attributes
    assert attributes["explode"] == attributes["odd"] == UNREDACTED
    assert "away" not in attributes
    assert receiver.named("execute_tool pay").message == "declined ****"
    assert {"status.message", "exception.stacktrace", "gen_ai.evaluation.explanation", "service.name"} <= seen


def test_content_is_not_sent(started: Start, receiver: Receiver) -> None:
    started(capture_content=False)
    tracer = state.running.tracer  # type: ignore[union-attr]
    with tracer.start_as_current_span("theirs") as theirs:
        for key in ("input.value", "llm.input_messages.0.message.content", "gen_ai.input.messages", "ai.prompt"):
            theirs.set_attribute(key, "secret")
        theirs.set_attribute("gen_ai.prompt.name", "greeting")
        theirs.set_attribute("gen_ai.usage.input_tokens", 7)
        theirs.add_event("gen_ai.user.message", {"content": "secret"})

    @looptrace.tool
    def ours(word: str) -> list[str]:
        return [word]

    ours("secret")
    with looptrace.span("by hand", input="secret") as span:
        span.set_output("secret")
    assert looptrace.flush(5)
    assert "secret" not in repr(receiver.spans)
    assert receiver.named("theirs").attributes == {"gen_ai.prompt.name": "greeting", "gen_ai.usage.input_tokens": 7}
    assert not is_content("gen_ai.request.model")


def test_thousands(started: Start, receiver: Receiver) -> None:
    started()
    spans(6000)
    assert looptrace.flush(20)
    assert len({span.span_id for span in receiver.spans}) == 6000
    assert looptrace.dropped() == looptrace.Dropped()
    assert all(request["content-encoding"] == "gzip" for request in receiver.requests)


def test_sent_without_flush(started: Start, receiver: Receiver) -> None:
    started()
    spans(1)
    end = time.monotonic() + 10
    while not receiver.spans and time.monotonic() < end:
        time.sleep(0.01)
    assert receiver.spans


def test_service_unavailable_and_back(started: Start, receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    started()
    receiver.status = 503
    spans(10)
    assert looptrace.flush(2) is False
    assert looptrace.flush(2) is False
    assert looptrace.dropped() == looptrace.Dropped(), "they stay in the queue"
    receiver.status = 200
    assert looptrace.flush(5)
    assert len(receiver.spans) == 10
    assert [record.name for record in caplog.records] == ["looptrace"], "logged once, and not by the exporter"


def test_unavailable_service_is_probed_without_spans(started: Start, receiver: Receiver) -> None:
    started()
    receiver.status = 503
    spans(10)
    while len(receiver.requests) < 3:
        assert looptrace.flush(2) is False
    first, *others = [request["spans"] for request in receiver.requests]
    assert first == "10"
    assert set(others) == {"0"}
    assert looptrace.dropped() == looptrace.Dropped(), "they stay in the queue"


def test_retry_after(started: Start, receiver: Receiver) -> None:
    started()
    receiver.status, receiver.headers = 429, {"Retry-After": "1"}
    spans(1)
    looptrace.flush(2)
    receiver.status = 200
    begin = time.monotonic()
    while not receiver.spans and time.monotonic() < begin + 10:
        time.sleep(0.01)
    assert 0.7 < time.monotonic() - begin < 8
    assert [request["spans"] for request in receiver.requests] == ["1", "0", "1"], "one probe"


def test_refused_is_logged_once(started: Start, receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    started()
    receiver.status = 401
    for _ in range(3):
        spans(5)
        looptrace.flush(5)
    assert looptrace.dropped().refused == 15
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == [
        "spans are dropped: HTTP 401  (logged once; see looptrace.dropped())"
    ]


def test_batch_that_is_too_large_is_halved(started: Start, receiver: Receiver) -> None:
    started()
    receiver.largest_batch = 7
    spans(100)
    assert looptrace.flush(10)
    assert len({span.span_id for span in receiver.spans}) == 100


def test_invalid_utf8(started: Start, receiver: Receiver) -> None:
    started()
    with state.running.tracer.start_as_current_span("theirs \ud800") as theirs:  # type: ignore[union-attr]
        theirs.set_attribute("text", "a\ud800b")
        theirs.set_attribute("list", ["\ud800"])
    spans(3)
    assert looptrace.flush(5)
    assert receiver.named("theirs ?").attributes == {"text": "a?b", "list": ["?"]}
    assert len(receiver.spans) == 4


class _Exits:
    def __str__(self) -> str:
        sys.exit("no name")


class _Fails:
    def __str__(self) -> str:
        raise RuntimeError("no name")


_NAMES: list[tuple[Any, str | None]] = [
    (5, "5"), (5.5, "5.5"), (("x",), "('x',)"), (_Fails(), "<unreadable _Fails>"),
    (_Exits(), None),
]  # fmt: skip


@pytest.mark.parametrize("settings", [{}, {"redact": lambda _key, value: value}, {"capture_content": False}])
@pytest.mark.parametrize(("name", "expected"), _NAMES, ids=[type(name).__name__ for name, _ in _NAMES])
def test_names_that_are_no_text(
    started: Start, receiver: Receiver, name: Any, expected: str | None, settings: dict[str, Any]
) -> None:
    """From OpenTelemetry's own API, which takes everything. Each is sent or counted, and what comes after arrives."""
    started(**settings)
    tracer = trace.get_tracer("app")
    tracer.start_span(name).end()
    with tracer.start_as_current_span("event") as span:
        span.add_event(name)
    with tracer.start_as_current_span("renamed") as span:
        span.update_name(name)
    trace.get_tracer(name, name).start_span("tracer").end()  # OpenTelemetry refuses what has no hash
    spans(3)
    assert looptrace.flush(10)
    spans(1)
    assert looptrace.flush(10)
    names = [span.name for span in receiver.spans]
    lost = 0 if expected is not None else 4
    assert looptrace.dropped() == looptrace.Dropped(refused=lost)
    assert sorted(name for name in names if name.startswith("span ")) == ["span 0", "span 0", "span 1", "span 2"]
    assert len(names) == 8 - lost
    if expected is not None:
        assert names.count(expected) == 2, "started, and renamed"
        assert [name for name, _ in receiver.named("event").events] == [expected]
        assert receiver.named("tracer").scope in ("", expected), "OpenTelemetry replaces empty names"


def test_spans_that_cannot_be_encoded_do_not_take_others_with_them(started: Start, receiver: Receiver) -> None:
    started()
    tracer = trace.get_tracer("app")
    tracer.start_span("kind", kind=5).end()  # type: ignore[arg-type]
    tracer.start_span("time", start_time="now").end()  # type: ignore[arg-type]
    spans(100)
    tracer.start_span("end").end("now")  # type: ignore[arg-type]
    assert looptrace.flush(10)
    assert looptrace.dropped() == looptrace.Dropped(refused=2)
    assert len(receiver.spans) == 101
    assert receiver.named("kind")


@pytest.mark.parametrize("raised", [SystemExit(0), KeyboardInterrupt(), GeneratorExit(), RecursionError()])
def test_redact_may_raise_anything(started: Start, receiver: Receiver, raised: BaseException) -> None:
    def redact(_key: str, _value: Any) -> Any:
        raise raised

    started(redact=redact)
    spans(3, card="4242")
    assert looptrace.flush(5)
    assert [span.attributes["card"] for span in receiver.spans] == [UNREDACTED] * 3
    assert looptrace.dropped() == looptrace.Dropped()


def test_an_exporter_that_cannot_be_made(started: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_settings: Any) -> None:
        raise RuntimeError("no certificate")

    monkeypatch.setattr("looptrace._processor.OTLPSpanExporter", fail)
    started()
    for _ in range(2):
        spans(3)
        assert looptrace.flush(5)
    assert looptrace.dropped() == looptrace.Dropped(refused=6)


@pytest.mark.parametrize("key", ["a\nb", "kł"])
def test_a_key_that_is_no_header(
    started: Start, receiver: Receiver, caplog: pytest.LogCaptureFixture, key: str
) -> None:
    started(api_key=key)
    spans(3)
    assert looptrace.flush(5)
    assert looptrace.dropped() == looptrace.Dropped(refused=3)
    [warning] = [record.getMessage() for record in caplog.records]
    assert "the API key" in warning
    assert key not in warning


def test_each_refused_span_is_counted_once(started: Start, receiver: Receiver) -> None:
    started()
    receiver.largest_batch = 0
    spans(100)
    assert looptrace.flush(20)
    assert looptrace.dropped() == looptrace.Dropped(refused=100)


def test_refusals_beyond_the_end_are_counted_once(started: Start, receiver: Receiver) -> None:
    started()
    receiver.largest_batch, receiver.delay = 0, 0.05
    spans(100)
    processor = state.running.processor  # type: ignore[union-attr]
    looptrace.flush(0.5)
    assert looptrace.shutdown(0) is False
    counted = looptrace.dropped()
    assert counted.refused + counted.unsent == 100
    processor._thread.join(60)  # type: ignore[union-attr]
    assert looptrace.dropped() == counted


def test_only_what_was_not_answered_is_sent_again(started: Start, receiver: Receiver) -> None:
    started()
    receiver.answers = [413, 400, 503]
    spans(4)
    assert looptrace.flush(5) is False
    assert looptrace.flush(5)
    assert [span.name for span in receiver.spans] == ["span 2", "span 3"]
    assert looptrace.dropped() == looptrace.Dropped(refused=2)
    assert [request["spans"] for request in receiver.requests] == ["4", "2", "2", "0", "2"]


def test_what_handles_the_log_may_record_spans(started: Start, receiver: Receiver) -> None:
    class Handler(logging.Handler):
        def emit(self, _record: logging.LogRecord) -> None:
            spans(1)

    started()
    receiver.answers = [503, 200, 400]
    log, handler = logging.getLogger("looptrace"), Handler()
    log.addHandler(handler)
    try:
        worker = threading.Thread(target=spans, args=(3,), daemon=True)
        worker.start()
        worker.join(20)
        assert not worker.is_alive()
        while not looptrace.flush(5):
            pass
    finally:
        log.removeHandler(handler)
    assert looptrace.dropped() == looptrace.Dropped(refused=3)


def test_open_spans_are_bounded(
    started: Start, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Spans that never end: those of model calls in the scope of a prompt, and those that another recorder has, too."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "100")
    started()
    processor = state.running.processor  # type: ignore[union-attr]
    tracer = trace.get_tracer("app")
    scopes: PromptScopes = []
    monkeypatch.setattr(processor, "_is_duplicate", lambda span: span.name == "duplicate")
    enter_prompt(scopes, {"gen_ai.prompt.name": "triage"})
    try:
        opened = [tracer.start_span(name) for _ in range(1000) for name in ("chat", "duplicate")]
        assert len(processor._open) == 100
        for span in opened[-2:]:
            span.set_attribute("gen_ai.operation.name", "chat")
            span.end()
    finally:
        exit_prompt(scopes)
    assert looptrace.flush(5)
    [sent] = receiver.spans
    assert (sent.name, sent.attributes["gen_ai.prompt.name"]) == ("chat", "triage")
    assert len(processor._open) == 98
    assert len([record for record in caplog.records if "are open" in record.getMessage()]) == 1
    assert len(processor.roots) > 1000
    opened.clear()
    del span
    gc.collect()
    assert len(processor.roots) == 0


def test_open_spans_that_are_not_sampled_are_forgotten(started: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    started()
    processor = state.running.processor  # type: ignore[union-attr]
    monkeypatch.setattr(processor, "_is_duplicate", lambda _span: True)
    monkeypatch.setattr(processor, "_sample_below", 0)
    spans(3)
    assert not processor._open


def test_long_names_count(started: Start, receiver: Receiver) -> None:
    started(timeout=0.1, endpoint="http://127.0.0.1:9")
    tracer = trace.get_tracer("app")
    for _ in range(100):
        tracer.start_span("x" * 1_000_000).end()
    assert 30 < looptrace.dropped().queue_full < 45, "64 MiB"


def test_memory_is_bounded(started: Start, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "100")
    receiver.status = 503
    started(content_limit=10_000_000)
    spans(1000)
    looptrace.flush(1)
    assert looptrace.dropped().queue_full == 900
    looptrace.shutdown(1)
    assert looptrace.dropped().unsent == 100
    monkeypatch.delenv("OTEL_BSP_MAX_QUEUE_SIZE")
    started(content_limit=10_000_000)
    for _ in range(100):
        spans(1, text="x" * 1_000_000)
    assert 30 < looptrace.dropped().queue_full < 45, "64 MiB"


def test_slow_service_bounds_flush_and_shutdown(started: Start, receiver: Receiver) -> None:
    started(timeout=60)
    receiver.delay = 30
    spans(10)
    begin = time.monotonic()
    assert looptrace.flush(0.3) is False
    spans(10)
    assert looptrace.shutdown(0.3) is False
    assert time.monotonic() - begin < 5
    assert looptrace.dropped().unsent == 20


def test_user_code_does_not_wait(started: Start, receiver: Receiver) -> None:
    receiver.delay = 30
    started(timeout=60)
    begin = time.monotonic()
    spans(2000)
    assert time.monotonic() - begin < 15


_EXIT = """
import time, looptrace
looptrace.init()
for number in range(2000):
    with looptrace.span("a") as span:
        span.set_output("x" * 1000)
print(time.time())
"""


@pytest.mark.parametrize("trouble", ["refused", "hangs", "unroutable"])
def test_exit_is_bounded(program: Any, receiver: Receiver, trouble: str) -> None:
    receiver.delay = 30 if trouble == "hangs" else 0
    endpoint = {"refused": "http://127.0.0.1:9", "hangs": receiver.url, "unroutable": "http://10.255.255.1:4318"}[
        trouble
    ]
    printed = program(_EXIT, LOOPTRACE_ENDPOINT=endpoint, LOOPTRACE_API_KEY="k", LOOPTRACE_TIMEOUT="0.5").stdout
    assert time.time() - float(printed) < 5


def test_exit_sends_what_waits(program: Any, receiver: Receiver) -> None:
    program(_EXIT, LOOPTRACE_ENDPOINT=receiver.url, LOOPTRACE_API_KEY="k", LOOPTRACE_TIMEOUT="20")
    assert len(receiver.spans) == 2000


_TERMINATED = """
import os, signal, sys, time, looptrace
signal.signal(signal.SIGTERM, HANDLER)
looptrace.init()
try:
    with looptrace.span("open"):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
except KeyboardInterrupt:
    pass
"""


@pytest.mark.skipif(os.name == "nt", reason="no such signal")
@pytest.mark.parametrize(
    ("handler", "told"), [("lambda *_: sys.exit(0)", None), ("signal.default_int_handler", "cancelled")]
)
def test_handlers_of_sigterm_in_the_manual(program: Any, receiver: Receiver, handler: str, told: str | None) -> None:
    program(_TERMINATED.replace("HANDLER", handler), LOOPTRACE_ENDPOINT=receiver.url, LOOPTRACE_API_KEY="k")
    span = receiver.named("open")
    assert (span.status, span.attributes.get("looptrace.status")) == (0, told)


def _in_child() -> None:
    with looptrace.span("child"):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork(started: Start, receiver: Receiver) -> None:
    started()
    spans(1)
    assert looptrace.flush(5), "the thread and a connection exist"
    with looptrace.span("parent"):
        children = [multiprocessing.get_context("fork").Process(target=_in_child) for _ in range(3)]
        for child in children:
            child.start()
        for child in children:
            child.join(10)
            assert child.exitcode == 0
    if (pid := os.fork()) == 0:
        with looptrace.span("bare"):
            pass
        os._exit(0 if looptrace.flush(5) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert looptrace.flush(5)
    names = sorted(span.name for span in receiver.spans)
    assert names == ["bare", "child", "child", "child", "parent", "span 0"], "each once"
    assert receiver.named("parent").trace_id in {span.trace_id for span in receiver.spans if span.name == "child"}


def _work() -> None:
    for _ in range(200):
        sum(range(20_000))


def test_service_down_costs_user_code_little(started: Start) -> None:
    """Compares the CPU time of steps with and without a span. The bound is loose, because the machine may be shared.
    bench/overhead.py measures exactly."""
    started(endpoint="http://127.0.0.1:9", timeout=0.2)
    times: dict[Callable[[], None], list[float]] = {_work: [], looptrace.tool(_work): []}
    for _ in range(40):
        for work, taken in times.items():
            begin = time.thread_time()
            work()
            taken.append(time.thread_time() - begin)
    plain, traced = (statistics.quantiles(taken)[0] for taken in times.values())
    assert traced / plain < 1.05


def test_score_of_a_run_that_cannot_be_sent(started: Start, caplog: pytest.LogCaptureFixture) -> None:
    started(endpoint="http://127.0.0.1:9")
    begin = time.monotonic()
    assert looptrace.score_run("01980000-0000-7000-8000-000000000000", "solved", True, timeout=0.5) is None
    assert time.monotonic() - begin < 5
    assert "could not score a run: ScoreError: ConnectionError" in caplog.text


def test_redaction_reaches_scores_of_runs(started: Start) -> None:
    started(redact=lambda key, value: None if key == "gen_ai.evaluation.explanation" else f"{key}={value}")
    config = state.running.config  # type: ignore[union-attr]
    assert _redacted(config, "card", 1, "4242") == {
        "name": "gen_ai.evaluation.name=card", "value": "gen_ai.evaluation.score.value=1.0", "comment": None,
    }  # fmt: skip
