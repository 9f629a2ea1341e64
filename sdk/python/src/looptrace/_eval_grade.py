"""Graders: functions whose results become scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ._dataset_items import Item
from ._eval_binding import Parameters
from ._json import cut, text_of

_MEMBERS = ("score", "pass", "reason")
_VALUES = ("output", "reference_output", "input", "metadata", "item", "run")
MAX_TEXT = 19_000

Grader: TypeAlias = "Callable[..., Any] | Mapping[str, Any]"


@dataclass(frozen=True)
class Score:
    """What a grader says about an output."""

    # 0 to 1. None if the grader does not apply, or failed.
    score: float | None = None
    # Whether the output passes. None if that is not said.
    passed: bool | None = None
    reason: str = ""
    # That of the grader. It is set by Looptrace.
    name: str = ""
    # Why the grader failed.
    error: str | None = None

    def wire(self) -> dict[str, Any]:
        """Returns the score as the API takes it."""
        body: dict[str, Any] = {"name": self.name, "score": self.score, "pass": self.passed}
        if self.reason:
            body["reason"] = self.reason
        if self.error is not None:
            body["error"] = self.error
        return body


@dataclass(frozen=True)
class GradedRun:
    """The recorded run of a task, as a grader gets it."""

    # None if nothing is recorded.
    id: str | None
    url: str | None
    duration_ms: float


class Graders:
    """The graders of an evaluation: functions, and those that Looptrace runs."""

    def __init__(self, graders: Sequence[Grader]) -> None:
        self.functions: list[Parameters] = []
        self.of_server: list[dict[str, Any]] = []
        if isinstance(graders, Mapping | str) or not isinstance(graders, Sequence):
            raise TypeError(f"graders is a {type(graders).__name__}: pass a list of functions and dicts")
        names: list[str] = []
        for place, grader in enumerate(graders):
            if isinstance(grader, Mapping):
                if not isinstance(grader.get("name"), str) or not isinstance(grader.get("type"), str):
                    raise ValueError(f"graders[{place}] needs a name and a type, see docs/graders.md")  # noqa: TRY004 - documented
                self.of_server.append(dict(grader))
                names.append(grader["name"])
                continue
            parameters = Parameters(grader, "grader")
            if parameters.name == "<lambda>":
                raise ValueError(f"graders[{place}] is a lambda, which has no name: define a function")
            parameters.check(dict.fromkeys(_VALUES), "", ", ".join(_VALUES[:-1]) + f" and {_VALUES[-1]}")
            self.functions.append(parameters)
            names.append(parameters.name)
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"two graders have the name {twice}: rename one of them")
        self.first = names[0] if names else None


def grader_values(item: Item, output: Any, run: GradedRun) -> dict[str, Any]:
    return {
        "output": output, "reference_output": item.reference_output, "input": item.input, "metadata": item.metadata,
        "item": item, "run": run,
    }  # fmt: skip


def read_score(name: str, returned: Any) -> Score:
    """Reads what a grader returned. What is no score is an error of the score."""
    try:
        return replace(_read(returned), name=name)
    except (TypeError, ValueError) as error:
        return Score(name=name, error=str(error))


def grader_failed(name: str, error: BaseException) -> Score:
    return Score(name=name, error=described(error))


def described(error: BaseException) -> str:
    """Returns the type and message of an exception."""
    kind, message = code_of(error), text_of(error, MAX_TEXT)
    return f"{kind}: {message}" if message else kind


def code_of(error: BaseException) -> str:
    return type(error).__qualname__[:200]


def _read(returned: Any) -> Score:
    if returned is None:
        return Score()
    if isinstance(returned, Score):
        return _checked(returned.score, returned.passed, returned.reason)
    if isinstance(returned, Mapping):
        if unknown := [str(name) for name in returned if name not in _MEMBERS]:
            raise ValueError(f"the grader returned a dict with {', '.join(unknown)}; it may have {', '.join(_MEMBERS)}")
        return _checked(returned.get("score"), returned.get("pass"), returned.get("reason") or "")
    value = returned.item() if hasattr(returned, "dtype") and hasattr(returned, "item") else returned
    if isinstance(value, bool):
        return _checked(None, value, "")
    return _checked(value, None, "")


def _checked(score: Any, passed: Any, reason: Any) -> Score:
    if isinstance(score, bool):
        score, passed = None, score if passed is None else passed
    if passed is not None and not isinstance(passed, bool):
        raise TypeError(f"the grader returned pass as {type(passed).__name__}; it must be True, False or None")
    if not isinstance(reason, str):
        raise TypeError(f"the grader returned reason as {type(reason).__name__}; it must be a text")
    if score is None and passed is not None:
        score = float(passed)
    if score is not None:
        if not isinstance(score, int | float):
            raise TypeError(
                f"the grader returned {type(score).__name__}; return True or False, a number from 0 to 1, None, a dict "
                "with score, pass and reason, or looptrace.Score"
            )
        score = float(score)
        if not math.isfinite(score) or not 0 <= score <= 1:
            raise ValueError(f"the grader returned the score {score}; it must be from 0 to 1")
    return Score(score, passed, cut(reason, MAX_TEXT))
