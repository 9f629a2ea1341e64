"""Tests of decorators on every kind of function: what is recorded, and that the function behaves as before."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from opentelemetry import trace
from receiver import Receiver

import looptrace

Recorded = Callable[[], list[Any]]


def test_agent(recorded: Recorded, receiver: Receiver) -> None:
    @looptrace.agent
    def planner(question: str, *, limit: int = 3) -> dict[str, int]:
        return {"limit": limit}

    assert planner("why?", limit=2) == {"limit": 2}
    recorded()
    span = receiver.named("invoke_agent planner")
    assert span.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert span.attributes["gen_ai.agent.name"] == "planner"
    assert json.loads(span.attributes["looptrace.inputs"]) == {"question": "why?", "limit": 2}
    assert json.loads(span.attributes["looptrace.outputs"]) == {"limit": 2}
    assert span.parent_id == ""
    assert span.status == 0


def test_tool(recorded: Recorded, receiver: Receiver) -> None:
    @looptrace.tool("weather")
    def get_weather(city: str, *more: str, **options: bool) -> str:
        """The weather in a city.

        Not for the model.
        """
        return f"Rain in {city}"

    assert get_weather("Paris", "Rome", metric=True) == "Rain in Paris"
    recorded()
    span = receiver.named("execute_tool weather")
    assert span.attributes["gen_ai.operation.name"] == "execute_tool"
    assert span.attributes["gen_ai.tool.name"] == "weather"
    assert span.attributes["gen_ai.tool.description"] == "The weather in a city."
    arguments = json.loads(span.attributes["gen_ai.tool.call.arguments"])
    assert arguments == {"city": "Paris", "more": ["Rome"], "metric": True}
    assert span.attributes["gen_ai.tool.call.result"] == "Rain in Paris"


def test_kinds(recorded: Recorded, receiver: Receiver) -> None:
    @looptrace.workflow
    def flow() -> None:
        step()
        find()
        plain()

    @looptrace.task
    def step() -> None: ...

    @looptrace.observe("find", kind="retriever")
    def find() -> None: ...

    @looptrace.observe
    def plain() -> None: ...

    flow()
    recorded()
    root = receiver.named("invoke_workflow flow")
    assert root.attributes["gen_ai.workflow.name"] == "flow"
    assert receiver.named("step").attributes["looptrace.kind"] == "task"
    assert receiver.named("find").attributes["gen_ai.operation.name"] == "retrieval"
    assert receiver.named("plain").attributes["looptrace.kind"] == "span"
    assert {span.parent_id for span in receiver.spans if span is not root} == {root.span_id}


async def test_coroutine(recorded: Recorded, receiver: Receiver) -> None:
    @looptrace.observe
    async def outer() -> list[str]:
        return list(await asyncio.gather(inner("a"), inner("b")))

    @looptrace.observe
    async def inner(name: str) -> str:
        await asyncio.sleep(0)
        return name

    assert inspect.iscoroutinefunction(outer)
    assert await outer() == ["a", "b"]
    recorded()
    root = receiver.named("outer")
    assert [span.parent_id for span in receiver.spans if span.name == "inner"] == [root.span_id] * 2


def test_generator_is_open_until_exhausted(recorded: Recorded, receiver: Receiver) -> None:
    @looptrace.observe
    def words(count: int) -> Iterator[str]:
        with looptrace.span("inside"):
            for number in range(count):
                yield f"{number} "
        looptrace.span("after").__enter__()
        looptrace.score("length", count)

    assert inspect.isgeneratorfunction(words)
    stream = words(2)
    assert next(stream) == "0 "
    assert not trace.get_current_span().get_span_context().is_valid, "the consumer keeps its context"
    with looptrace.span("consumer"):
        assert list(stream) == ["1 "]
    recorded()
    span = receiver.named("words")
    assert span.attributes["looptrace.outputs"] == "0 1 "
    assert [name for name, _ in span.events] == []
    assert receiver.named("inside").parent_id == span.span_id
    assert receiver.named("consumer").parent_id == ""


def test_generator_protocol_is_kept(recorded: Recorded) -> None:
    def echo() -> Any:
        log: list[Any] = []
        try:
            while True:
                try:
                    log.append((yield len(log)))
                except KeyError as error:
                    log.append(error)
                if len(log) == 3:
                    return log
        finally:
            log.append("finally")

    def drive(generator: Any) -> tuple[list[Any], Any]:
        yields = [next(generator), generator.send("sent"), generator.throw(KeyError("thrown"))]
        try:
            generator.send("last")
        except StopIteration as end:
            return yields, [str(item) for item in end.value]
        raise AssertionError

    assert drive(looptrace.observe(echo)()) == drive(echo())


def test_generator_closed_early(recorded: Recorded, receiver: Receiver) -> None:
    closed = []

    @looptrace.observe
    def endless() -> Iterator[dict[str, int]]:
        try:
            while True:
                yield {"n": 1}
        finally:
            closed.append(trace.get_current_span().get_span_context().is_valid)

    stream = endless()
    next(stream)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert closed == [True], "the generator keeps its context until closed"
    recorded()
    span = receiver.named("endless")
    assert span.status == 0
    assert json.loads(span.attributes["looptrace.outputs"]) == [{"n": 1}, {"n": 1}]


async def test_asynchronous_generator(recorded: Recorded, receiver: Receiver) -> None:
    @looptrace.tool
    async def stream(count: int) -> AsyncIterator[str]:
        for number in range(count):
            with looptrace.span("piece"):
                await asyncio.sleep(0)
            yield str(number)

    assert inspect.isasyncgenfunction(stream)
    assert [item async for item in stream(3)] == ["0", "1", "2"]
    begun = stream(3)
    assert await anext(begun) == "0"
    assert not trace.get_current_span().get_span_context().is_valid
    await begun.aclose()
    recorded()
    spans = [span for span in receiver.spans if span.name == "execute_tool stream"]
    assert [span.attributes["gen_ai.tool.call.result"] for span in spans] == ["012", "0"]
    parents = {span.parent_id for span in receiver.spans if span.name == "piece"}
    assert parents == {span.span_id for span in spans}


def test_functions_that_hand_out_generators(recorded: Recorded, receiver: Receiver) -> None:
    async def answer() -> str:
        with looptrace.span("in answer"):
            return "late"

    hand_out = looptrace.observe("hand_out")(lambda: (number for number in (1, 2)))
    assert list(hand_out()) == [1, 2]
    promise = looptrace.observe("promise")(lambda: answer())
    assert asyncio.run(promise()) == "late"
    recorded()
    assert receiver.named("hand_out").attributes["looptrace.outputs"] == "[1, 2]"
    assert receiver.named("promise").attributes["looptrace.outputs"] == "late"
    assert receiver.named("in answer").parent_id == receiver.named("promise").span_id


def test_methods(recorded: Recorded, receiver: Receiver) -> None:
    class Shop:
        @looptrace.tool
        def buy(self, what: str) -> str:
            return what

        @looptrace.observe
        @classmethod
        def make(cls, count: int) -> int:
            return count

        @staticmethod
        @looptrace.observe
        def fixed(count: int) -> int:
            return count

    assert (Shop().buy("tea"), Shop.make(1), Shop.fixed(2)) == ("tea", 1, 2)
    recorded()
    assert receiver.named("execute_tool buy").attributes["gen_ai.tool.call.arguments"] == '{"what": "tea"}'
    assert receiver.named("make").attributes["looptrace.inputs"] == '{"count": 1}'
    assert receiver.named("fixed").attributes["looptrace.inputs"] == '{"count": 2}'


def test_signature_and_docs_are_kept(recorded: Recorded) -> None:
    def tool(city: str) -> str:
        """About."""
        return city

    wrapped = looptrace.tool(tool)
    assert inspect.signature(wrapped) == inspect.signature(tool)
    assert (wrapped.__name__, wrapped.__doc__) == ("tool", "About.")
    assert looptrace.observe("partial")(functools.partial(tool, "Rome"))() == "Rome"


def test_exceptions_pass_unchanged(recorded: Recorded, receiver: Receiver) -> None:
    problem = ValueError("no such city: Ätlantis")

    @looptrace.agent
    def fails() -> None:
        raise problem

    with pytest.raises(ValueError, match="no such city") as caught:
        fails()
    assert caught.value is problem
    assert problem.__context__ is None
    assert problem.__cause__ is None
    recorded()
    span = receiver.named("invoke_agent fails")
    assert (span.status, span.message) == (2, "no such city: Ätlantis")
    assert span.attributes["error.type"] == "ValueError"
    [(name, event)] = span.events
    assert name == "exception"
    assert event["exception.type"] == "ValueError"
    assert "in fails" in event["exception.stacktrace"]


async def test_cancelled(recorded: Recorded, receiver: Receiver) -> None:
    @looptrace.observe
    async def forever() -> None:
        await asyncio.sleep(60)

    running = asyncio.create_task(forever())
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    recorded()
    span = receiver.named("forever")
    assert span.attributes["looptrace.status"] == "cancelled"
    assert span.status == 0


def test_hostile_values_do_not_reach_user_code(recorded: Recorded, receiver: Receiver) -> None:
    class HostileError(Exception):
        def __repr__(self) -> str:
            raise RuntimeError("repr")

        def __str__(self) -> str:
            raise RuntimeError("str")

    loop: list[Any] = []
    loop.append(loop)

    @looptrace.observe
    def takes(*values: Any) -> Any:
        if isinstance(values[-1], HostileError):
            raise values[-1]
        return values

    values = (HostileError(), loop, float("nan"), 10**400, b"\xff", {1: {2}}, "\ud800", object)
    assert takes(*values) == values
    with pytest.raises(HostileError):
        takes(HostileError())
    recorded()
    fine, failed = (span for span in receiver.spans if span.name == "takes")
    inputs = json.loads(fine.attributes["looptrace.inputs"])["values"]
    assert inputs[:5] == ["<unreadable HostileError>", ["…[itself]"], "nan", str(10**400), "<1 bytes>"]
    assert inputs[5] == {"1": [2]}
    assert inputs[6] == "?"
    assert failed.status == 2


def test_content_is_bounded(receiver: Receiver, started: Callable[..., Any]) -> None:
    started(content_limit=1000)

    @looptrace.observe
    def big(value: Any) -> Any:
        return "x" * 1_000_000

    big([{"k": "v" * 100}] * 100_000)
    looptrace.flush(5)
    span = receiver.named("big")
    assert len(span.attributes["looptrace.inputs"]) < 2000
    assert "100000 items in all" in json.dumps(json.loads(span.attributes["looptrace.inputs"]), ensure_ascii=False)
    assert span.attributes["looptrace.outputs"] == "x" * 1000 + "…[cut, 1000000 characters in all]"


def test_threads_take_the_context_that_they_are_given(recorded: Recorded, receiver: Receiver) -> None:
    @looptrace.observe
    def inner() -> None: ...

    with looptrace.session("s1"), looptrace.span("outer"):
        context = contextvars.copy_context()
        given = threading.Thread(target=lambda: context.run(inner))
        given.start()
        given.join()
        bare = threading.Thread(target=looptrace.observe("bare")(inner))
        bare.start()
        bare.join()
    recorded()
    spans = {span.span_id: span for span in receiver.spans}
    first, second = (span for span in receiver.spans if span.name == "inner")
    assert spans[first.parent_id].name == "outer"
    assert first.attributes["session.id"] == "s1"
    assert spans[second.parent_id].name == "bare"
    assert "session.id" not in second.attributes


def test_without_init_nothing_happens() -> None:
    @looptrace.agent
    def plain(value: int) -> int:
        with looptrace.span("x") as span, looptrace.session("s"):
            span.set_output(1)
            looptrace.score("a", 1)
            assert span.run_id is None
        return value

    assert plain(3) == 3
    assert looptrace.current_run_id() is None
    assert looptrace.flush() is True
    assert looptrace.shutdown() is True
