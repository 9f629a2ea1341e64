"""Tests of span, scopes, scores and ids."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
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
