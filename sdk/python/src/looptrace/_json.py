"""Converts any Python value to text or valid JSON of limited size. It does not raise."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import math
import pathlib
import uuid
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

_MAX_DEPTH = 16
_MAX_NAME = 4096
# Python writes no more digits, because their number makes the time quadratic.
_MAX_BITS = 14_000
# The room that an item of an array needs at least, and the rows of a frame that are printed.
_ARRAY_ITEM, _MAX_ROWS = 16, 60
# Libraries whose arrays, tensors, series and frames are read by what these have in common. None is imported here.
_ARRAYS = frozenset({"numpy", "pandas", "torch", "jaxlib", "cupy"})
_CUT = "…[cut, {} characters in all]"


def clean(text: str) -> str:
    """Replaces lone surrogates. They are not valid in UTF-8 and would make the encoding of a whole batch fail."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def cut(text: str, limit: int) -> str:
    """Returns at most limit characters of the text, with a note if it was longer."""
    return clean(text if len(text) <= limit else text[:limit] + _CUT.format(len(text)))


def to_text(value: object, limit: int) -> str:
    """Returns a string unchanged and any other value as JSON, truncated to about limit characters."""
    return cut(value, limit) if isinstance(value, str) else to_json(value, limit)


def to_attribute(value: object, limit: int) -> str | bool | int | float:
    """Returns a string, bool or number as the value of an attribute, and any other value as JSON."""
    try:
        if isinstance(value, str | float):
            return cut(value, limit) if isinstance(value, str) else float.__float__(value)
    except Exception:  # noqa: BLE001 - user code may raise anything
        return _unreadable(value)
    read = _Reader(limit).plain(value, 0)
    if isinstance(read, int | float):
        # An attribute has 64 bits with the sign.
        return read if isinstance(read, bool | float) or -(1 << 63) <= read < 1 << 63 else str(read)
    return read if isinstance(value, int) else _encode(read)


def text_of(value: object, limit: int = _MAX_NAME) -> str:
    """Returns a name, an id, a message or a key as text."""
    try:
        return cut(str.__str__(value) if isinstance(value, str) else str(value), limit)
    except Exception:  # noqa: BLE001 - user code may raise anything
        return _unreadable(value)


def _unreadable(value: object) -> str:
    return f"<unreadable {type(value).__name__}>"


def to_json(value: object, limit: int) -> str:
    """Returns the value as valid JSON of at most about limit characters. Strings and collections are truncated."""
    return _encode(_Reader(limit).plain(value, 0))


# What is shown as text.
_TEXTS = (uuid.UUID, pathlib.PurePath, decimal.Decimal, fractions.Fraction, datetime.timedelta)
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class _Reader:
    """Converts a value to JSON types until the limit is reached."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.open: set[int] = set()

    def plain(self, value: Any, depth: int) -> Any:
        self.room -= 4
        # Common types come first, because this runs in every call of a decorated function.
        kind = type(value)
        if kind is str:
            return self._text(value)
        if value is None or kind is bool or (kind is int and -(1 << 53) < value < 1 << 53):
            return value
        try:
            if kind is dict and depth < _MAX_DEPTH:
                return self._once(value, depth)
            return self._other(value, depth)
        except Exception:  # noqa: BLE001 - user code may raise anything
            return _unreadable(value)

    def _other(self, value: Any, depth: int) -> Any:
        if isinstance(value, enum.Enum):
            return self.plain(value.value, depth + 1)
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return self._integer(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else str(float(value))
        if isinstance(value, bytes | bytearray | memoryview):
            return f"<{len(value)} bytes>"
        if isinstance(value, datetime.date | datetime.time):
            return value.isoformat()
        if isinstance(value, _TEXTS):
            return self._text(str(value))
        return "…[too deep]" if depth >= _MAX_DEPTH else self._once(value, depth)

    def _integer(self, value: int) -> int | str:
        """Returns the digits of an integer as text if it has more than 64 bits, which most readers would round."""
        bits = int.bit_length(value)
        if bits <= 64:
            return int.__index__(value)
        try:
            if bits <= _MAX_BITS:
                return self._text(int.__repr__(value))
        except ValueError:  # a program may allow fewer digits
            pass
        return f"<integer of {bits} bits>"

    def _once(self, value: object, depth: int) -> Any:
        """Converts a container, and detects cycles."""
        if id(value) in self.open:
            return "…[itself]"
        self.open.add(id(value))
        try:
            return self._compound(value, depth)
        finally:
            self.open.discard(id(value))

    def _text(self, text: str) -> str:
        if len(text) <= self.room and text.isascii():
            self.room -= len(text)
            return text
        shown = cut(text, max(self.room, 0))
        self.room -= len(shown)
        return shown

    def _compound(self, value: object, depth: int) -> Any:
        if isinstance(value, dict | Mapping):
            return self._members(value, depth)
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            return self._members(value._asdict(), depth)
        if isinstance(value, Sequence | AbstractSet | deque):
            return self._items(value, depth, len(value))
        if type(value).__module__.partition(".")[0] in _ARRAYS and hasattr(type(value), "shape"):
            return self._array(value, depth)
        if (fields := _fields_of(value)) is not None:
            return self._members(fields, depth)
        return self._text(repr(value))

    def _members(self, members: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for key, member in members.items():
            if self.room <= 0:
                read["…"] = f"[cut, {len(members)} members in all]"
                break
            read[self._text(key if type(key) is str else text_of(key))] = self.plain(member, depth + 1)
        return read

    def _items(self, items: Iterable[Any], depth: int, total: int) -> list[Any]:
        read: list[Any] = []
        for item in items:
            if self.room <= 0:
                break
            read.append(self.plain(item, depth + 1))
        if len(read) < total:
            read.append(f"…[cut, {total} items in all]")
        return read

    def _array(self, value: Any, depth: int) -> Any:
        if value.shape == ():
            return self._scalar(value, depth)
        total, width = value.shape[0], max(math.prod(value.shape[1:]), 1)
        most = max(self.room, 0) // _ARRAY_ITEM // width
        if hasattr(value, "iloc"):
            return self._frame(value, depth, most)
        if most == 0:
            return f"<{type(value).__name__} of shape {tuple(value.shape)}>"
        part = value[:most]
        return self._items((part.astype(str) if _is_time(value) else part).tolist(), depth, total)

    def _frame(self, value: Any, depth: int, most: int) -> Any:
        """Converts a series to its items and a frame to its rows. A list has no place for names of rows."""
        total = value.shape[0]
        if type(value.index).__name__ != "RangeIndex" or not getattr(value, "columns", value.index).is_unique:
            note = f"\n…[cut, {total} rows in all]" if total > _MAX_ROWS else ""
            return self._text(repr(value.iloc[:_MAX_ROWS])) + note
        part = value.iloc[:most]
        return self._items(part.to_dict("records") if hasattr(part, "columns") else part.tolist(), depth, total)

    def _scalar(self, value: Any, depth: int) -> Any:
        # The item of a time is a number of some unit, that of a long double is itself.
        item = str(value) if _is_time(value) else value.item()
        return self.plain(str(value) if type(item) is type(value) else item, depth + 1)


def _is_time(value: Any) -> bool:
    return getattr(value.dtype, "kind", None) in ("M", "m")


def _fields_of(value: object) -> dict[str, Any] | None:
    """Returns the fields of an instance of a dataclass, pydantic model or attrs class, or None for other objects."""
    kind = type(value)
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    names = getattr(kind, "model_fields", None)
    if names is None:
        names = getattr(kind, "__fields__", None)
    if isinstance(names, Mapping):
        return {str(name): getattr(value, str(name), None) for name in names}
    if (attrs := getattr(kind, "__attrs_attrs__", None)) is not None:
        return {attr.name: getattr(value, attr.name, None) for attr in attrs}
    return None
