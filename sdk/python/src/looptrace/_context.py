"""What is said of a stretch of a program and goes onto every span started in it: session, user, tags, metadata.

It lives in the OpenTelemetry context, and so goes wherever contextvars go: into tasks, and into threads that are given
the context.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.util.types import Attributes, AttributeValue

from . import _keys
from ._json import cut, to_text
from ._log import failed

_KEY = otel_context.create_key("looptrace-attributes")
_LONGEST = 4096


def scoped(context: Context | None = None) -> dict[str, AttributeValue]:
    """The attributes of the scopes that are open in a context: the one given, else the current one."""
    found = otel_context.get_value(_KEY, context)
    if found is None and context is not None:
        # A framework that names the parent itself may have made its context from nothing.
        found = otel_context.get_value(_KEY)
    return found if isinstance(found, dict) else {}


def for_processor(context: Context | None) -> Attributes:
    return scoped(context)


def detach(token: Any) -> None:
    """Ends what attach began. A token of another context (an asynchronous generator that is closed by another task
    than began it) is let be, silently: that context is gone or is not this one."""
    try:  # noqa: SIM105 - contextlib.suppress costs each span more than the rest of this
        token.var.reset(token)
    except (ValueError, RuntimeError, AttributeError):
        pass


class Scope:
    """A context manager, for `with` and `async with`. One object may be entered again, but not within itself."""

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
        except Exception as error:  # noqa: BLE001 - user code stands in the block
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
    """Runs of one session share this id: a conversation, a ticket, a batch."""
    return Scope({_keys.SESSION_ID: cut(str(session_id), _LONGEST)})


def user(user_id: str) -> Scope:
    """Who the run is for, as your system names them."""
    return Scope({_keys.USER_ID: cut(str(user_id), _LONGEST)})


def tags(*names: str) -> Scope:
    """Words to find runs by, beside those of the scopes around."""
    return Scope({_keys.TAGS: tuple(cut(str(name), _LONGEST) for name in names)})


def metadata(values: Mapping[str, object] | None = None, /, **more: object) -> Scope:
    """Names and values to find runs by. A value that is not text, a number or a truth value goes as JSON."""
    return Scope({_keys.METADATA + str(name): _value(value) for name, value in {**(values or {}), **more}.items()})


def _value(value: object) -> AttributeValue:
    return value if isinstance(value, bool | int | float) else to_text(value, _LONGEST)
