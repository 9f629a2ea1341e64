"""The arguments of tasks and graders, which are found by the names of the parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._dataset_items import Item

_MAX_SHOWN = 20
_MAX_NAME = 100
# What a task can ask for by name, apart from the members of the input.
_OF_ITEM = ("input", "reference_output", "metadata", "item")


def name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", None)
    return str(name or type(function).__name__)[:_MAX_NAME]


class Parameters:
    """The parameters of a function."""

    def __init__(self, function: Callable[..., Any], role: str) -> None:
        if not callable(function):
            raise TypeError(f"the {role} is a {type(function).__name__}: pass a function")
        self.function, self.name, self._role = function, name_of(function), role
        try:
            found = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            raise ValueError(
                f"the parameters of the {role} {self.name} cannot be found out: wrap it in a function whose parameters "
                "have names"
            ) from None
        self._all = [one for one in found if one.kind is not one.VAR_POSITIONAL]

    @property
    def names(self) -> list[str]:
        return [one.name for one in self._all if one.kind is not one.VAR_KEYWORD]

    def check(self, values: Mapping[str, Any], where: str, what: str) -> None:
        """Raises ValueError for a parameter without a value."""
        for one in self._all:
            if one.kind is not one.VAR_KEYWORD and one.name not in values and one.default is one.empty:
                raise ValueError(
                    f"the {self._role} {self.name} cannot be called{where}: there is no value for its parameter "
                    f"{one.name!r}. There is {what}. Rename the parameter, or give it a default"
                )

    def arguments(
        self, values: Mapping[str, Any], spare: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:  # fmt: skip
        """Returns the arguments. `**` takes the spare values that no parameter names."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for one in self._all:
            if one.kind is one.VAR_KEYWORD:
                named.update({name: value for name, value in spare.items() if name not in self.names})
            elif one.name not in values:
                if one.kind is one.POSITIONAL_ONLY:
                    positional.append(one.default)
            elif one.kind is one.POSITIONAL_ONLY:
                positional.append(values[one.name])
            else:
                named[one.name] = values[one.name]
        return positional, named


def members_of(item: Item) -> dict[str, Any]:
    return dict(item.input) if isinstance(item.input, Mapping) else {}


def task_values(item: Item) -> dict[str, Any]:
    """Returns what a task can ask for: a member of the input comes before the item's."""
    return {
        "input": item.input, "reference_output": item.reference_output, "metadata": item.metadata, "item": item,
        **members_of(item),
    }  # fmt: skip


def check_task(parameters: Parameters, items: Iterable[Item]) -> None:
    """Raises ValueError if the task cannot be called with an item."""
    with_member: dict[str, str] = {}
    without: dict[str, str] = {}
    for number, item in enumerate(items):
        label = item.key or item.id or f"number {number}"
        members = members_of(item)
        shown = list(members)[:_MAX_SHOWN]
        what = ", ".join(_OF_ITEM[:-1]) + f" and {_OF_ITEM[-1]}"
        if shown:
            more = f" and {len(members) - len(shown)} more" if len(members) > len(shown) else ""
            what += f", and of the input {', '.join(shown)}{more}"
        parameters.check(task_values(item), f" with the item {label}", what)
        for name in _OF_ITEM:
            (with_member if name in members else without).setdefault(name, label)
    for name in parameters.names:
        if name in with_member and name in without:
            raise ValueError(
                f"the parameter {name!r} of the task {parameters.name} is a member of the input of the item "
                f"{with_member[name]}, and the item's own {name} for {without[name]}: give all inputs this member, or "
                "none"
            )
