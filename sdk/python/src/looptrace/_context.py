"""Scopes that add session, user, tags and metadata to every span started within them, and those of prompts, which add
the prompt to model calls.

The attributes are stored in the OpenTelemetry context. They propagate with contextvars: into tasks, and into threads
that run in a copy of the context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.util.types import Attributes, AttributeValue

from . import _keys
from ._json import cut, to_attribute
from ._log import failed

_KEY = otel_context.create_key("looptrace-attributes")
_PROMPT_KEY = otel_context.create_key("looptrace-prompt")
_MAX_LENGTH = 4096


def scoped(context: Context | None = None) -> dict[str, AttributeValue]:
    """Returns the attributes of the open scopes in the context, by default the current one."""
    found = otel_context.get_value(_KEY, context)
    if found is None and context is not None:
        # A framework that sets the parent explicitly may have created the context without the current values.
        found = otel_context.get_value(_KEY)
    return found if isinstance(found, dict) else {}


def for_processor(context: Context | None) -> Attributes:
    return scoped(context)


@dataclass(frozen=True)
class _PromptScope:
    owner: object
    attributes: Mapping[str, AttributeValue]
    outer: Context


def prompt_attributes(context: Context | None) -> Mapping[str, AttributeValue] | None:
    """Returns the attributes of the innermost open prompt scope."""
    found = otel_context.get_value(_PROMPT_KEY, context)
    if found is None and context is not None:
        found = otel_context.get_value(_PROMPT_KEY)
    return found.attributes if isinstance(found, _PromptScope) else None


def enter_prompt(owner: object, attributes: Mapping[str, AttributeValue]) -> None:
    """Opens a prompt scope. Several threads and tasks may have one of the same owner open, so it is kept in the context
    and not in the owner."""
    try:
        outer = otel_context.get_current()
        otel_context.attach(otel_context.set_value(_PROMPT_KEY, _PromptScope(owner, attributes, outer), outer))
    except Exception as error:  # noqa: BLE001 - must not raise into user code
        failed("open the scope of a prompt", error)


def exit_prompt(owner: object) -> None:
    try:
        found = otel_context.get_value(_PROMPT_KEY)
        # A different task may close an asynchronous generator, and has another scope open or none.
        if isinstance(found, _PromptScope) and found.owner is owner:
            otel_context.attach(found.outer)
    except Exception as error:  # noqa: BLE001 - must not raise into user code
        failed("close the scope of a prompt", error)


def detach(token: Any) -> None:
    """Detaches the context. A token of a different context is ignored. This happens when a different task closes an
    asynchronous generator."""
    try:  # noqa: SIM105 - contextlib.suppress is slower than the rest of this function
        token.var.reset(token)
    except (ValueError, RuntimeError, AttributeError):
        pass


class Scope:
    """A context manager for `with` and `async with`. It is reusable but not reentrant."""

    def __init__(self, attributes: Mapping[str, AttributeValue]) -> None:
        self._attributes = attributes
        self._token: Any = None

    def __enter__(self) -> None:
        try:
            outer = scoped()
            attributes = {**outer, **self._attributes}
            if (added := self._attributes.get(_keys.TAGS)) is not None:
                attributes[_keys.TAGS] = _joined(outer.get(_keys.TAGS), added)
            current = trace.get_current_span()
            if current.is_recording():
                current.set_attributes(
                    {key: attributes[key] for key in self._attributes},
                )
            self._token = otel_context.attach(otel_context.set_value(_KEY, attributes))
        except Exception as error:  # noqa: BLE001 - must not raise into user code
            failed("open a scope", error)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        token, self._token = self._token, None
        if token is not None:
            detach(token)

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
    return Scope({_keys.SESSION_ID: cut(str(session_id), _MAX_LENGTH)})


def user(user_id: str) -> Scope:
    """Sets the user id of your system."""
    return Scope({_keys.USER_ID: cut(str(user_id), _MAX_LENGTH)})


def tags(*names: str) -> Scope:
    """Adds tags to those of the outer scopes."""
    return Scope({_keys.TAGS: tuple(cut(str(name), _MAX_LENGTH) for name in names)})


def metadata(values: Mapping[str, object] | None = None, /, **more: object) -> Scope:
    """Adds metadata. A value that is not a str, int, float or bool is sent as JSON."""
    return Scope(
        {
            _keys.METADATA + str(name): to_attribute(value, _MAX_LENGTH)
            for name, value in {**(values or {}), **more}.items()
        }
    )
