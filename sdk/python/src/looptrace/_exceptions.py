"""What a span tells of an exception that ends it."""

from __future__ import annotations

import asyncio
import builtins
import itertools
import textwrap
import traceback
from collections import deque
from types import TracebackType
from typing import Literal

from ._json import cut, text_of
from ._log import failed

MAX_MESSAGE = 8192
# A stack has the frames at both ends, of as many exceptions, and is not followed further than this.
_OUTER, _INNER, _MAX_FRAMES = 16, 48, 2000
_MAX_EXCEPTIONS = 16
_MAX_STACK = 65_536
# The module whose frames mark a call that is recorded.
_DECORATORS = f"{__package__}._decorators"
_TITLE = "Traceback (most recent call last):\n"
_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"

# Python 3.10 has no groups.
_GROUP: type[BaseException] | tuple[()] = getattr(builtins, "BaseExceptionGroup", ())


def ending(error: BaseException) -> Literal["failed", "cancelled", "done"]:
    """Tells what the exception means for the span. A person who interrupts a program cancels it. A program that exits
    with code 0, and a reader that closes a generator early, are done. A group is a failure if a member is."""
    is_cancelled = False
    members, seen = [error], {id(error)}  # a group may hold a member at many places
    while members:
        error = members.pop()
        if isinstance(error, _GROUP):
            new = [member for member in _members(error) if id(member) not in seen]
            seen.update(map(id, new))
            members += new
        elif isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
            is_cancelled = True
        elif not isinstance(error, GeneratorExit) and not (isinstance(error, SystemExit) and _is_zero(error.code)):
            return "failed"
    return "cancelled" if is_cancelled else "done"


def _is_zero(code: object) -> bool:
    """Reports whether Python exits with 0 for the code of a SystemExit. For what is no integer it exits with 1."""
    return code is None or (isinstance(code, int) and code == 0)


def type_of(error: BaseException) -> str:
    kind = type(error)
    return (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )


def stack_of(error: BaseException) -> str | None:
    """Returns the traceback as Python prints it, without what other spans tell.

    An exception that passes many recorded calls is told by each. So a stack ends at the next recorded call, whose span
    has the frames within it, and those of its causes."""
    try:
        text = "".join(_Stack().of(error))
    except Exception as problem:  # noqa: BLE001 - reading source lines may run code of their loader
        failed("format an exception", problem)
        return None
    half = _MAX_STACK // 2
    return text if len(text) <= _MAX_STACK else f"{text[:half]}\n…[cut, {len(text)} characters in all]\n{text[-half:]}"


class _Stack:
    def __init__(self) -> None:
        # Causes and members of groups may be many, and may contain themselves.
        self._left = _MAX_EXCEPTIONS

    def of(self, error: BaseException, *, is_own: bool = True) -> list[str]:
        """Returns the lines for an exception and its causes. is_own tells that it passed the span's own call, whose
        frames come first."""
        told: list[str] = []
        while True:
            self._left -= 1
            frames, is_elsewhere = _frames(error.__traceback__, is_own=is_own)
            lines = [_TITLE, *frames] if frames else []
            message = text_of(error, MAX_MESSAGE)
            lines.append(f"{type_of(error)}: {message}\n" if message else f"{type_of(error)}\n")
            lines += [cut(note, MAX_MESSAGE) + "\n" for note in _notes(error)]
            if not is_elsewhere:
                lines += self._of_members(error)
            told = lines + told
            cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
            if cause is None or is_elsewhere:
                return told
            told.insert(0, _CONTEXT if error.__cause__ is None else _CAUSE)
            if self._left <= 0:
                return ["[more exceptions are left out]\n", *told]
            error, is_own = cause, False

    def _of_members(self, group: BaseException) -> list[str]:
        lines: list[str] = []
        for number, member in enumerate(members := _members(group)):
            if self._left <= 0:
                return [*lines, f"  | [{len(members) - number} more are left out]\n"]
            lines.append(f"  +---------------- {number + 1} ----------------\n")
            lines.append(textwrap.indent("".join(self.of(member, is_own=False)), "  | ", lambda _line: True))
        return lines


def _frames(entry: TracebackType | None, *, is_own: bool) -> tuple[list[str], bool]:
    """Returns the lines for the frames until the next recorded call, and whether there is one."""
    while is_own and entry is not None and _is_recorded_call(entry):
        entry = entry.tb_next
    outer: list[TracebackType] = []
    inner: deque[TracebackType] = deque(maxlen=_INNER)
    for number in itertools.count():
        if entry is None or number == _MAX_FRAMES or _is_recorded_call(entry):
            break
        (outer if number < _OUTER else inner).append(entry)
        entry = entry.tb_next
    lines = _formatted(outer)
    if (left_out := number - len(outer) - len(inner)) > 0:
        lines.append(f"  [{left_out} frames are left out]\n")
    lines += _formatted(inner)
    if entry is not None:
        lines.append("  [the frames of this call are in its own span]\n" if number < _MAX_FRAMES else "  [and more]\n")
    return lines, entry is not None and number < _MAX_FRAMES


def _is_recorded_call(entry: TracebackType) -> bool:
    return entry.tb_frame.f_globals.get("__name__") == _DECORATORS


def _formatted(entries: list[TracebackType] | deque[TracebackType]) -> list[str]:
    linked: TracebackType | None = None
    for entry in reversed(entries):
        linked = TracebackType(linked, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return traceback.format_tb(linked)


def _members(error: BaseException) -> tuple[BaseException, ...]:
    return getattr(error, "exceptions", ()) if isinstance(error, _GROUP) else ()


def _notes(error: BaseException) -> list[str]:
    notes = getattr(error, "__notes__", None)
    return [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []
