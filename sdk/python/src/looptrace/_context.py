"""Scopes that add session, user, tags and metadata to every span started within them, and those of prompts, which add
the prompt to model calls.

The attributes are stored in the OpenTelemetry context. They propagate with contextvars: into tasks, and into threads
that run in a copy of the context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeAlias

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.util.types import Attributes, AttributeValue

from . import _keys
from ._json import text_of, to_attribute
from ._log import failed

_KEY = otel_context.create_key("looptrace-attributes")
_PROMPT_KEY = otel_context.create_key("looptrace-prompt")
_MAX_LENGTH = 4096


class Attached(Context):
    """A context that a block of this package attached."""

    # What detaches the block, if another thread or task closed it than opened it. There it has no effect.
    left: Any = None


def current() -> Context:
    """Returns the current context, after it has detached blocks that another thread or task closed."""
    context = otel_context.get_current()
    while isinstance(context, Attached) and (token := context.left) is not None:
        try:
            token.var.reset(token)
        except (ValueError, RuntimeError):
            # This thread or task got a copy of the context while the block was open. What it starts belongs there.
            break
        context.left = None
        context = otel_context.get_current()
    return context


# What detaches a context: its token, and itself.
Attachment: TypeAlias = tuple[Any, Context]


def attach(context: Context | None) -> Attachment | None:
    """Makes the context the current one."""
    return None if context is None else (otel_context.attach(context), context)


def detach(attached: Attachment | None) -> None:
    if attached is None:
        return
    token, context = attached
    try:
        token.var.reset(token)
    except ValueError:
        # Another thread or task closes the block than opened it, as happens to generators.
        if otel_context.get_current() is context:
            otel_context.attach(Context() if token.old_value is token.MISSING else token.old_value)
        if isinstance(context, Attached):
            context.left = token
    except (RuntimeError, AttributeError):
        pass  # it is detached, or the program has another implementation of contexts


def _value(key: str, context: Context | None) -> object:
    if context is None:
        return current().get(key)
    # A framework that sets the parent explicitly may have created the context without the current values.
    return current().get(key) if (found := context.get(key)) is None else found


def scoped(context: Context | None = None) -> dict[str, AttributeValue]:
    """Returns the attributes of the open scopes in the context, by default the current one."""
    found = _value(_KEY, context)
    return found if isinstance(found, dict) else {}


def for_processor(context: Context | None) -> Attributes:
    return scoped(context)


@dataclass(frozen=True, eq=False)
class _PromptScope:
    attributes: Mapping[str, AttributeValue]


def prompt_attributes(context: Context | None) -> Mapping[str, AttributeValue] | None:
    """Returns the attributes of the innermost open prompt scope."""
    found = _value(_PROMPT_KEY, context)
    return found.attributes if isinstance(found, _PromptScope) else None


# The scopes of a prompt that are open. Several threads and tasks may have one.
PromptScopes: TypeAlias = "list[tuple[_PromptScope, Attachment | None]]"


def enter_prompt(scopes: PromptScopes, attributes: Mapping[str, AttributeValue]) -> None:
    try:
        scope = _PromptScope(attributes)
        scopes.append((scope, attach(Attached(otel_context.set_value(_PROMPT_KEY, scope, current())))))
    except Exception as error:  # noqa: BLE001 - must not raise into user code
        failed("open the scope of a prompt", error)


def exit_prompt(scopes: PromptScopes) -> None:
    """Closes the scope that is open here, or else the last, which another thread or task opened."""
    try:
        here = current().get(_PROMPT_KEY)
        if scopes:
            closed = next((entry for entry in scopes if entry[0] is here), scopes[-1])
            scopes.remove(closed)
            detach(closed[1])
    except Exception as error:  # noqa: BLE001 - must not raise into user code
        failed("close the scope of a prompt", error)


class Scope:
    """A context manager for `with` and `async with`. It is reusable but not reentrant."""

    def __init__(self, attributes: Mapping[str, AttributeValue]) -> None:
        self._attributes = attributes
        self._attached: Attachment | None = None

    def __enter__(self) -> None:
        try:
            outer = scoped()
            attributes = {**outer, **self._attributes}
            if (added := self._attributes.get(_keys.TAGS)) is not None:
                attributes[_keys.TAGS] = _joined(outer.get(_keys.TAGS), added)
            span = trace.get_current_span()
            if span.is_recording():
                span.set_attributes({key: attributes[key] for key in self._attributes})
            self._attached = attach(Attached(otel_context.set_value(_KEY, attributes)))
        except Exception as error:  # noqa: BLE001 - must not raise into user code
            failed("open a scope", error)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        attached, self._attached = self._attached, None
        detach(attached)

    async def __aenter__(self) -> None:
        self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)


def _joined(outer: Any, added: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(outer or ()), *added)))


def session(session_id: str) -> Scope:
    """Sets the session id. Runs of one conversation, ticket or batch share it."""
    return Scope({_keys.SESSION_ID: text_of(session_id)})


def user(user_id: str) -> Scope:
    """Sets the user id of your system."""
    return Scope({_keys.USER_ID: text_of(user_id)})


def tags(*names: str) -> Scope:
    """Adds tags to those of the outer scopes."""
    return Scope({_keys.TAGS: tuple(text_of(name) for name in names)})


def metadata(values: Mapping[str, object] | None = None, /, **more: object) -> Scope:
    """Adds metadata. A value that is not a str, int, float or bool is sent as JSON."""
    try:
        values = {} if values is None else {**values}
    except Exception as error:  # noqa: BLE001 - it may be anything
        failed("read metadata", error)
        values = {}
    named = {**values, **more}.items()
    return Scope({_keys.METADATA + text_of(name): to_attribute(value, _MAX_LENGTH) for name, value in named})
