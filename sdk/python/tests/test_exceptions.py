"""Tests of what a span tells of an exception that ends it."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from receiver import Receiver

import looptrace

Recorded = Callable[[], list[Any]]


_ENDINGS: list[tuple[BaseException, int, str | None]] = [
    (SystemExit(0), 0, None),
    (SystemExit(None), 0, None),
    (SystemExit(False), 0, None),
    (GeneratorExit(), 0, None),
    (KeyboardInterrupt(), 0, "cancelled"),
    (asyncio.CancelledError(), 0, "cancelled"),
    (SystemExit(2), 2, None),
    (SystemExit("no such file"), 2, None),
    (SystemExit(""), 2, None),
    (SystemExit(0.0), 2, None),  # Python takes only an integer for an exit code
]


@pytest.mark.parametrize(("ending", "status", "told"), _ENDINGS, ids=[repr(ending) for ending, _, _ in _ENDINGS])
async def test_an_end_is_no_failure(
    recorded: Recorded, receiver: Receiver, ending: BaseException, status: int, told: str | None
) -> None:
    @looptrace.tool
    def plain() -> None:
        with looptrace.span("block"):
            raise ending

    @looptrace.agent
    def outer() -> None:
        plain()

    @looptrace.observe
    def generator() -> Iterator[int]:
        yield 1
        raise ending

    @looptrace.observe
    async def coroutine() -> None:
        outer()

    @looptrace.observe
    async def asynchronous() -> AsyncIterator[int]:
        yield 1
        raise ending

    with pytest.raises(type(ending)):
        coroutine().send(None)  # asyncio ends its loop at some of these
    with pytest.raises(type(ending)):
        list(generator())
    begun = asynchronous()
    await anext(begun)
    with pytest.raises(type(ending)):
        anext(begun).__await__().send(None)
    recorded()
    names = ["asynchronous", "block", "coroutine", "execute_tool plain", "generator", "invoke_agent outer"]
    assert sorted(span.name for span in receiver.spans) == names
    for span in receiver.spans:
        assert (span.status, span.attributes.get("looptrace.status")) == (status, told), span.name
        assert ("error.type" in span.attributes, bool(span.events)) == (status == 2, status == 2), span.name


@pytest.mark.skipif(not hasattr(builtins, "BaseExceptionGroup"), reason="Python has no groups of exceptions")
@pytest.mark.parametrize(
    ("members", "status", "told"),
    [
        ([KeyboardInterrupt(), SystemExit(0)], 0, "cancelled"),
        ([SystemExit(0)], 0, None),
        ([KeyboardInterrupt(), ValueError()], 2, None),
    ],
)
def test_a_group_is_a_failure_if_a_member_is(
    recorded: Recorded, receiver: Receiver, members: list[BaseException], status: int, told: str | None
) -> None:
    group = builtins.BaseExceptionGroup("outer", [builtins.BaseExceptionGroup("inner", members)])
    with pytest.raises(builtins.BaseExceptionGroup), looptrace.span("nursery"):
        raise group
    recorded()
    span = receiver.named("nursery")
    assert (span.status, span.attributes.get("looptrace.status")) == (status, told)


async def test_generators_closed_by_their_reader(recorded: Recorded, receiver: Receiver) -> None:
    @looptrace.observe
    async def stream() -> AsyncIterator[int]:
        with looptrace.span("within"):
            yield 1
            yield 2

    @looptrace.observe
    def items() -> Iterator[int]:
        with looptrace.span("within"):
            yield 1
            yield 2

    closed = stream()
    assert await anext(closed) == 1
    await closed.aclose()  # type: ignore[attr-defined]
    thrown = stream()
    assert await anext(thrown) == 1
    with pytest.raises(GeneratorExit):
        await thrown.athrow(GeneratorExit())  # type: ignore[attr-defined]
    thrown_into = items()
    assert next(thrown_into) == 1
    with pytest.raises(GeneratorExit):
        thrown_into.throw(GeneratorExit())  # type: ignore[attr-defined]
    recorded()
    assert sorted(span.name for span in receiver.spans) == ["items", "stream", "stream", "within", "within", "within"]
    assert {(span.status, len(span.events)) for span in receiver.spans} == {(0, 0)}


def _stacks(receiver: Receiver) -> dict[str, str]:
    """The recorded stack of each failed span, by the span's id."""
    return {
        span.span_id: attributes["exception.stacktrace"]
        for span in receiver.spans
        for name, attributes in span.events
        if name == "exception"
    }


@looptrace.tool("step")
def _fails_below(levels: int) -> None:
    if levels == 0:
        raise ValueError("bottom")
    _fails_below(levels - 1)


@looptrace.tool("step")
def _wraps_below(levels: int) -> None:
    if levels == 0:
        raise ValueError("bottom")
    try:
        _wraps_below(levels - 1)
    except ValueError as error:
        raise ValueError("above") from error


@looptrace.tool("step")
def _cleans_up_below(levels: int) -> None:
    if levels == 0:
        raise ValueError("bottom")
    try:
        _cleans_up_below(levels - 1)
    except ValueError:
        raise ValueError("above")  # noqa: B904 - so it is the context, not the cause


def _blocks_below(levels: int) -> None:
    with looptrace.span("step"):
        if levels == 0:
            raise ValueError("bottom")
        _blocks_below(levels - 1)


def _wrapping_blocks_below(levels: int) -> None:
    with looptrace.span("step"):
        if levels == 0:
            raise ValueError("bottom")
        try:
            _wrapping_blocks_below(levels - 1)
        except ValueError as error:
            raise ValueError("above") from error


@looptrace.tool("step")
def _groups_below(levels: int) -> None:
    if levels == 0:
        raise ValueError("bottom")
    try:
        _groups_below(levels - 1)
    except Exception as error:  # noqa: BLE001 - a ValueError or a group
        raise builtins.ExceptionGroup("above", [error]) from None


def _grouping_blocks_below(levels: int) -> None:
    with looptrace.span("step"):
        if levels == 0:
            raise ValueError("bottom")
        try:
            _grouping_blocks_below(levels - 1)
        except Exception as error:  # noqa: BLE001 - as above
            raise builtins.ExceptionGroup("above", [error, error]) from None


@looptrace.tool("step")
def _generator_below(levels: int) -> Iterator[int]:
    if levels == 0:
        raise ValueError("bottom")
    yield from _generator_below(levels - 1)


_BELOW = [_fails_below, _wraps_below, _cleans_up_below, _blocks_below, _wrapping_blocks_below,
          lambda levels: list(_generator_below(levels))]  # fmt: skip
if hasattr(builtins, "ExceptionGroup"):
    _BELOW += [_groups_below, _grouping_blocks_below]


@pytest.mark.parametrize("below", _BELOW)
def test_a_failure_costs_each_level_the_same(
    recorded: Recorded, receiver: Receiver, below: Callable[[int], object]
) -> None:
    """Counts the text that is recorded, since formatting it is the work."""
    texts = []
    for levels in (100, 200):
        receiver.spans.clear()
        with pytest.raises(Exception, match=r"bottom|above"):
            below(levels)
        recorded()
        stacks = _stacks(receiver)
        assert len(stacks) == levels + 1, "each level tells what failed"
        assert any("ValueError: bottom" in stack for stack in stacks.values())
        texts.append(sum(map(len, stacks.values())))
    assert texts[1] < 2.2 * texts[0]
    assert texts[1] < 200 * 16_000


def test_stacks_tell_each_frame_once(recorded: Recorded, receiver: Receiver) -> None:
    @looptrace.tool
    def inner() -> None:
        raise ValueError("bottom")

    def between() -> None:
        inner()

    @looptrace.agent
    def outer() -> None:
        try:
            between()
        except ValueError as error:
            raise RuntimeError("above") from error

    with pytest.raises(RuntimeError):
        outer()
    recorded()
    stacks = _stacks(receiver)
    of_inner = stacks[receiver.named("execute_tool inner").span_id]
    of_outer = stacks[receiver.named("invoke_agent outer").span_id]
    assert "looptrace/_decorators.py" not in of_inner + of_outer
    assert of_inner.startswith("Traceback (most recent call last):\n  File ")
    assert of_inner.endswith("\nValueError: bottom\n")
    assert ("in inner" in of_inner, "in inner" in of_outer) == (True, False)
    assert of_outer.index("in between") < of_outer.index(
        "ValueError: bottom\n\nThe above exception was the direct cause"
    )
    assert of_outer.endswith("\nRuntimeError: above\n")


def test_stacks_are_bounded(recorded: Recorded, receiver: Receiver) -> None:
    def down(levels: int) -> None:
        if levels % 2:
            return down(levels - 1)
        if levels == 0:
            error = ValueError("x" * 1_000_000)
            if hasattr(error, "add_note"):
                error.add_note("y" * 1_000_000)
            raise error
        return down(levels - 1)

    with pytest.raises(ValueError, match="x"), looptrace.span("deep"):
        down(600)
    recorded()
    [stack] = _stacks(receiver).values()
    assert len(stack) < 100_000
    assert "frames are left out" in stack
    assert "in test_stacks_are_bounded" in stack
    assert "raise error" in stack
    assert "\nValueError: xxx" in stack


@pytest.mark.skipif(not hasattr(builtins, "ExceptionGroup"), reason="Python has no groups of exceptions")
def test_stacks_of_groups(recorded: Recorded, receiver: Receiver) -> None:
    @looptrace.tool
    def inner() -> None:
        raise ValueError("bottom")

    def caught() -> Exception:
        try:
            inner()
        except ValueError as error:
            return error
        raise AssertionError

    many = [KeyError(number) for number in range(100)]
    with pytest.raises(builtins.ExceptionGroup), looptrace.span("group"):
        raise builtins.ExceptionGroup("several", [caught(), *many])
    recorded()
    stack = _stacks(receiver)[receiver.named("group").span_id]
    assert "\nExceptionGroup: several (101 sub-exceptions)\n" in stack
    assert "\n  | ValueError: bottom\n" in stack
    assert "\n  | KeyError: 1\n" in stack
    assert "more are left out" in stack
    assert "raise ValueError" not in stack, "it is in the stack of the tool"
