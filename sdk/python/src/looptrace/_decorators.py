"""Decorators that record each call of a function, coroutine function or generator function as a span."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, ParamSpec, TypeAlias, TypeVar, overload

from opentelemetry import context as otel_context

from . import _keys
from ._context import Attachment, attach, detach
from ._json import cut, text_of, to_json
from ._log import failed
from ._spans import Kind, Span, attributes_of, begin, kind_of
from ._state import state

P = ParamSpec("P")
R = TypeVar("R")

# Span names by kind, from the GenAI conventions. For other kinds the span name is the function name.
_TITLES = {"agent": "invoke_agent {}", "workflow": "invoke_workflow {}", "tool": "execute_tool {}"}


class _Step:
    """Describes how the calls of one function are recorded."""

    def __init__(self, function: Callable[..., Any], kind: str, name: str | None) -> None:
        self.kind = kind = kind_of(kind)
        given = name or text_of(getattr(function, "__name__", None) or type(function).__name__)
        self.title = _TITLES.get(kind, "{}").format(given)
        self.attributes = attributes_of(kind, given)
        if kind == "tool" and (about := inspect.getdoc(function)):
            self.attributes[_keys.TOOL_DESCRIPTION] = about.partition("\n\n")[0][:1024]
        self.input_key = _keys.TOOL_ARGUMENTS if kind == "tool" else _keys.INPUTS
        try:
            self.signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):
            self.signature = None
        plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = self.signature.parameters if self.signature else {}
        # If all parameters are positional-or-keyword, names are found without signature.bind, which is slow.
        self.names = list(parameters) if all(one.kind is plain for one in parameters.values()) else None
        first = next(iter(parameters), None)
        self.bound_to = first if first in ("self", "cls") else None

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Span:
        attributes = self.attributes
        running = state.running
        if running is not None and running.config.capture_content:
            try:
                text = to_json(self._by_name(args, kwargs), running.config.content_limit)
                attributes = {**attributes, self.input_key: text}
            except Exception as error:  # noqa: BLE001 - user code may raise anything
                failed("record a call's arguments", error)
        return begin(self.title, self.kind, attributes)

    def _by_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if self.signature is None:
            return {"args": args, **kwargs}
        if self.names is not None and len(args) <= len(self.names):
            named = dict(zip(self.names, args, strict=False)) | kwargs
        else:
            try:
                named = dict(self.signature.bind(*args, **kwargs).arguments)
            except TypeError:  # the call itself raises it too
                return {"args": args, **kwargs}
        if self.bound_to is not None:
            named.pop(self.bound_to, None)
        if self.names is not None:
            return named
        for parameter in self.signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD and parameter.name in named:
                named.update(named.pop(parameter.name))
        return named


def _record(function: Callable[..., Any], kind: str, name: str | None) -> Any:
    if isinstance(function, staticmethod | classmethod):
        return type(function)(_record(function.__func__, kind, name))
    step = _Step(function, kind, name)

    def start(*args: Any, **kwargs: Any) -> tuple[Any, Span]:
        begun = function(*args, **kwargs)  # a coroutine or generator; its code has not started
        return begun, step.begin(args, kwargs)

    def call(*args: Any, **kwargs: Any) -> Any:
        span = step.begin(args, kwargs)
        attached = attach(span.context)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            span.fail(error)
            raise
        finally:
            detach(attached)
        # A plain function may return a generator or coroutine. The span stays open until that ends.
        if (drive := _DRIVERS.get(type(result))) is not None:
            return drive(lambda: (result, span))()
        span.set_output(result)
        span.finish()
        return result

    for is_one, drive in _FUNCTIONS:
        if is_one(function):
            return functools.wraps(function)(drive(start))
    return functools.wraps(function)(call)


def _pause(span: Span, attached: Attachment | None) -> None:
    """Detaches a generator's context and saves it, because the generator may have entered a scope."""
    if attached is not None:
        span.keep_context(otel_context.get_current())
        detach(attached)


_Start: TypeAlias = "Callable[..., tuple[Any, Span]]"


def _coroutine(start: _Start) -> Callable[..., Any]:
    """Returns a coroutine function that awaits the coroutine of start within its span."""

    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        begun, span = start(*args, **kwargs)
        attached = attach(span.context)
        try:
            result = await begun
        except BaseException as error:
            span.fail(error)
            raise
        finally:
            detach(attached)
        span.set_output(result)
        span.finish()
        return result

    return coroutine


def _generator(start: _Start) -> Callable[..., Any]:
    """Returns a generator function that iterates the generator of start within its span. The generator runs in the
    span's context, its consumer in its own. The span is open from the first item requested until the generator ends
    or is closed."""

    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        begun, span = start(*args, **kwargs)
        items = _Items()
        advance, given = begun.send, None
        while True:
            attached = attach(span.context)
            try:
                item = advance(given)
            except StopIteration as end:
                span.set_output(items.output() if end.value is None else end.value)
                span.finish()
                return end.value
            except BaseException as error:
                span.set_output(items.output())
                span.fail(error)
                raise
            finally:
                _pause(span, attached)
            items.add(item)
            try:
                advance, given = begun.send, (yield item)
            except GeneratorExit as closing:
                # Close it in its own context, as without the decorator. It may raise, or yield again.
                _close(begun, span, items, closing)
                raise
            except BaseException as error:  # noqa: BLE001 - passed on to the generator
                advance, given = begun.throw, error

    return generator


def _close(generator: Generator[Any, Any, Any], span: Span, items: _Items, closing: GeneratorExit) -> None:
    span.set_output(items.output())
    attached = attach(span.context)
    try:
        generator.close()
    except BaseException as error:
        span.fail(error)
        raise
    finally:
        detach(attached)
    span.fail(closing)


def _asynchronous_generator(start: _Start) -> Callable[..., Any]:
    """Like _generator, for asynchronous generators."""

    async def generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        begun, span = start(*args, **kwargs)
        items = _Items()
        advance, given = begun.asend, None
        while True:
            attached = attach(span.context)
            try:
                item = await advance(given)
            except StopAsyncIteration:
                span.set_output(items.output())
                span.finish()
                return
            except BaseException as error:
                span.set_output(items.output())
                span.fail(error)
                raise
            finally:
                _pause(span, attached)
            items.add(item)
            try:
                advance, given = begun.asend, (yield item)
            except GeneratorExit as closing:
                await _aclose(begun, span, items, closing)
                raise
            except BaseException as error:  # noqa: BLE001 - passed on to the generator
                advance, given = begun.athrow, error

    return generator


async def _aclose(generator: AsyncGenerator[Any, Any], span: Span, items: _Items, closing: GeneratorExit) -> None:
    span.set_output(items.output())
    attached = attach(span.context)
    try:
        await generator.aclose()
    except BaseException as error:
        span.fail(error)
        raise
    finally:
        detach(attached)
    span.fail(closing)


# How to record a function, by its kind, and the result of a plain function, by its type.
_FUNCTIONS: tuple[tuple[Callable[[Any], bool], Callable[[_Start], Callable[..., Any]]], ...] = (
    (inspect.isasyncgenfunction, _asynchronous_generator),
    (inspect.isgeneratorfunction, _generator),
    (inspect.iscoroutinefunction, _coroutine),
)
_DRIVERS: dict[type, Callable[[_Start], Callable[..., Any]]] = {
    types.AsyncGeneratorType: _asynchronous_generator,
    types.GeneratorType: _generator,
    types.CoroutineType: _coroutine,
}


class _Items:
    """Serializes the items of a generator up to a limit. Strings are joined, other items become a JSON list. It holds
    no references to the items."""

    def __init__(self) -> None:
        running = state.running
        self._room = running.config.content_limit if running and running.config.capture_content else 0
        self._parts: list[str] = []
        self._is_text = True
        self._more = 0

    def add(self, item: Any) -> None:
        if self._room <= 0:
            self._more += 1
            return
        try:
            if not isinstance(item, str) and self._is_text:
                self._is_text = False
                self._parts = [to_json(part, len(part) + 4) for part in self._parts]
            part = cut(item, self._room) if self._is_text else to_json(item, self._room)
        except Exception as error:  # noqa: BLE001 - user code may raise anything
            failed("record a yielded item", error)
            return
        self._parts.append(part)
        self._room -= len(part)

    def output(self) -> str:
        note = f"…[{self._more} more]" if self._more else ""
        if self._is_text:
            return "".join(self._parts) + note
        return "[" + ", ".join(self._parts + ([to_json(note, 64)] if note else [])) + "]"


def _decorated(given: Any, kind: str) -> Any:
    """Records a function, or returns a decorator for the name that is given."""
    if callable(given) or isinstance(given, classmethod):
        return _record(given, kind, None)
    name = None if given is None else text_of(given)
    return lambda decorated: _record(decorated, kind, name)


class _Decorator:
    """A decorator that works with and without a name: `@tool` and `@tool("name")`."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    @overload
    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def __call__(self, name: str | None = None, /) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
    def __call__(self, function: Any = None, /) -> Any:
        return _decorated(function, self._kind)


agent = _Decorator("agent")
tool = _Decorator("tool")
workflow = _Decorator("workflow")
task = _Decorator("task")


@overload
def observe(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def observe(name: str | None = None, /, *, kind: Kind | str = "span") -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def observe(function: Any = None, /, *, kind: Kind | str = "span") -> Any:
    """Records each call of a function as a span: `@observe`, `@observe("name")`, `@observe(kind="retriever")`."""
    return _decorated(function, kind)
