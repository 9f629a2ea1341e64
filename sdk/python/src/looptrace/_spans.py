"""The context manager `span`, scores, and the current run."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Literal, TypeAlias

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Status, StatusCode
from opentelemetry.util.types import AttributeValue

from . import _keys
from ._context import Attached, Attachment, attach, current, detach
from ._exceptions import MAX_MESSAGE, ending, stack_of, type_of
from ._json import text_of, to_attribute, to_text
from ._log import failed
from ._state import state

Kind: TypeAlias = Literal[
    "agent", "workflow", "task", "llm", "tool", "retriever", "embedding", "reranker", "guardrail", "evaluator", "span"
]

_KIND = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_OPERATIONS = {
    "agent": "invoke_agent", "workflow": "invoke_workflow", "tool": "execute_tool", "llm": "chat",
    "retriever": "retrieval", "embedding": "embeddings",
}  # fmt: skip
_NAMES = {"agent": _keys.AGENT_NAME, "workflow": _keys.WORKFLOW_NAME, "tool": _keys.TOOL_NAME}


def kind_of(kind: object) -> str:
    return kind if isinstance(kind, str) and _KIND.fullmatch(kind) else "span"


def attributes_of(kind: str, name: str) -> dict[str, AttributeValue]:
    """Returns the attributes for the kind of a span and the name of its agent, workflow or tool."""
    attributes: dict[str, AttributeValue] = {}
    if operation := _OPERATIONS.get(kind):
        attributes[_keys.OPERATION_NAME] = operation
    else:
        attributes[_keys.KIND] = kind
    if key := _NAMES.get(kind):
        attributes[key] = name
    if kind == "tool":
        attributes[_keys.TOOL_TYPE] = "function"
    return attributes


def current_span(context: Context | None = None) -> trace.Span:
    """Returns the innermost open span, from the context or from a framework that does not use the context."""
    span = trace.get_current_span(current() if context is None else context)
    if state.framework_span is None:
        return span
    try:
        other = state.framework_span()
    except Exception as error:  # noqa: BLE001 - depends on internals of the framework
        failed("find a framework's span", error)
        return span
    if other is None or not other.is_recording():
        return span
    # Both are open, so the one that started later is the inner one.
    later = getattr(other, "start_time", 0) > (getattr(span, "start_time", 0) or 0)
    return other if later or not span.get_span_context().is_valid else span


class Span:
    """An open span. Its methods never raise. They have no effect after the span has ended."""

    __slots__ = ("_context", "_kind", "_span")

    def __init__(self, span: trace.Span, context: Context | None, kind: str) -> None:
        self._span, self._context, self._kind = span, context, kind

    @property
    def run_id(self) -> str | None:
        """The id of the span's run, or None if nothing is recorded."""
        return run_id_of(self._span)

    @property
    def span_id(self) -> str | None:
        """The span's id as 16 hexadecimal digits, or None if nothing is recorded."""
        context = self._span.get_span_context()
        return trace.format_span_id(context.span_id) if context.is_valid else None

    def set_input(self, value: object) -> None:
        """Sets the input: a string, or any value, which is stored as JSON. For a tool, its arguments by name."""
        self._set_content(_keys.TOOL_ARGUMENTS if self._kind == "tool" else _keys.INPUTS, value)

    def set_output(self, value: object) -> None:
        """Sets the output: a string, or any value, which is stored as JSON."""
        self._set_content(_keys.TOOL_RESULT if self._kind == "tool" else _keys.OUTPUTS, value)

    def set_model(self, model: str, *, provider: str | None = None, answered: str | None = None) -> None:
        """Sets the requested model, its provider (such as `openai`), and the model named in the response."""
        named = {_keys.REQUEST_MODEL: model, _keys.PROVIDER_NAME: provider, _keys.RESPONSE_MODEL: answered}
        self._set({key: text_of(value) for key, value in named.items() if value is not None})

    def set_usage(
        self,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cache_read_tokens: int | None = None,
        cache_write_tokens: int | None = None,
        reasoning_tokens: int | None = None,
    ) -> None:
        """Sets the token counts of a model call. Input includes cached tokens, output includes reasoning tokens."""
        counts = {
            _keys.INPUT_TOKENS: input_tokens, _keys.OUTPUT_TOKENS: output_tokens,
            _keys.CACHE_READ_TOKENS: cache_read_tokens, _keys.CACHE_WRITE_TOKENS: cache_write_tokens,
            _keys.REASONING_TOKENS: reasoning_tokens,
        }  # fmt: skip
        self._set({key: value for key, value in counts.items() if value is not None})

    def set_attribute(self, key: str, value: object) -> None:
        """Sets an attribute. A value that is not a str, int, float or bool is stored as JSON."""
        self._set({text_of(key): value})

    def score(
        self, name: str, value: float | None = None, *, label: str | None = None, explanation: str | None = None
    ) -> None:
        """Adds a score to this span. See looptrace.score."""
        _add_score(self._span, name, value, label, explanation)

    def _set_content(self, key: str, value: object) -> None:
        try:
            if (running := state.running) is not None and running.config.capture_content and self._span.is_recording():
                self._span.set_attribute(key, to_text(value, running.config.content_limit))
        except Exception as error:  # noqa: BLE001 - must not raise into user code
            failed("record a value", error)

    def _set(self, values: Mapping[str, object]) -> None:
        try:
            if (running := state.running) is None or not self._span.is_recording():
                return
            limit = running.config.content_limit
            for key, value in values.items():
                self._span.set_attribute(key, to_attribute(value, limit))
        except Exception as error:  # noqa: BLE001 - must not raise into user code
            failed("set an attribute", error)

    # Internal: the context in which the span's code runs, and the two ways to end the span.

    @property
    def context(self) -> Context | None:
        return self._context

    def keep_context(self, context: Context) -> None:
        self._context = context

    def finish(self) -> None:
        try:
            if self._span.is_recording():
                self._span.end()
        except Exception as error:  # noqa: BLE001 - must not raise into user code
            failed("end a span", error)

    def fail(self, error: BaseException) -> None:
        """Ends the span with an exception, which is not always an error."""
        try:
            if self._span.is_recording():
                if (how := ending(error)) == "failed":
                    self._record(error)
                elif how == "cancelled":
                    self._span.set_attribute(_keys.STATUS, how)
        except Exception as problem:  # noqa: BLE001 - must not raise into user code
            failed("record an exception", problem)
        self.finish()

    def _record(self, error: BaseException) -> None:
        name, message = type_of(error), text_of(error, MAX_MESSAGE)
        self._span.set_attribute(_keys.ERROR_TYPE, name)
        self._span.set_status(Status(StatusCode.ERROR, message))
        told = {_keys.EXCEPTION_TYPE: name, _keys.EXCEPTION_MESSAGE: message}
        if (stack := stack_of(error)) is not None:
            told[_keys.EXCEPTION_STACKTRACE] = stack
        self._span.add_event(_keys.EVENT_EXCEPTION, told)


_NOTHING = Span(trace.INVALID_SPAN, None, "span")


def begin(name: str, kind: str, attributes: Mapping[str, AttributeValue]) -> Span:
    """Starts a child of the innermost open span. The caller attaches its context."""
    try:
        if (running := state.running) is None:
            return _NOTHING
        context = current()
        if state.framework_span is not None and (inner := current_span(context)) is not trace.get_current_span(context):
            context = trace.set_span_in_context(inner, context)
        span = running.tracer.start_span(name, context=context, attributes=attributes)
        return Span(span, Attached(trace.set_span_in_context(span, context)), kind)
    except Exception as error:  # noqa: BLE001 - must not raise into user code
        failed("start a span", error)
        return _NOTHING


class SpanScope:
    """The context manager that `span` returns, for `with` and `async with`."""

    def __init__(self, name: str, kind: str, given: bool, value: object) -> None:
        self._name, self._kind, self._given, self._value = text_of(name), kind_of(kind), given, value
        self._span = _NOTHING
        self._attached: Attachment | None = None

    def __enter__(self) -> Span:
        self._span = begin(self._name, self._kind, attributes_of(self._kind, self._name))
        if self._given:
            self._span.set_input(self._value)
        self._attached = attach(self._span.context)
        return self._span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        span, attached = self._span, self._attached
        self._span, self._attached = _NOTHING, None
        if error is None:
            span.finish()
        else:
            span.fail(error)
        detach(attached)

    async def __aenter__(self) -> Span:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)


_ABSENT = object()


def span(name: str, kind: Kind | str = "span", *, input: object = _ABSENT) -> SpanScope:  # noqa: A002 - public API
    """Records the block as a span.

    with looptrace.span("rank", kind="reranker", input=query) as step:
        step.set_output(rank(query))
    """
    return SpanScope(name, kind, input is not _ABSENT, input)


def score(
    name: str,
    value: float | None = None,
    *,
    label: str | None = None,
    explanation: str | None = None,
    of: Literal["span", "run"] = "span",
) -> None:
    """Adds a score with a number, a label or both to the current span, or to its run with of="run". It is sent as the
    event `gen_ai.evaluation.result` of the OpenTelemetry GenAI conventions."""
    try:
        target = current_span()
        if of == "run" and state.running is not None:
            target = state.running.processor.roots.get(target.get_span_context().trace_id, target)
        _add_score(target, name, value, label, explanation)
    except Exception as error:  # noqa: BLE001 - must not raise into user code
        failed("score", error)


def _add_score(span: trace.Span, name: str, value: float | None, label: str | None, explanation: str | None) -> None:
    try:
        attributes: dict[str, AttributeValue] = {_keys.EVALUATION_NAME: text_of(name)}
        if value is not None and math.isfinite(number := float(value)):
            attributes[_keys.EVALUATION_VALUE] = number
        if label is not None:
            attributes[_keys.EVALUATION_LABEL] = text_of(label)
        if explanation is not None:
            attributes[_keys.EVALUATION_EXPLANATION] = text_of(explanation, MAX_MESSAGE)
        span.add_event(_keys.EVENT_EVALUATION, attributes)
    except Exception as error:  # noqa: BLE001 - must not raise into user code
        failed("score", error)


def current_run_id() -> str | None:
    """Returns the id of the current run, or None outside of a run."""
    return run_id_of(current_span())


def run_id_of(span: trace.Span) -> str | None:
    context = span.get_span_context()
    return str(uuid.UUID(int=context.trace_id)) if context.is_valid else None


def run_url(run_id: str | None = None) -> str | None:
    """Returns the URL of the page of a run, by default the current one. Returns None without a run, or if init has no
    project or no base URL of Looptrace."""
    run_id = (None if run_id is None else text_of(run_id)) or current_run_id()
    running = state.running
    if run_id is None or running is None or running.config.web_url is None or running.config.project is None:
        return None
    return f"{running.config.web_url}/p/{running.config.project}/runs/{run_id}"
