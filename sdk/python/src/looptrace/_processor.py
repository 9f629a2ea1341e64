"""A span processor with a bounded queue and one thread that sends spans with the OTLP exporter.

It replaces BatchSpanProcessor, whose flush and exporter retries have no common deadline, whose queue limits the number
of spans but not their size, and which drops a batch that could not be sent even if the queue has room.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import util as multiprocessing_util
from typing import Any, Literal, TypeAlias

import requests
from opentelemetry import context as otel_context
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace import Span as ApiSpan
from opentelemetry.util.types import Attributes
from requests.exceptions import InvalidHeader, InvalidProxyURL, InvalidSchema, InvalidURL, MissingSchema

from . import _keys
from ._config import not_a_url
from ._content import Rewriter, is_model_call, utf8, with_attributes
from ._json import text_of
from ._log import failed, warn
from ._usage import Usage

_MIB = 1 << 20
_MAX_BACKOFF = 30.0
# Retryable status codes (OTLP 1.x, "OTLP/HTTP Response").
_RETRYABLE = frozenset({429, 502, 503, 504})
_TOO_LARGE = 413

# What is known of a span while it is open.
_Known: TypeAlias = "Attributes | Literal['duplicate']"


@dataclass(frozen=True)
class Limits:
    """Limits of the queue and of a batch. Sizes are in bytes."""

    spans: int = 8192
    size: int = 64 * _MIB
    batch_spans: int = 512
    batch_size: int = 8 * _MIB
    # The maximum time in seconds until a span is sent.
    delay: float = 1.0

    @classmethod
    def from_environment(cls) -> Limits:
        """Reads OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BSP_MAX_EXPORT_BATCH_SIZE and OTEL_BSP_SCHEDULE_DELAY (milliseconds)."""
        spans = _count("OTEL_BSP_MAX_QUEUE_SIZE", cls.spans)
        return cls(
            spans=spans,
            batch_spans=min(_count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", cls.batch_spans), spans),
            delay=_count("OTEL_BSP_SCHEDULE_DELAY", round(cls.delay * 1000)) / 1000,
        )


def _count(name: str, default: int) -> int:
    try:
        value = int(os.environ.get(name) or default)
    except ValueError:
        value = 0
    if value <= 0:
        warn("%s is not a positive integer; using the default %s", name, default)
        return default
    return value


@dataclass(frozen=True)
class Dropped:
    """The number of dropped spans by reason."""

    queue_full: int = 0
    refused: int = 0
    unsent: int = 0


class OneTry(requests.Session):
    """An HTTP session that disables the exporter's retries, because the queue retries with its own deadline. It keeps
    the result of the last request, because the exporter only reports failure."""

    def __init__(self) -> None:
        super().__init__()
        self.begin()

    def begin(self) -> None:
        self.status: int | None = None
        self.retry_after = 0.0
        self.problem = ""
        # Whether it came to a request, and whether another one can succeed.
        self.sent, self.is_final = False, False

    @property
    def is_retryable(self) -> bool:
        return self.sent and not self.is_final and (self.status is None or self.status in _RETRYABLE)

    def prepare_request(self, request: requests.Request) -> requests.PreparedRequest:
        try:
            return super().prepare_request(request)
        except Exception as error:
            self.sent = True
            self._failed(error, request.url)
            raise

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        self.sent = True
        try:
            response = super().send(request, **kwargs)
        except Exception as error:  # noqa: BLE001 - of headers and of the network
            self._failed(error, request.url)
            # Not a ConnectionError, which the exporter would retry.
            raise requests.RequestException(self.problem) from None
        self.status = response.status_code
        if not response.ok:
            self.problem = f"HTTP {response.status_code} {response.text[:200]}"
            try:
                self.retry_after = min(max(float(response.headers.get("Retry-After") or 0), 0.0), _MAX_BACKOFF)
            except ValueError:
                self.retry_after = 0.0
            raise requests.RequestException(self.problem)
        return response

    def _failed(self, error: Exception, url: str | bytes | None) -> None:
        self.problem = f"{type(error).__name__}: {error}"
        self.is_final = True
        if isinstance(error, InvalidHeader | UnicodeError):  # of which the message may have the key
            self.problem = (
                "the API key, or a header of OTEL_EXPORTER_OTLP_HEADERS, has characters that no header may have"
            )
        elif isinstance(error, InvalidURL | MissingSchema | InvalidSchema) and not isinstance(error, InvalidProxyURL):
            self.problem = not_a_url(url)
        else:
            self.is_final = False


class QueueProcessor(SpanProcessor):
    """Adds scoped attributes to starting spans, and to model calls that end those of their prompt, and sends ended
    spans. It never raises into user code. Only flush and shutdown block."""

    def __init__(
        self,
        *,
        url: str,
        headers: dict[str, str],
        timeout: float,
        limits: Limits,
        attributes: Callable[[otel_context.Context | None], Attributes],
        call_attributes: Callable[[otel_context.Context | None], Attributes],
        is_duplicate: Callable[[Span], bool],
        rewriters: Sequence[Rewriter] = (),
        sample_below: int | None = None,
    ) -> None:
        self._url, self._headers, self._timeout, self._limits = url, headers, timeout, limits
        self._attributes, self._call_attributes = attributes, call_attributes
        self._is_duplicate, self._rewriters = is_duplicate, rewriters
        self._sample_below = sample_below
        # Live spans without a parent in this process, by trace id. Scores of the run are added to them.
        self.roots: weakref.WeakValueDictionary[int, ApiSpan] = weakref.WeakValueDictionary()
        # What counts the tokens of a run, by trace id.
        self.usages: dict[int, Usage] = {}
        self._dropped = {"queue_full": 0, "refused": 0, "unsent": 0}
        self._logged: set[str] = set()
        self._reset()
        if hasattr(os, "register_at_fork"):
            reset = weakref.WeakMethod(self._reset)

            def after_fork() -> None:
                if again := reset():
                    again()

            os.register_at_fork(after_in_child=after_fork)
        multiprocessing_util.register_after_fork(self, _flush_at_child_exit)

    def _reset(self) -> None:
        """Sets the initial state, also in a forked child. The child has no sending thread, must not send the parent's
        spans, and may have inherited locks in a locked state."""
        # Ending a span acquires the lock directly, which is faster than through the condition.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._waiting: deque[tuple[ReadableSpan, int]] = deque()
        self._size = 0
        self._sending = self._sending_size = 0
        # What is known of open spans, by id: attributes for those that turn out to be model calls, or that it is a
        # duplicate. A program may have spans that never end, so the oldest are forgotten.
        self._open: OrderedDict[int, _Known] = OrderedDict()
        self._thread: threading.Thread | None = None
        self._exporter: tuple[OTLPSpanExporter, OneTry] | None = None
        self._closed = False
        self._last_attempt = False
        self._idle = False
        self._flushing = 0
        self._failures = 0

    @property
    def dropped(self) -> Dropped:
        return Dropped(**self._dropped)

    # The methods below run in threads of the program.

    def on_start(self, span: Span, parent_context: otel_context.Context | None = None) -> None:
        try:
            if attributes := self._attributes(parent_context):
                span.set_attributes(attributes)
            if (parent := span.parent) is None or parent.is_remote:
                self.roots[span.context.trace_id] = span
            known: _Known = "duplicate" if self._is_duplicate(span) else self._call_attributes(parent_context)
            if known:
                self._open[span.context.span_id] = known
                if len(self._open) > self._limits.spans:
                    self._forget_oldest()
        except Exception as error:  # noqa: BLE001 - must not raise into user code
            failed("process a starting span", error)

    def on_end(self, span: ReadableSpan) -> None:
        try:
            if self.usages and span.context is not None and (usage := self.usages.get(span.context.trace_id)):
                usage.add(span.attributes)
            self._take(span)
        except Exception as error:  # noqa: BLE001 - must not raise into user code
            failed("queue a span", error)

    def _forget_oldest(self) -> None:
        self._open.popitem(last=False)
        with self._lock:
            is_first = self._is_first("open")
        if is_first:
            warn(
                "more than %s spans of model calls are open; if the oldest end, they have no prompt, or are sent as "
                "well as those of another recorder (logged once)",
                self._limits.spans,
            )

    def _take(self, span: ReadableSpan) -> None:
        if (context := span.context) is None:
            return
        known = self._open.pop(context.span_id, None) if self._open else None
        if not context.trace_flags.sampled:
            return
        if self._sample_below is not None and context.trace_id & 0xFFFF_FFFF_FFFF_FFFF >= self._sample_below:
            return
        if known == "duplicate":
            return
        if known and is_model_call(span.attributes) and _keys.PROMPT_NAME not in (span.attributes or {}):
            span = with_attributes(span, known)
        size = _size(span)
        with self._lock:
            if self._closed:
                return
            if len(self._waiting) + self._sending < self._limits.spans and self._size + size <= self._limits.size:
                self._waiting.append((span, size))
                self._size += size
                if self._thread is None:
                    self._start()
                elif self._idle or len(self._waiting) == self._limits.batch_spans:
                    self._idle = False
                    self._changed.notify_all()
                return
            is_first = self._count("queue_full", 1)
        if is_first:
            _log_drop("the queue is full")

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="looptrace", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # threads cannot start during interpreter shutdown
            self._thread = None
            failed("start the thread that sends spans", error)

    def flush(self, timeout: float) -> bool:
        """Sends queued spans within timeout seconds. Returns whether all were sent. Unsent spans stay in the queue."""
        deadline = time.monotonic() + timeout
        with self._changed:
            failures = self._failures
            if self._thread is None:
                return not self._waiting
            self._flushing += 1
            self._idle = False
            self._changed.notify_all()
            try:
                while self._waiting or self._sending:
                    left = deadline - time.monotonic()
                    if left <= 0 or self._failures != failures or not self._thread.is_alive():
                        return False
                    self._changed.wait(left)
                return True
            finally:
                self._flushing -= 1

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self.flush(min(timeout_millis / 1000, self._timeout))

    def shutdown(self) -> None:
        self.close()

    def close(self, timeout: float | None = None) -> bool:
        """Sends each queued batch once and stops. Returns within timeout seconds, by default the timeout of init."""
        timeout = self._timeout if timeout is None else timeout
        deadline = time.monotonic() + timeout
        with self._changed:
            self._closed = True
            self._idle = False
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(deadline - time.monotonic(), 0))
        with self._changed:
            left = len(self._waiting) + self._sending
            self._waiting.clear()
            self._sending = self._size = 0
            is_first = self._count("unsent", left)
        if is_first:
            _log_drop("they could not be sent before the timeout")
        return not left

    # The caller of these two holds the lock, and logs after it: what handles the log may record spans.

    def _count(self, reason: str, count: int) -> bool:
        """Counts dropped spans. Returns whether they are the first for this reason."""
        self._dropped[reason] += count
        return count > 0 and self._is_first(reason)

    def _is_first(self, what: str) -> bool:
        is_first = what not in self._logged
        self._logged.add(what)
        return is_first

    # The methods below run in the sending thread.

    def _work(self) -> None:
        with suppress_instrumentation():
            self._send_all()

    def _send_all(self) -> None:
        mute = _Mute(threading.get_ident())
        exporter_log = logging.getLogger("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        exporter_log.addFilter(mute)
        attempt = 0
        # The spans of a batch that are neither accepted nor lost yet.
        parts: list[list[ReadableSpan]] = []
        try:
            while True:
                if not parts:
                    if not (batch := self._next()):
                        return
                    parts = [[rewritten for span in batch if (rewritten := self._rewritten(span)) is not None]]
                    del batch  # it would be held while there is nothing to send
                try:
                    outcome = (self._probe() if attempt else None) or self._send(parts)
                except BaseException as error:  # noqa: BLE001 - nothing may end the thread
                    failed("send spans", error)
                    self._record_outcome(sum(map(len, parts)), f"{type(error).__name__}: {text_of(error)}")
                    outcome, parts = None, []
                if outcome is None:
                    attempt = 0
                elif not self._wait_to_retry(outcome, attempt):
                    return
                else:
                    attempt += 1
        finally:
            exporter_log.removeFilter(mute)
            if self._exporter is not None:
                self._exporter[1].close()

    def _next(self) -> list[ReadableSpan]:
        """Waits for a batch that is full or old enough, or for a flush. Returns an empty batch when closed."""
        with self._changed:
            since: float | None = None
            while not self._closed:
                if self._waiting and (self._flushing or len(self._waiting) >= self._limits.batch_spans):
                    break
                if not self._waiting:
                    since, self._idle = None, True
                    self._changed.wait()
                    continue
                since = since or time.monotonic()
                left = since + self._limits.delay - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            batch: list[ReadableSpan] = []
            total = 0
            while self._waiting and len(batch) < self._limits.batch_spans:
                size = self._waiting[0][1]
                if batch and total + size > self._limits.batch_size:
                    break
                batch.append(self._waiting.popleft()[0])
                total += size
            # They count toward the limits until they are sent.
            self._sending, self._sending_size = len(batch), total
        return batch

    def _rewritten(self, span: ReadableSpan) -> ReadableSpan | None:
        """Returns None for a span that is lost, because it cannot be rewritten and may hold what must not be sent."""
        try:
            for rewriter in self._rewriters:
                span = rewriter.span(span)
        except BaseException as error:  # noqa: BLE001 - of the program, such as sys.exit for a name
            failed("rewrite a span", error)
            self._record_outcome(1, "they could not be read")
            return None
        return span

    def _probe(self) -> OneTry | None:
        """Sends an empty request to check whether the service is available again. This is cheaper than encoding a batch
        for each attempt. Returns None if the batch can be sent."""
        exporter, session = self._open_exporter()
        session.begin()
        if exporter.export([]) is SpanExportResult.SUCCESS or not session.is_retryable:
            return None
        return session

    def _send(self, parts: list[list[ReadableSpan]]) -> OneTry | None:
        """Sends each part once and removes it if it was accepted or is lost. Returns the result of one that must be
        sent again, or None."""
        exporter, session = self._open_exporter()
        while parts:
            if not self._sending:  # close has given them up, or none could be rewritten
                parts.clear()
                break
            session.begin()
            if _export(exporter, session, part := parts[-1]):
                parts.pop()
                self._record_outcome(len(part))
            elif session.is_retryable:
                return session
            elif len(part) > 1 and (session.status == _TOO_LARGE or not session.sent):
                half = len(part) // 2
                parts[-1:] = [part[half:], part[:half]]
            else:
                parts.pop()
                self._record_outcome(len(part), session.problem or "they could not be encoded")
        return None

    def _record_outcome(self, count: int, problem: str | None = None) -> None:
        """Takes note that spans were accepted, or lost to a problem."""
        with self._lock:
            # None is left after close, which has counted them.
            count = min(count, self._sending)
            self._sending -= count
            is_first = problem is not None and self._count("refused", count)
            if not self._sending:
                self._size = max(self._size - self._sending_size, 0)
                self._sending_size = 0
        if is_first and problem is not None:
            _log_drop(problem)
        with self._changed:
            self._changed.notify_all()

    def _open_exporter(self) -> tuple[OTLPSpanExporter, OneTry]:
        if self._exporter is None:
            session = OneTry()
            exporter = OTLPSpanExporter(
                endpoint=self._url, headers=self._headers, timeout=self._timeout,
                compression=Compression.Gzip, session=session,
            )  # fmt: skip
            self._exporter = exporter, session
        return self._exporter

    def _wait_to_retry(self, outcome: OneTry, attempt: int) -> bool:
        """Waits for Retry-After or with exponential backoff. After close, it returns True once and then False."""
        pause = outcome.retry_after or min(2.0**attempt, _MAX_BACKOFF) * random.uniform(0.8, 1.2)  # noqa: S311
        until = time.monotonic() + pause
        with self._changed:
            self._failures += 1
            flushing, is_first = self._flushing, self._is_first("unavailable")
            self._changed.notify_all()
        if is_first:
            warn("spans cannot be sent and stay in the queue (logged once): %s", outcome.problem)
        with self._changed:
            while not self._closed and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
                if self._flushing > flushing:  # flush was called
                    break
                flushing = self._flushing
            again = not self._last_attempt
            self._last_attempt = self._closed
            return again


def _export(exporter: OTLPSpanExporter, session: OneTry, spans: list[ReadableSpan]) -> bool:
    """Sends spans once. Returns whether they were accepted; session knows what else came of it."""
    try:
        if exporter.export(spans) is SpanExportResult.SUCCESS:
            return True
        if session.sent:
            return False
        # They could not be encoded. Any program can give OpenTelemetry names that are no text, or no UTF-8.
        return exporter.export([_CLEANER.span(span) for span in spans]) is SpanExportResult.SUCCESS
    except BaseException as error:  # noqa: BLE001 - of the program, such as sys.exit for a name
        failed("encode spans", error)
        return False


_CLEANER = Rewriter(utf8)


def _log_drop(why: str) -> None:
    warn("spans are dropped: %s (logged once; see looptrace.dropped())", why)


def _flush_at_child_exit(processor: QueueProcessor) -> None:
    """Registers a flush in a multiprocessing child, which does not run atexit functions."""
    multiprocessing_util.Finalize(None, processor.shutdown, exitpriority=100)


def _size(span: ReadableSpan) -> int:
    """Estimates the size of a span in bytes: its strings, and a constant for everything else."""
    size = 1024 + _length(span.attributes) + (len(span.name) if isinstance(span.name, str) else 0)
    for event in span.events:
        size += _length(event.attributes)
    return size


def _length(attributes: Any) -> int:
    """Returns the total length of the strings. A plain dict is faster to read than BoundedAttributes."""
    length = 0
    for value in attributes.copy().values() if attributes else ():
        if isinstance(value, str):
            length += len(value)
        elif isinstance(value, list | tuple):
            length += sum(len(item) if isinstance(item, str) else 16 for item in value)
    return length


class _Mute(logging.Filter):
    """Suppresses the exporter's log records in the sending thread, because the queue logs failures once. It does not
    affect other exporters."""

    def __init__(self, thread: int) -> None:
        super().__init__()
        self._thread = thread

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread != self._thread
