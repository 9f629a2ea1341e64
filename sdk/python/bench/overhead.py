"""What this package costs: a program with it, its service up and away, over the same program without it; a span, over
a plain one of opentelemetry-sdk; and a prompt that is kept.

    python bench/overhead.py [--rounds N]

Each round measures every way in turn, so that what else the machine does meets all alike; figures are medians over
rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import random
import resource
import statistics
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection

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
    looptrace.init(endpoint=AWAY, **QUIET)  # type: ignore[arg-type]
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


# What a program costs with the SDK, beside the same one without it.


worked = 0.0


def work(units: int) -> int:
    """What a step does besides being recorded: it reads and writes JSON, and looks through text. The processor's
    seconds of that are added up, so that what the SDK takes around it is known to the microsecond."""
    global worked
    begin, found = time.thread_time(), 0
    for _ in range(units):
        words: dict[str, int] = {}
        for message in json.loads(json.dumps(HISTORY[:4])):
            for word in message["content"].split():
                words[word] = words.get(word, 0) + 1
        found += max(words.values())
    worked += time.thread_time() - begin
    return found


HISTORY = [
    {
        "role": "assistant" if number % 2 else "user",
        "content": f"message {number}: " + "rain is expected in Paris " * 38,
    }
    for number in range(20)
]  # 20 kB


def short(units: int) -> None:
    with looptrace.span("plan", kind="task") as span:
        span.set_attribute("attempt", 1)
        span.set_attribute("route", "weather")
        span.set_attribute("confidence", 0.8)
        span.set_attribute("retry", False)
        span.set_output(str(work(units)))


def long(units: int) -> None:
    with looptrace.span("chat", kind="llm", input=HISTORY) as span:
        span.set_model("gpt-5", provider="openai")
        span.set_output(str(work(units)))
        span.set_usage(input_tokens=5000, output_tokens=12)


STEPS: dict[str, tuple[Callable[[int], None], float]] = {
    "10 ms, 5 attributes": (short, 0.01), "100 ms, 20 kB": (long, 0.1),
}  # fmt: skip
AWAY = "http://127.0.0.1:9"
QUIET = {"api_key": "k", "instrument": False, "timeout": 0.5}


def sink(port: Connection) -> None:
    """A service that takes everything, in a process of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            found = self.path.startswith("/v1/prompts/resolve?")
            body = json.dumps({"prompt_version": PROMPT}).encode() if found else b""
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port.send(server.server_address[1])
    server.serve_forever()


def program(endpoint: str | None, orders: Connection) -> None:
    """Runs the steps that it is told to, in a run of its own, and answers with the processor's seconds that they took
    for their work, in their thread, and in other threads. Told no more, it fills what may wait, and answers with the
    memory that it took."""
    if endpoint is not None:
        looptrace.init(endpoint=endpoint, **QUIET)  # type: ignore[arg-type]
    with looptrace.span("run", kind="agent"):
        others = time.process_time() - time.thread_time()
        while (order := orders.recv()) is not None:
            name, units, count = order
            step = work if endpoint is None else STEPS[name][0]
            thread, before_it = time.thread_time(), worked
            for _ in range(count):
                step(units)
            thread = time.thread_time() - thread
            others, since = time.process_time() - time.thread_time(), others
            orders.send((worked - before_it, thread, others - since))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if endpoint is not None:
        for number in range(20_000):
            with looptrace.span("chat", input=f"{number} {HISTORY}"):
                pass
    orders.send((before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, looptrace.dropped()))
    looptrace.shutdown(0.5)


def programs(rounds: int) -> None:
    """Three programs, forked from this one so that memory lies alike: without the SDK, with it, and with it while its
    service is away. They take turns of a tenth of a second, in each round in another order."""
    forking = multiprocessing.get_context("fork")
    port, theirs = forking.Pipe()
    forking.Process(target=sink, args=(theirs,), daemon=True).start()
    ways = {"no SDK": None, "service up": f"http://127.0.0.1:{port.recv()}", "service away": AWAY}
    orders: dict[str, Connection] = {}
    for name, endpoint in ways.items():
        orders[name], theirs = forking.Pipe()
        forking.Process(target=program, args=(endpoint, theirs), daemon=True).start()
    for step, (_, seconds) in STEPS.items():
        begin = time.thread_time()
        work(100)
        units = max(round(seconds / (time.thread_time() - begin) * 100), 1)
        count = round(0.1 / seconds)
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name in random.sample(list(ways), len(ways)):
                orders[name].send((step, units, count))
                found[name].append(orders[name].recv())
        plain = [mine for mine, _, _ in found["no SDK"]]
        print(f"steps of {step} (of {statistics.median(plain) / count * 1000:.1f} ms, in fact):")
        for name, turns in found.items():
            around = statistics.median((thread - mine) / count for mine, thread, _ in turns) * 1e6
            beside = sum(others for _, _, others in turns) / rounds / count * 1e6
            share = statistics.median(thread / mine - 1 for mine, thread, _ in turns)
            shared = sum(others for _, _, others in turns) / sum(mine for mine, _, _ in turns)
            # Of the work itself, half the width of the median's 95 % interval comes from the quartiles.
            ratios = [mine / base - 1 for (mine, _, _), base in zip(turns, plain, strict=True)]
            low, middle, high = statistics.quantiles(ratios)
            error = 1.96 * 1.253 * (high - low) / 1.349 / rounds**0.5
            print(
                f"  {name:12} around the work {around:4.0f} µs, {share:.2%}; in other threads {beside:4.0f} µs,"
                f" {shared:.2%}; the work itself {middle:+.1%} ± {error:.1%}"
            )
    for name, connection in orders.items():
        connection.send(None)
        before, after, lost = connection.recv()
        print(f"{name}: {before / 1024:.0f} MiB; {after / 1024:.0f} MiB after 20,000 spans of 20 kB more, {lost}")


# What a prompt costs that is kept.

PROMPT = {
    "prompt_id": "01985f6e-0000-7000-8000-000000000001", "name": "support/triage", "version": 3,
    "messages": [
        {"role": "system", "content": "You route tickets of {{product}} to a team. " * 100},
        {"type": "placeholder", "name": "history"},
        {"role": "user", "content": "{{ticket}}"},
    ],
    "tools": [{"type": "function", "function": {"name": "route", "parameters": {"type": "object", "properties": {}}}}],
}  # fmt: skip


def prompts(calls: int = 50_000) -> None:
    """The time of each call, with whatever interrupts it."""
    forking = multiprocessing.get_context("fork")
    port, theirs = forking.Pipe()
    server = forking.Process(target=sink, args=(theirs,), daemon=True)
    server.start()
    looptrace.init(endpoint=f"http://127.0.0.1:{port.recv()}", **QUIET)  # type: ignore[arg-type]
    kept = looptrace.prompt("support/triage", alias="production")
    rendered = kept.render(product="Looptrace", ticket=HISTORY[0]["content"], placeholders={"history": HISTORY})
    ways: dict[str, Callable[[], object]] = {
        "looptrace.prompt, kept": lambda: looptrace.prompt("support/triage", alias="production"),
        "the same with a default": lambda: looptrace.prompt("support/triage", alias="production", default="You route."),
        "render, 4 kB and 20 messages": lambda: kept.render(
            product="Looptrace", ticket=HISTORY[0]["content"], placeholders={"history": HISTORY}
        ),
        "openai()": rendered.openai,
    }
    for name, once in ways.items():
        found = []
        for _ in range(calls):
            begin = time.perf_counter_ns()
            once()
            found.append((time.perf_counter_ns() - begin) / 1000)
        found.sort()
        print(f"{name:36} median {found[calls // 2]:6.1f} µs, p99 {found[calls * 99 // 100]:6.1f} µs")
    looptrace.shutdown(0.1)
    server.terminate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=120)
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    programs(arguments.rounds)
    spans(max(arguments.rounds // 10, 1))
    prompts()
