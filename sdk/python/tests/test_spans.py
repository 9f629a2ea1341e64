"""Tests of span, scopes, scores and ids."""

from __future__ import annotations

import asyncio
import enum
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry import trace
from receiver import Receiver

import looptrace

Recorded = Callable[[], list[Any]]


def test_span(recorded: Recorded, receiver: Receiver) -> None:
    with looptrace.span("ask", kind="llm", input="hello") as span:
        span.set_model("gpt-5", provider="openai", answered="gpt-5-2026-01-01")
        span.set_usage(input_tokens=10, output_tokens=5, cache_read_tokens=4, reasoning_tokens=2)
        span.set_output({"text": "hi"})
        span.set_attribute("looptrace.cost_usd", 0.5)
        span.set_attribute("odd", {"a": [1]})
    recorded()
    assert receiver.named("ask").attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.provider.name": "openai",
        "gen_ai.response.model": "gpt-5-2026-01-01",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.usage.reasoning.output_tokens": 2,
        "looptrace.inputs": "hello",
        "looptrace.outputs": '{"text": "hi"}',
        "looptrace.cost_usd": 0.5,
        "odd": '{"a": [1]}',
    }


def test_span_fails(recorded: Recorded, receiver: Receiver) -> None:
    with pytest.raises(KeyError), looptrace.span("outer"), looptrace.span("inner", kind="No Kind!"):
        raise KeyError("gone")
    recorded()
    assert receiver.named("inner").attributes["error.type"] == "KeyError"
    assert receiver.named("inner").attributes["looptrace.kind"] == "span"
    assert receiver.named("outer").status == 2
    assert receiver.named("inner").parent_id == receiver.named("outer").span_id


async def test_scopes(recorded: Recorded, receiver: Receiver) -> None:
    async def task(number: int) -> None:
        with looptrace.metadata(number=number), looptrace.span(f"task {number}"):
            await asyncio.sleep(0)

    with looptrace.span("root"):
        async with looptrace.session("s"), looptrace.user("u"), looptrace.tags("a", "b"):
            with looptrace.tags("c", "a"):
                await asyncio.gather(task(1), task(2))
            with looptrace.session("t"):
                trace.get_tracer("of others").start_span("other").end()
    with looptrace.span("after"):
        pass
    recorded()
    for number in (1, 2):
        attributes = receiver.named(f"task {number}").attributes
        assert attributes["session.id"] == "s"
        assert attributes["user.id"] == "u"
        assert attributes["looptrace.tags"] == ["a", "b", "c"]
        assert attributes["looptrace.metadata.number"] == number
    other = receiver.named("other").attributes
    assert (other["session.id"], other["looptrace.tags"]) == ("t", ["a", "b"])
    root = receiver.named("root").attributes
    assert root["user.id"] == "u", "the open span gets the attributes too"
    assert "looptrace.metadata.number" not in receiver.named("after").attributes


def elsewhere(call: Callable[..., Any], *args: Any) -> Any:
    """Calls a function in a thread of its own."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(call, *args).result()


def close(*blocks: Any) -> None:
    for block in blocks:
        block.__exit__(None, None, None)


@pytest.mark.parametrize("order", [1, -1], ids=["outer first", "inner first"])
def test_blocks_closed_in_another_thread(recorded: Recorded, receiver: Receiver, order: int) -> None:
    with looptrace.span("around"):
        blocks: list[Any] = [
            looptrace.session("s"),
            looptrace.span("outer"),
            looptrace.tags("t"),
            looptrace.span("inner"),
        ]
        for block in blocks:
            block.__enter__()
        elsewhere(close, *blocks[::order])
        assert looptrace.current_run_id() == receiver_id(trace.get_current_span())
        with looptrace.span("later"):
            pass
        trace.get_tracer("app").start_span("of others").end()
    assert looptrace.current_run_id() is None
    with looptrace.span("own run"):
        pass
    recorded()
    around = receiver.named("around")
    for name in ("later", "of others"):
        assert receiver.named(name).parent_id == around.span_id
        assert receiver.named(name).attributes.keys().isdisjoint({"session.id", "looptrace.tags"})
    assert receiver.named("own run").parent_id == ""
    assert receiver.named("inner").parent_id == receiver.named("outer").span_id


def receiver_id(span: trace.Span) -> str:
    return str(uuid.UUID(int=span.get_span_context().trace_id))


def test_a_scope_closed_in_another_thread(recorded: Recorded, receiver: Receiver) -> None:
    scope = looptrace.user("ada")
    scope.__enter__()
    elsewhere(close, scope)
    trace.get_tracer("app").start_span("of others").end()
    with looptrace.user("bob"), looptrace.span("ours"):
        pass
    recorded()
    assert "user.id" not in receiver.named("of others").attributes
    assert receiver.named("ours").attributes["user.id"] == "bob"


def test_a_block_is_current_while_one_within_is_closed_elsewhere(recorded: Recorded, receiver: Receiver) -> None:
    with looptrace.span("outer"):
        inner = looptrace.span("inner")
        inner.__enter__()
        elsewhere(close, inner)
        assert looptrace.current_run_id() is not None
        looptrace.score("of outer", 1)
        with looptrace.span("later"):
            pass
    recorded()
    assert receiver.named("later").parent_id == receiver.named("outer").span_id
    assert [attributes["gen_ai.evaluation.name"] for _, attributes in receiver.named("outer").events] == ["of outer"]


async def test_a_block_closed_in_another_task(recorded: Recorded, receiver: Receiver) -> None:
    """Tasks that began while the block was open belong to it, even if they go on after it."""
    go_on = asyncio.Event()

    async def background() -> None:
        await go_on.wait()
        with looptrace.span("background"):
            pass

    async def closer(block: looptrace.SpanScope) -> None:
        await block.__aexit__(None, None, None)
        assert looptrace.current_run_id() is None

    block = looptrace.span("request")
    await block.__aenter__()
    task = asyncio.create_task(background())
    await asyncio.create_task(closer(block))
    with looptrace.span("later"):
        pass
    go_on.set()
    await task
    recorded()
    assert receiver.named("later").parent_id == ""
    assert receiver.named("background").parent_id == receiver.named("request").span_id


def test_a_generator_of_which_each_step_has_a_thread(recorded: Recorded, receiver: Receiver) -> None:
    @looptrace.agent
    def answer() -> Iterator[str]:
        with looptrace.session("s"), looptrace.span("retrieve"):
            yield "a"
        with looptrace.span("generate"):
            yield "b"
        with looptrace.span("check"):
            pass

    stream = answer()
    assert [elsewhere(next, stream, None) for _ in range(3)] == ["a", "b", None]
    recorded()
    agent = receiver.named("invoke_agent answer")
    for name in ("retrieve", "generate", "check"):
        assert receiver.named(name).parent_id == agent.span_id
    assert "session.id" in receiver.named("retrieve").attributes
    assert "session.id" not in receiver.named("generate").attributes


def test_scores(recorded: Recorded, receiver: Receiver) -> None:
    with looptrace.span("root"), looptrace.span("step") as step:
        looptrace.score("relevance", 0.5, explanation="half of it")
        looptrace.score("verdict", label="pass", of="run")
        step.score("nan", float("nan"))
    recorded()
    event = "gen_ai.evaluation.result"
    assert receiver.named("step").events == [
        (
            event,
            {
                "gen_ai.evaluation.name": "relevance",
                "gen_ai.evaluation.score.value": 0.5,
                "gen_ai.evaluation.explanation": "half of it",
            },
        ),
        (event, {"gen_ai.evaluation.name": "nan"}),
    ]
    assert receiver.named("root").events == [
        (event, {"gen_ai.evaluation.name": "verdict", "gen_ai.evaluation.score.label": "pass"})
    ]


def test_ids(receiver: Receiver, started: Callable[..., Any]) -> None:
    started(project="p1")
    assert looptrace.current_run_id() is None
    assert looptrace.run_url() is None
    with looptrace.span("one") as span:
        run_id = looptrace.current_run_id()
        assert run_id == span.run_id
        assert looptrace.run_url() == f"{receiver.url}/p/p1/runs/{run_id}"
    looptrace.flush(5)
    received = receiver.named("one")
    assert uuid.UUID(run_id).hex == received.trace_id
    assert span.span_id == received.span_id


class _Hostile:
    """Raises whatever is asked of it."""

    def __str__(self) -> str:
        raise RuntimeError("str")

    __repr__ = __bool__ = __len__ = __iter__ = __hash__ = __eq__ = __float__ = __str__  # type: ignore[assignment]


_ODD: list[Any] = [5, None, 0.5, [1], {}, b"x", _Hostile(), object, "", "\ud800", "x" * 1_000_000]


@pytest.mark.parametrize("odd", _ODD, ids=[f"{type(odd).__name__} {number}" for number, odd in enumerate(_ODD)])
def test_nothing_raises_into_the_program(recorded: Recorded, receiver: Receiver, odd: Any) -> None:
    with looptrace.span(odd), looptrace.span("kind", kind=odd), looptrace.span("input", input=odd) as span:
        span.set_input(odd)
        span.set_output(odd)
        span.set_model(odd, provider=odd, answered=odd)
        span.set_usage(input_tokens=odd)
        span.set_attribute(odd, odd)
        span.score(odd, odd, label=odd, explanation=odd)
        looptrace.score(odd, odd, label=odd, explanation=odd, of=odd)
    with (
        looptrace.session(odd), looptrace.user(odd), looptrace.tags(odd, "b"), looptrace.metadata(odd),
        looptrace.metadata(a=odd), looptrace.metadata({"b": odd}), looptrace.span("scoped"),
    ):  # fmt: skip
        pass

    @looptrace.observe(kind=odd)
    def shaped() -> int:
        return 1

    def named() -> int:
        return 2

    named.__doc__ = odd
    named.__name__ = "named"
    assert shaped() == 1
    assert looptrace.observe("given", kind=odd)(named)() == 2
    looptrace.run_url(odd)
    recorded()
    assert looptrace.dropped() == looptrace.Dropped()
    assert len(receiver.spans) == 6
    scoped = receiver.named("scoped").attributes
    assert {"session.id", "user.id"} <= scoped.keys()
    assert "b" in scoped["looptrace.tags"]
    assert {"looptrace.metadata.a", "looptrace.metadata.b"} <= scoped.keys()
    assert receiver.named("kind").attributes["looptrace.kind"] == "span"
    assert all(len(span.name) < 10_000 for span in receiver.spans)


class _Name(enum.Enum):
    SEARCH = "search"


class _TextName(str, enum.Enum):
    SEARCH = "search"


@pytest.mark.parametrize(
    ("name", "expected"),
    [(5, "5"), (_Name.SEARCH, "_Name.SEARCH"), (_TextName.SEARCH, "search"), (_Hostile(), "<unreadable _Hostile>")],
    ids=["int", "enum", "text", "hostile"],
)
def test_names_of_decorators(recorded: Recorded, receiver: Receiver, name: Any, expected: str) -> None:
    @looptrace.tool(name)
    def plain() -> int:
        return 1

    assert plain() == 1
    recorded()
    assert receiver.named(f"execute_tool {expected}").attributes["gen_ai.tool.name"] == expected
