"""What a span costs user code, over a plain span of opentelemetry-sdk in the same run, and what a program costs whose
service is away.

    python bench/overhead.py [--rounds N] [--seconds N]

Each round measures every way in turn, so that what else the machine does meets all alike; figures are medians over
rounds. Nothing listens where spans are sent, which is the worst case: they are kept, then dropped.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import looptrace

SPANS = 2000


class Nowhere(SpanExporter):
    def export(self, spans: object) -> SpanExportResult:  # noqa: ARG002
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass


def plain(tracer: trace.Tracer) -> Callable[[], None]:
    def once() -> None:
        with tracer.start_as_current_span("step", attributes={"a": "b", "input": '{"city": "Paris"}'}) as span:
            span.set_attribute("output", "Rain")

    return once


@looptrace.tool
def step(city: str) -> str:
    return "Rain" if city else ""


def by_decorator() -> None:
    step("Paris")


def by_hand() -> None:
    with looptrace.span("step", kind="tool", input={"city": "Paris"}) as span:
        span.set_output("Rain")


def microseconds(once: Callable[[], None]) -> float:
    """Per span, in this thread alone: the CPU time of the thread that user code runs in."""
    gc.collect()
    begin = time.thread_time()
    for _ in range(SPANS):
        once()
    return (time.thread_time() - begin) / SPANS * 1e6


def spans(rounds: int) -> None:
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    ways = {"opentelemetry-sdk, batch processor": plain(provider.get_tracer("plain"))}
    looptrace.init(endpoint="http://127.0.0.1:9", api_key="k", instrument=False, timeout=0.1)
    ways["looptrace, the same span"] = plain(trace.get_tracer("plain"))
    ways["looptrace.span"] = by_hand
    ways["@looptrace.tool"] = by_decorator
    figures: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, once in ways.items():
            figures[name].append(microseconds(once))
    base = statistics.median(figures["opentelemetry-sdk, batch processor"])
    for name, found in figures.items():
        print(f"{name:36} {statistics.median(found):7.1f} µs a span, {statistics.median(found) / base:4.2f} times")
    print(looptrace.dropped())
    looptrace.shutdown(0.1)


def work() -> None:
    for _ in range(400):
        sum(range(20_000))


def away(seconds: float) -> None:
    """A program of steps of about a tenth of a second with a span each, whose service is away. The span's cost is timed
    by itself, right after the work, which has taken the caches; and what the sending thread takes besides."""
    looptrace.init(endpoint="http://127.0.0.1:9", api_key="k", instrument=False, timeout=0.1)
    steps, costs = list[float](), list[float]()
    process, thread, end = time.process_time(), time.thread_time(), time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.thread_time()
        work()
        middle = time.thread_time()
        step("Paris")
        costs.append(time.thread_time() - middle)
        steps.append(middle - begin)
    mine = time.thread_time() - thread
    others = time.process_time() - process - mine
    cost, each = statistics.median(costs), statistics.median(steps)
    print(f"service away, {len(steps)} steps of {each * 1000:.0f} ms over {seconds:.0f} s, medians:")
    print(f"  a span takes {cost * 1e6:.0f} µs, {cost / each * 100:.2f} % of its step")
    print(f"  the sending thread {others / mine * 100:.2f} % beside it")
    looptrace.shutdown(0.1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    spans(arguments.rounds)
    away(arguments.seconds)
