"""Converts any Python value to text or valid JSON of limited size. It does not raise."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

_MAX_DEPTH = 16
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


def to_json(value: object, limit: int) -> str:
    """Returns the value as valid JSON of at most about limit characters. Strings and collections are truncated."""
    return _encode(_Reader(limit).plain(value, 0))


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
        if value is None or kind is bool:
            return value
        if kind is dict and depth < _MAX_DEPTH:
            return self._once(value, depth)
        if isinstance(value, enum.Enum):
            return self.plain(value.value, depth + 1)
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return int(value) if value.bit_length() <= 64 else f"<integer of {value.bit_length()} bits>"
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else str(float(value))
        if isinstance(value, bytes | bytearray | memoryview):
            return f"<{len(value)} bytes>"
        if isinstance(value, datetime.date | datetime.time):
            return value.isoformat()
        if isinstance(value, uuid.UUID | pathlib.PurePath | decimal.Decimal | datetime.timedelta):
            return self._text(str(value))
        return "…[too deep]" if depth >= _MAX_DEPTH else self._once(value, depth)

    def _once(self, value: object, depth: int) -> Any:
        """Converts a container, and detects cycles."""
        if id(value) in self.open:
            return "…[itself]"
        self.open.add(id(value))
        try:
            return self._compound(value, depth)
        except Exception:  # noqa: BLE001 - user code may raise anything
            return f"<unreadable {type(value).__name__}>"
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
            return self._items(value, depth)
        if (fields := _fields_of(value)) is not None:
            return self._members(fields, depth)
        return self._text(repr(value))

    def _members(self, members: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for key, member in members.items():
            if self.room <= 0:
                read["…"] = f"[cut, {len(members)} members in all]"
                break
            read[self._text(key if isinstance(key, str) else str(key))] = self.plain(member, depth + 1)
        return read

    def _items(self, items: Sequence[Any] | AbstractSet[Any] | deque[Any], depth: int) -> list[Any]:
        read: list[Any] = []
        for item in items:
            if self.room <= 0:
                read.append(f"…[cut, {len(items)} items in all]")
                break
            read.append(self.plain(item, depth + 1))
        return read


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
