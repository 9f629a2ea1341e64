"""What spans hold, by the conventions of all supported instrumentations. Removes content before spans are sent: all
content if it is not captured, and what the user redacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanKind, Status
from opentelemetry.util.types import AnyValue, Attributes, AttributeValue

from . import _keys
from ._config import Redact
from ._json import clean, text_of
from ._log import failed

# Replaces a value whose redaction failed.
UNREDACTED = "[redaction failed]"

# A rule gets a key and its value and returns the value to send, or None to remove the attribute.
Rule: TypeAlias = Callable[[str, Any], Any]

# The key that rules get for a span's status message.
STATUS_MESSAGE = "status.message"

# Keys of prompts, responses, arguments, results and documents, by convention.
_CONTENT_KEYS = frozenset({
    _keys.INPUTS, _keys.OUTPUTS, _keys.TOOL_ARGUMENTS, _keys.TOOL_RESULT,
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions",
    "gen_ai.prompt", "gen_ai.completion", "gen_ai.retrieval.query.text", "gen_ai.retrieval.documents",
    "gen_ai.memory.query.text", "gen_ai.memory.records", "gen_ai.event.content",
    "gen_ai.tool.input", "gen_ai.tool.output",
    "input.value", "output.value", "input.images", "output.images", "tool.parameters", "tool_call.function.arguments",
    "traceloop.entity.input", "traceloop.entity.output",
    "all_messages_events", "final_result", "tool_arguments", "tool_response", "events", "model_request_parameters",
    "request_data", "response_data", "system_prompt", "agent.tools",
})  # fmt: skip
_CONTENT_PREFIXES = (
    "llm.input_messages.", "llm.output_messages.", "llm.prompts.", "llm.choices.", "llm.tools.",
    "llm.completions.", "llm.prompt_template.", "llm.function_call", "llm.request.functions.",
    "gen_ai.prompt.", "gen_ai.completion.", "gen_ai.input.messages.", "gen_ai.output.messages.",
    "gen_ai.request.tools.", "gen_ai.tool.definitions.",
    "retrieval.documents.", "reranker.", "embedding.embeddings.", "document.",
    "pydantic_ai.all_messages", "gcp.vertex.agent.llm_re", "gcp.vertex.agent.tool_", "gcp.vertex.agent.data",
    "ai.prompt", "ai.response.text", "ai.response.object", "ai.response.toolCalls", "ai.toolCall.args",
    "ai.toolCall.result", "logfire.", "langfuse.observation.input", "langfuse.observation.output",
)  # fmt: skip
# Not content, although a content prefix matches.
_NOT_CONTENT = frozenset({"gen_ai.prompt.name", "gen_ai.prompt.version", "reranker.model_name", "reranker.top_k"})
# Events whose attributes hold messages.
_CONTENT_EVENTS = frozenset({
    "gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message", "gen_ai.choice",
    "gen_ai.content.prompt", "gen_ai.content.completion", "gen_ai.client.inference.operation.details",
})  # fmt: skip


def is_content(key: str) -> bool:
    """Reports whether the attribute holds content, in the conventions of all supported instrumentations."""
    return key in _CONTENT_KEYS or (key.startswith(_CONTENT_PREFIXES) and key not in _NOT_CONTENT)


# Values of gen_ai.operation.name for calls of language models: those of the conventions, and those written instead.
_MODEL_OPERATIONS = frozenset({
    "chat", "generate_content", "text_completion", "fetch_response", "completion", "acompletion", "responses",
    "aresponses", "anthropic_messages", "chat_completion", "chat.completions", "llm_call", "llm_request",
})  # fmt: skip


def is_model_call(attributes: Mapping[str, Any] | None) -> bool:
    """Reports whether the attributes are those of an ended call of a language model. Most instrumentations tell the
    kind of a span only in its course."""
    if not attributes:
        return False
    if (operation := attributes.get(_keys.OPERATION_NAME)) is not None:
        return operation in _MODEL_OPERATIONS
    if (kind := attributes.get("openinference.span.kind")) is not None:
        return bool(kind == "LLM")
    if (kind := attributes.get("llm.request.type")) is not None:  # OpenLLMetry
        return kind in ("chat", "completion")
    return _keys.KIND not in attributes and _keys.REQUEST_MODEL in attributes


def without_content(key: str, value: Any) -> Any:
    """The rule for capture_content=False."""
    return None if is_content(key) else value


def redacting(redact: Redact) -> Rule:
    """Returns a rule that calls the user's hook. A value for which it raises or returns an invalid type is replaced."""

    def rule(key: str, value: Any) -> Any:
        try:
            redacted = redact(key, value)
        except Exception as error:  # noqa: BLE001 - user code may raise anything
            failed("redact", error)
            return UNREDACTED
        if redacted is None or _is_attribute(redacted):
            return redacted
        failed("redact", TypeError(f"redact returned {type(redacted).__name__}"))
        return UNREDACTED

    return rule


def _is_attribute(value: object) -> bool:
    primitive = str | bool | int | float
    if isinstance(value, primitive | bytes):
        return True
    return isinstance(value, Sequence) and all(item is None or isinstance(item, primitive) for item in value)


def utf8(_key: str, value: Any) -> Any:
    """The rule for a batch that could not be encoded. It replaces what is not valid in UTF-8."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(name)): utf8("", member) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [utf8("", item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | bytes) else str(value)


def with_attributes(span: ReadableSpan, more: Attributes) -> ReadableSpan:
    """Returns the span with more attributes. An ended span cannot be changed."""
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={**(span.attributes or {}), **(more or {})},
        events=span.events,
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


class Rewriter:
    """Applies a rule to every value of a span: its attributes, events, links, status message and resource. It runs in
    the sending thread."""

    def __init__(self, rule: Rule, *, drops_events: bool = False) -> None:
        self._rule = rule
        self._drops_events = drops_events
        self._resource: tuple[Resource, Resource] | None = None

    def span(self, span: ReadableSpan) -> ReadableSpan:
        """Returns the span with its values rewritten. What OpenTelemetry takes and cannot send, such as a name that is
        no text, is replaced."""
        status = span.status
        if status.description:
            description = self._value(STATUS_MESSAGE, status.description)
            status = Status(status.status_code, None if description is None else str(description))
        events = [Event(text_of(event.name), event.attributes, event.timestamp) for event in span.events]
        return ReadableSpan(
            name=text_of(span.name),
            context=span.context,
            parent=span.parent,
            resource=self._of_resource(span.resource),
            attributes=self._attributes(span.attributes),
            events=[
                Event(event.name, self._attributes(event.attributes), event.timestamp)
                for event in events
                if not (self._drops_events and event.name in _CONTENT_EVENTS)
            ],
            links=[Link(link.context, self._attributes(link.attributes)) for link in span.links],
            kind=span.kind if isinstance(span.kind, SpanKind) else SpanKind.INTERNAL,
            status=status,
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=_readable(span.instrumentation_scope),
        )

    def _attributes(self, attributes: Mapping[str, AnyValue] | None) -> dict[str, AttributeValue]:
        rewritten = ((key, self._value(key, value)) for key, value in (attributes or {}).items())
        return {key: value for key, value in rewritten if value is not None}

    def _value(self, key: str, value: Any) -> Any:
        try:
            return self._rule(key, value)
        except BaseException as error:  # noqa: BLE001 - redact may call sys.exit, and this thread has no signals
            failed("redact", error)
            return UNREDACTED

    def _of_resource(self, resource: Resource) -> Resource:
        if self._resource is None or self._resource[0] is not resource:
            self._resource = resource, Resource(self._attributes(resource.attributes), resource.schema_url)
        return self._resource[1]


def _readable(scope: InstrumentationScope | None) -> InstrumentationScope | None:
    """Returns the scope with text only, for a tracer whose name or version is something else, such as 1.0."""
    if scope is None:
        return None
    name, version, url = (
        text if text is None else text_of(text) for text in (scope.name, scope.version, scope.schema_url)
    )
    if (name, version, url) == (scope.name, scope.version, scope.schema_url):
        return scope
    return InstrumentationScope(name or "", version, url, scope.attributes)
