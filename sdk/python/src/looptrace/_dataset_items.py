"""The items of datasets, and how dicts, items and data frames become those that the API takes."""

from __future__ import annotations

import datetime
import enum
import itertools
import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

MAX_ITEMS = 10_000
_MAX_SHOWN = 10


@dataclass
class Item:
    """An item of a dataset: an input, and what a good output would be. Both are any JSON.

    id and revision_added are Looptrace's: None for an item that was not read, and not written."""

    input: Any
    reference_output: Any = None
    # The caller's own name for the item, unique in the dataset.
    key: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    split: str | None = None
    tags: list[str] = field(default_factory=list)
    source_run_id: str | None = None
    source_span_id: str | None = None
    id: str | None = None
    # The revision that wrote the item as it is.
    revision_added: int | None = None


class Frame(Protocol):
    """What is needed of a pandas.DataFrame."""

    @property
    def columns(self) -> Any: ...

    def to_dict(self, orient: Any, /) -> Any: ...


Items: TypeAlias = "Iterable[Item | Mapping[str, Any]] | Frame"
# A name takes the value of that column, a list makes an object of these columns.
Columns: TypeAlias = "str | Sequence[str]"

_TEXTS = ("split", "source_run_id", "source_span_id")
_MEMBERS = ("key", "input", "reference_output", "metadata", "tags", *_TEXTS)
# What a row has that was read.
_OWN = ("id", "revision_added")
# Null is a value of these.
_ANY = ("input", "reference_output")


def item_of(members: Mapping[str, Any]) -> Item:
    """Reads an item of the API."""
    return Item(**{name: members[name] for name in (*_MEMBERS, *_OWN)})


def written_items(items: Items, columns: Mapping[str, Columns], mode: str) -> list[dict[str, Any]]:
    """Returns the items as the API takes them.

    Raises ValueError with the place of what cannot be written, and TypeError for items that are no list."""
    written = [_written(f"items[{place}]", row, columns, mode) for place, row in enumerate(_rows(items))]
    if not written:
        raise ValueError("there are no items: give at least one")
    return written


def _rows(items: Items) -> list[Item | Mapping[str, Any]]:
    listed: Any = items
    if hasattr(items, "to_dict") and hasattr(items, "columns"):
        columns = list(items.columns)
        if twice := {str(name) for name in columns if columns.count(name) > 1}:
            raise ValueError(f"the frame has several columns of the name {', '.join(sorted(twice))}: rename them")
        listed = items.to_dict("records")
    elif isinstance(items, Mapping | str | bytes | Item) or not isinstance(items, Iterable):
        raise TypeError(
            f"items is a {type(items).__name__}: pass a list of dicts or looptrace.Item, or a pandas.DataFrame"
        )
    rows: list[Any] = list(itertools.islice(listed, MAX_ITEMS + 1))
    if len(rows) > MAX_ITEMS:
        raise too_many(f"there are more than {MAX_ITEMS:,} items")
    return rows


def too_many(what: str) -> ValueError:
    return ValueError(
        f"{what}, and one write takes no more; nothing was written. To write all in one revision, save them as a JSON "
        "Lines file and import it: looptrace import datasets FILE"
    )


def _written(place: str, row: Item | Mapping[str, Any], columns: Mapping[str, Columns], mode: str) -> dict[str, Any]:
    if isinstance(row, Item):
        values: dict[str, Any] = vars(row)
    elif isinstance(row, Mapping):
        values = _by_columns(place, row, columns) if columns else _by_members(place, row)
    else:
        raise ValueError(f"{place} is a {type(row).__name__}; pass a dict or looptrace.Item")  # noqa: TRY004 - documented
    # A member that is missing in a row of a frame is null there.
    cleaned = ((name, plain(f"{place}.{name}", values[name])) for name in (*_MEMBERS, "id") if name in values)
    written = {name: value for name, value in cleaned if value is not None or name in _ANY}
    if written.pop("id", None) is not None and mode == "upsert" and "key" not in written:
        raise ValueError(
            f"{place} was read and has no key, so upsert would add it again: append it to another dataset, or give the "
            "items keys"
        )
    if isinstance(written.get("key"), int) and not isinstance(written["key"], bool):
        written["key"] = str(written["key"])
    for name in ("key", *_TEXTS):
        _check(f"{place}.{name}", written.get(name, ""), str, "a text")
    _check(f"{place}.metadata", written.get("metadata", {}), dict, "a dict")
    _check(f"{place}.tags", written.get("tags", []), list, "a list of texts")
    for number, tag in enumerate(written.get("tags", [])):
        _check(f"{place}.tags[{number}]", tag, str, "a text")
    return written


def _check(place: str, value: Any, kind: type, words: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{place} is a {type(value).__name__} and must be {words}")  # noqa: TRY004 - documented


def _by_members(place: str, row: Mapping[str, Any]) -> dict[str, Any]:
    # Those of Looptrace are there if the row was read. An id alone is the caller's, and lost if it is left out.
    known = (*_MEMBERS, *_OWN) if all(name in row for name in _OWN) else _MEMBERS
    if unknown := [str(name) for name in row if name not in known]:
        raise ValueError(
            f"{place} has {_listed(unknown)}, which no item has. Its members are {', '.join(_MEMBERS)}; name the "
            f"columns of each that is called otherwise, such as input=[{unknown[0]!r}]"
        )
    if "input" not in row:
        raise ValueError(f"{place} has no input; name the columns that make it, such as input=['question']")
    return {name: row[name] for name in known if name in row}


def _by_columns(place: str, row: Mapping[str, Any], columns: Mapping[str, Columns]) -> dict[str, Any]:
    def cell(column: str) -> Any:
        if column not in row:
            raise ValueError(f"{place} has no column {column!r}; it has {_listed([str(name) for name in row])}")
        return row[column]

    values: dict[str, Any] = {}
    for name in _MEMBERS:
        column = columns.get(name)
        if isinstance(column, str):
            values[name] = cell(column)
        elif column is not None:
            if not column:
                raise ValueError(f"{name}=[] names no column")
            values[name] = {each: cell(each) for each in column}
        elif name in row:
            values[name] = row[name]
    if "input" not in values:
        raise ValueError(f"{place} has no column 'input'; name those that make the input, such as input=['question']")
    return values


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
    return ", ".join(names[:_MAX_SHOWN]) + more


def plain(place: str, value: Any) -> Any:
    """Returns the value with JSON types only. Raises ValueError with the place of what has none."""
    try:
        return _json_value(place, value)
    except RecursionError:
        raise ValueError(f"{place} is nested too deep, or contains itself") from None


def _json_value(place: str, value: Any) -> Any:
    """Returns the value with JSON types only. What is missing in a frame, such as NaN, is None."""
    kind = type(value).__name__
    if value is None or isinstance(value, bool) or kind in ("NaTType", "NAType"):
        return None if not isinstance(value, bool) else value
    if isinstance(value, enum.Enum):
        return _json_value(place, value.value)
    if isinstance(value, str):
        return _text(place, str(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isinf(value):
            raise ValueError(f"{place} is infinite, which JSON has no number for")
        return None if math.isnan(value) else float(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {_name(place, name): _json_value(f"{place}.{name}", member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(f"{place}[{number}]", member) for number, member in enumerate(value)]
    if (dtype := getattr(value, "dtype", None)) is not None:
        return _of_numpy(place, value, getattr(dtype, "kind", None))
    raise ValueError(f"{place} is a {kind}, which is not JSON: make it a dict, list, text, number, bool or None")


def _of_numpy(place: str, value: Any, kind: str | None) -> Any:
    """Converts a scalar, array or series."""
    if getattr(value, "shape", ()) != ():
        return [_json_value(f"{place}[{number}]", member) for number, member in enumerate(value)]
    if kind == "M":
        # item() makes nanoseconds an int.
        return None if str(value) == "NaT" else str(value)
    if kind not in ("b", "i", "u", "f", "U", "O"):
        raise ValueError(f"{place} is a {type(value).__name__}, which is not JSON: make it a text or a number")
    return _json_value(place, value.item())


def _name(place: str, name: Any) -> str:
    if not isinstance(name, str):
        raise ValueError(f"{place} has the member {name!r}; names of members must be texts")  # noqa: TRY004 - documented
    return _text(place, str(name))


def _text(place: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{place} has a lone surrogate, which is no character") from None
    return text
