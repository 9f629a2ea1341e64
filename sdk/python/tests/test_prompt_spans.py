"""What spans say about prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace

import looptrace
from looptrace._prompt import Prompt, Source, version_of_default
from looptrace._state import state

Recorded = Callable[[], list[Any]]

NAMED = {
    "gen_ai.prompt.name": "triage", "gen_ai.prompt.version": "3", "looptrace.prompt.id": "an-id",
    "looptrace.prompt.alias": "production", "looptrace.prompt.source": "cache",
}  # fmt: skip


def rendered(name: str = "triage", source: Source = "cache", age: float = 5.0) -> looptrace.RenderedPrompt:
    members = {"prompt_id": "an-id", "version": 3, "messages": [{"role": "user", "content": "Hi"}]}
    return Prompt(name, "production", version_of_default(name, members), source, age).render()


def said(recorded: Recorded) -> dict[str, dict[str, Any]]:
    """The attributes about prompts by the name of the span."""
    return {span.name: {k: v for k, v in span.attributes.items() if ".prompt." in k} for span in recorded()}


def call(name: str, **attributes: Any) -> None:
    """A span of an instrumentation, which tells what it is at its end."""
    with trace.get_tracer("plain").start_as_current_span(name) as span:
        span.set_attributes({key.replace("__", "."): value for key, value in attributes.items()})


def test_model_calls_in_the_scope(recorded: Recorded) -> None:
    outer, inner = rendered(), rendered("inner")
    with looptrace.span("agent", kind="agent"), outer:
        call("openinference", openinference__span__kind="LLM")
        call("semconv", gen_ai__operation__name="chat")
        call("openllmetry", llm__request__type="chat")
        call("only a model", gen_ai__request__model="gpt-5")
        call("chain", openinference__span__kind="CHAIN")
        call("tool", gen_ai__operation__name="execute_tool", gen_ai__request__model="gpt-5")
        call("embedding", llm__request__type="embedding")
        call("http", http__request__method="POST")
        call("of its own", gen_ai__operation__name="chat", gen_ai__prompt__name="other")
        with looptrace.span("llm", kind="llm"):
            pass
        with looptrace.span("task", kind="task") as task:
            task.set_model("gpt-5")
        with inner:
            call("inner", gen_ai__operation__name="chat")
        call("after inner", gen_ai__operation__name="chat")
    call("after", gen_ai__operation__name="chat")
    found = said(recorded)
    named = {name for name, attributes in found.items() if attributes == NAMED}
    assert named == {"openinference", "semconv", "openllmetry", "only a model", "llm", "after inner"}
    assert found["inner"]["gen_ai.prompt.name"] == "inner"
    assert found["of its own"] == {"gen_ai.prompt.name": "other"}
    rest = {"agent", "chain", "tool", "embedding", "http", "task", "after"}
    assert {name for name, attributes in found.items() if not attributes} == rest


def test_stale_prompts_say_their_age(recorded: Recorded) -> None:
    with rendered(source="stale", age=61.23456):
        call("call", gen_ai__operation__name="chat")
    assert said(recorded)["call"] == {
        **NAMED, "looptrace.prompt.source": "stale", "looptrace.prompt.age_seconds": 61.235,
    }  # fmt: skip


def test_default_without_a_version(recorded: Recorded) -> None:
    default = Prompt("triage", "production", version_of_default("triage", "Hi"), "default", 0.0)
    with default.render():
        call("call", gen_ai__operation__name="chat")
    assert said(recorded)["call"] == {
        "gen_ai.prompt.name": "triage", "looptrace.prompt.alias": "production", "looptrace.prompt.source": "default",
    }  # fmt: skip


def test_rendering_names_the_prompt_on_a_span_of_this_package(recorded: Recorded) -> None:
    with looptrace.span("agent", kind="agent"):
        rendered()
        with trace.get_tracer("other").start_as_current_span("of another"):
            rendered("other")
    assert said(recorded) == {"agent": NAMED, "of another": {}}


def test_without_recording() -> None:
    with rendered() as prompt:
        assert prompt.messages == [{"role": "user", "content": "Hi"}]


async def test_one_rendered_prompt_in_many_tasks(recorded: Recorded) -> None:
    shared, entered = rendered(), asyncio.Barrier(3) if hasattr(asyncio, "Barrier") else None

    async def ask(number: int) -> None:
        async with shared:
            if entered is not None:
                await entered.wait()  # all are open at the same time
            call(f"in {number}", gen_ai__operation__name="chat")
        call(f"after {number}", gen_ai__operation__name="chat")

    await asyncio.gather(*(ask(number) for number in range(3)))
    found = said(recorded)
    assert [found[f"in {number}"] for number in range(3)] == [NAMED] * 3
    assert [found[f"after {number}"] for number in range(3)] == [{}] * 3


def test_one_rendered_prompt_in_many_threads(recorded: Recorded) -> None:
    shared = rendered()

    def ask(number: int) -> None:
        with shared:
            call(f"in {number}", gen_ai__operation__name="chat")
        call(f"after {number}", gen_ai__operation__name="chat")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(20)))
    found = said(recorded)
    assert all(found[f"in {number}"] == NAMED and not found[f"after {number}"] for number in range(20))


def test_scope_that_another_task_closes(recorded: Recorded) -> None:
    scope = rendered()
    outside = otel_context.get_current()
    scope.__enter__()
    otel_context.attach(outside)
    scope.__exit__(None, None, None)
    call("after", gen_ai__operation__name="chat")
    assert said(recorded) == {"after": {}}


async def test_scope_closed_in_another_thread_or_task(recorded: Recorded) -> None:
    by_thread, by_task = rendered(), rendered()
    by_thread.__enter__()
    with ThreadPoolExecutor(1) as threads:
        threads.submit(by_thread.__exit__, None, None, None).result()
    call("after a thread", gen_ai__operation__name="chat")

    async def close() -> None:
        await by_task.__aexit__(None, None, None)
        call("in the task", gen_ai__operation__name="chat")

    await by_task.__aenter__()
    with by_task:
        pass
    call("within", gen_ai__operation__name="chat")
    await asyncio.create_task(close())
    call("after a task", gen_ai__operation__name="chat")
    assert said(recorded) == {"after a thread": {}, "within": NAMED, "in the task": {}, "after a task": {}}


def test_attributes_stay_without_content(receiver: Any, started: Any) -> None:
    started(capture_content=False)
    with rendered():
        call("call", gen_ai__operation__name="chat", gen_ai__input__messages="secret")
    assert looptrace.flush(5)
    assert receiver.named("call").attributes == {"gen_ai.operation.name": "chat", **NAMED}


def test_open_spans_are_forgotten(recorded: Recorded) -> None:
    processor = state.processor
    assert processor is not None
    with rendered():
        call("call", gen_ai__operation__name="chat")
        call("task")
    assert recorded()
    assert not processor._open


def test_exceptions_pass_through(recorded: Recorded) -> None:
    with pytest.raises(KeyError), rendered():
        raise KeyError
    call("after", gen_ai__operation__name="chat")
    assert said(recorded) == {"after": {}}
