"""From an ended span to the product: a bounded queue, one thread, the OTLP exporter of opentelemetry-python.

The stock BatchSpanProcessor is not used: its flush and the exporter's retries know no common deadline, it bounds spans
but not their size, and a batch that the service did not take is lost although there is room to keep it.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import util as multiprocessing_util
from typing import Any

import requests
from opentelemetry import context as otel_context
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace import Span as ApiSpan
from opentelemetry.util.types import Attributes

from ._content import Rewriter, utf8
from ._log import failed, logger

_MIB = 1 << 20
_LONGEST_BACKOFF = 30.0
# Answers after which the same request may succeed (OTLP 1.x, "OTLP/HTTP response").
_AGAIN = frozenset({429, 502, 503, 504})
_TOO_LARGE = 413


@dataclass(frozen=True)
class Limits:
    """How much may wait, and how it is sent."""

    spans: int = 8192
    size: int = 64 * _MIB
    batch_spans: int = 512
    batch_size: int = 8 * _MIB
    # Seconds from a span to its sending.
    delay: float = 1.0

    @classmethod
    def from_environment(cls) -> Limits:
        """The variables of the batch processor: OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BSP_MAX_EXPORT_BATCH_SIZE and
        OTEL_BSP_SCHEDULE_DELAY (milliseconds)."""
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
        logger.warning("%s is no positive number; %s is used", name, default)
        return default
    return value


@dataclass(frozen=True)
class Dropped:
    """Why spans were not recorded, and how many."""

    queue_full: int = 0
    refused: int = 0
    unsent: int = 0


class OneTry(requests.Session):
    """A session that makes the exporter try once: whether and when to try again is the queue's to say, which has the
    deadline. What came of the try is kept here, since the exporter tells only that it failed."""

    def __init__(self) -> None:
        super().__init__()
        self.status: int | None = None
        self.retry_after: float = 0.0
        self.problem = ""
        self.sent = False

    def begin(self) -> None:
        self.status, self.retry_after, self.problem, self.sent = None, 0.0, "", False

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        self.sent = True
        try:
            response = super().send(request, **kwargs)
        except requests.RequestException as error:
            self.problem = f"{type(error).__name__}: {error}"
            # Any other class than a connection error, which the exporter would try again.
            raise requests.RequestException(self.problem) from None
        self.status = response.status_code
        if not response.ok:
            self.problem = f"HTTP {response.status_code} {response.text[:200]}"
            try:
                self.retry_after = min(max(float(response.headers.get("Retry-After") or 0), 0.0), _LONGEST_BACKOFF)
            except ValueError:
                self.retry_after = 0.0
            raise requests.RequestException(self.problem)
        return response


class QueueProcessor(SpanProcessor):
    """Puts scoped attributes on starting spans and sends ended ones. Nothing here raises into user code, and nothing
    but flush and shutdown waits."""

    def __init__(
        self,
        *,
        url: str,
        headers: dict[str, str],
        timeout: float,
        limits: Limits,
        attributes: Callable[[otel_context.Context | None], Attributes],
        is_repeat: Callable[[Span], bool],
        rewriters: Sequence[Rewriter] = (),
        sample_below: int | None = None,
    ) -> None:
        self._url, self._headers, self._timeout, self._limits = url, headers, timeout, limits
        self._attributes, self._is_repeat, self._rewriters = attributes, is_repeat, rewriters
        self._sample_below = sample_below
        # Live spans without a parent in this process, by trace: what is scored as the run.
        self.roots: weakref.WeakValueDictionary[int, ApiSpan] = weakref.WeakValueDictionary()
        self._dropped = {"queue_full": 0, "refused": 0, "unsent": 0}
        self._told: set[str] = set()
        self._reset()
        if hasattr(os, "register_at_fork"):
            reset = weakref.WeakMethod(self._reset)

            def after_fork() -> None:
                if again := reset():
                    again()

            os.register_at_fork(after_in_child=after_fork)
        multiprocessing_util.register_after_fork(self, _flush_at_child_exit)

    def _reset(self) -> None:
        """Starts empty: at first, and in a forked child, to which neither the thread nor what waits belongs, and whose
        locks may be held by a thread that it does not have."""
        # One lock; ending a span takes it directly, which costs less than through the condition.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._waiting: deque[tuple[ReadableSpan, int]] = deque()
        self._size = 0
        self._sending = 0
        self._repeats: set[int] = set()
        self._thread: threading.Thread | None = None
        self._exporter: tuple[OTLPSpanExporter, OneTry] | None = None
        self._closed = False
        self._last_try = False
        self._idle = False
        self._hurry = 0
        self._failures = 0

    @property
    def dropped(self) -> Dropped:
        return Dropped(**self._dropped)

    # In user code's threads.

    def on_start(self, span: Span, parent_context: otel_context.Context | None = None) -> None:
        try:
            if attributes := self._attributes(parent_context):
                span.set_attributes(attributes)
            if (parent := span.parent) is None or parent.is_remote:
                self.roots[span.context.trace_id] = span
            if self._is_repeat(span):
                self._repeats.add(span.context.span_id)
        except Exception as error:  # noqa: BLE001 - user code starts this span
            failed("read a span's start", error)

    def on_end(self, span: ReadableSpan) -> None:
        try:
            self._take(span)
        except Exception as error:  # noqa: BLE001 - user code ends this span
            failed("queue a span", error)

    def _take(self, span: ReadableSpan) -> None:
        context = span.context
        if context is None or not context.trace_flags.sampled:
            return
        if self._sample_below is not None and context.trace_id & 0xFFFF_FFFF_FFFF_FFFF >= self._sample_below:
            return
        if self._repeats and context.span_id in self._repeats:
            self._repeats.discard(context.span_id)
            return
        size = _size(span)
        with self._lock:
            if self._closed:
                return
            if len(self._waiting) + self._sending >= self._limits.spans or self._size + size > self._limits.size:
                self._drop("queue_full", 1, "the queue is full")
                return
            self._waiting.append((span, size))
            self._size += size
            if self._thread is None:
                self._start()
            elif self._idle or len(self._waiting) == self._limits.batch_spans:
                self._idle = False
                self._changed.notify_all()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="looptrace", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # no threads any more, at the interpreter's end
            self._thread = None
            failed("start the thread that sends spans", error)

    def flush(self, timeout: float) -> bool:
        """Sends what waits. False when that failed or took longer than timeout seconds; what failed still waits."""
        deadline = time.monotonic() + timeout
        with self._changed:
            failures = self._failures
            if self._thread is None:
                return not self._waiting
            self._hurry += 1
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
                self._hurry -= 1

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self.flush(min(timeout_millis / 1000, self._timeout))

    def shutdown(self) -> None:
        self.close()

    def close(self, timeout: float | None = None) -> bool:
        """Sends what waits, each batch once, and ends. Returns within timeout seconds, init's without one."""
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
            self._size = 0
            if left:
                self._drop("unsent", left, "the service did not take them in time")
        return not left

    def _drop(self, reason: str, count: int, why: str) -> None:
        """Counts, and tells of each reason once. Called with the lock held."""
        self._dropped[reason] += count
        if reason not in self._told:
            self._told.add(reason)
            logger.warning("spans are dropped: %s (told once; looptrace.dropped() counts them)", why)

    # In the thread that sends.

    def _work(self) -> None:
        with suppress_instrumentation():
            self._send_all()

    def _send_all(self) -> None:
        mute = _Mute(threading.get_ident())
        exporter_log = logging.getLogger("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        exporter_log.addFilter(mute)
        attempt = 0
        batch: list[ReadableSpan] = []
        size = 0
        try:
            while True:
                if not batch:
                    batch, size = self._next()
                    if not batch:
                        return
                outcome = (self._probe() if attempt else None) or self._try(batch)
                if outcome is None:
                    attempt = 0
                    self._done(batch, size)
                    batch = []
                elif not self._wait_to_try_again(outcome, attempt):
                    return
                else:
                    attempt += 1
        except Exception as error:  # noqa: BLE001 - a thread's failure is seen by nobody
            failed("send spans", error)
        finally:
            exporter_log.removeFilter(mute)
            if self._exporter is not None:
                self._exporter[1].close()

    def _next(self) -> tuple[list[ReadableSpan], int]:
        """The next batch; empty at the end. Waits until there is one that is full, old enough or in a hurry."""
        with self._changed:
            since: float | None = None
            while not self._closed:
                if self._waiting and (self._hurry or len(self._waiting) >= self._limits.batch_spans):
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
            # They count until the product has them.
            self._sending = len(batch)
        for rewriter in self._rewriters:
            batch = [rewriter.span(span) for span in batch]
        return batch, total

    def _probe(self) -> OneTry | None:
        """Asks a service that was away, with a request of no spans, whether it is back. Encoding a batch for each try
        would take user code's processor. None when the batch is to be sent."""
        exporter, session = self._open()
        session.begin()
        if exporter.export([]) is SpanExportResult.SUCCESS or not _may_try_again(session):
            return None
        return session

    def _try(self, batch: list[ReadableSpan]) -> OneTry | None:
        """Sends a batch once. None when it is done with: taken, or never to be."""
        exporter, session = self._open()
        session.begin()
        if exporter.export(batch) is SpanExportResult.SUCCESS:
            return None
        if not session.sent:  # it could not be encoded
            cleaner = Rewriter(utf8)
            batch = [cleaner.span(span) for span in batch]
            if exporter.export(batch) is SpanExportResult.SUCCESS:
                return None
        if session.status == _TOO_LARGE and len(batch) > 1:
            half = len(batch) // 2
            return self._try(batch[:half]) or self._try(batch[half:])
        if _may_try_again(session):
            return session
        with self._changed:
            self._drop("refused", len(batch), session.problem or "they could not be encoded")
        return None

    def _open(self) -> tuple[OTLPSpanExporter, OneTry]:
        if self._exporter is None:
            session = OneTry()
            exporter = OTLPSpanExporter(
                endpoint=self._url, headers=self._headers, timeout=self._timeout,
                compression=Compression.Gzip, session=session,
            )  # fmt: skip
            self._exporter = exporter, session
        return self._exporter

    def _done(self, batch: Sequence[ReadableSpan], size: int) -> None:
        with self._changed:
            self._sending = 0
            self._size = max(self._size - size, 0)
            self._changed.notify_all()
        del batch

    def _wait_to_try_again(self, outcome: OneTry, attempt: int) -> bool:
        """Waits as long as the service asked, else ever longer. At the end it is tried once more: False after that."""
        pause = outcome.retry_after or min(2.0**attempt, _LONGEST_BACKOFF) * random.uniform(0.8, 1.2)  # noqa: S311
        until = time.monotonic() + pause
        with self._changed:
            self._failures += 1
            if "away" not in self._told:
                self._told.add("away")
                logger.warning("the service does not take spans; they wait (told once): %s", outcome.problem)
            self._changed.notify_all()
            hurry = self._hurry
            while not self._closed and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
                if self._hurry > hurry:  # someone who waits for it
                    break
                hurry = self._hurry
            again = not self._last_try
            self._last_try = self._closed
            return again


def _may_try_again(session: OneTry) -> bool:
    return session.sent and (session.status is None or session.status in _AGAIN)


def _flush_at_child_exit(processor: QueueProcessor) -> None:
    """In a child of multiprocessing, which ends without atexit."""
    multiprocessing_util.Finalize(None, processor.shutdown, exitpriority=100)


def _size(span: ReadableSpan) -> int:
    """About how many bytes a span holds: its strings, and a constant for the rest."""
    size = 1024 + _length(span.attributes)
    for event in span.events:
        size += _length(event.attributes)
    return size


def _length(attributes: Any) -> int:
    """How long the strings of attributes are. The copy is a plain dict: each look into the SDK's own kind is a call."""
    length = 0
    for value in attributes.copy().values() if attributes else ():
        if isinstance(value, str):
            length += len(value)
        elif isinstance(value, list | tuple):
            length += sum(len(item) if isinstance(item, str) else 16 for item in value)
    return length


class _Mute(logging.Filter):
    """Keeps the exporter from logging each try of our thread: the queue tells of it, once. The exporters of others go
    on logging."""

    def __init__(self, thread: int) -> None:
        super().__init__()
        self._thread = thread

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread != self._thread
