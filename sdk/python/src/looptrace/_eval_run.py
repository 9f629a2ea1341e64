"""Runs a task for an item, as one recorded run, and grades the output."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import inspect
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace

from . import _keys
from ._config import Config
from ._content import redacting
from ._context import Attachment, Scope, attach
from ._dataset_items import Item, plain
from ._eval_binding import Parameters, members_of, task_values
from ._eval_grade import MAX_TEXT, GradedRun, Graders, Score, code_of, grader_failed, grader_values, read_score
from ._eval_send import CaseResult, TaskError
from ._json import text_of
from ._spans import run_url, span
from ._state import state
from ._usage import Usage


def scope_of(eval_run_id: str | None, item: Item, repeat: int) -> Scope:
    """Returns the scope that says of a run that it belongs to an evaluation."""
    values = {"eval_run_id": eval_run_id, "item_id": item.id, "item_key": item.key}
    named = {_keys.METADATA + name: value for name, value in values.items() if value is not None}
    return Scope({_keys.SOURCE: "evaluation", **named, _keys.METADATA + "repeat": repeat})


def start_of_run() -> Attachment | None:
    """Makes what comes a run of its own, also within another run. Returns what ends it, for detach."""
    return attach(trace.set_span_in_context(trace.INVALID_SPAN))


@contextmanager
def usage_of(run_id: str | None) -> Iterator[Usage]:
    """Counts what the model calls of the run use in the block."""
    usage = Usage()
    running = state.running
    if running is None or run_id is None:
        yield usage
        return
    trace_id = uuid.UUID(run_id).int
    running.processor.usages[trace_id] = usage
    try:
        yield usage
    finally:
        running.processor.usages.pop(trace_id, None)


def json_output(config: Config, output: Any) -> Any:
    """Returns the output as it is sent. Raises ValueError if it is not JSON."""
    if hasattr(output, "model_dump") and not isinstance(output, type):  # pydantic
        output = output.model_dump(mode="json")
    elif dataclasses.is_dataclass(output) and not isinstance(output, type):
        output = dataclasses.asdict(output)
    value = plain("the output", output)
    if not config.capture_content:
        return None
    if config.redact is None:
        return value
    if isinstance(value, str):
        return redacting(config.redact)(_keys.OUTPUTS, value)
    text = redacting(config.redact)(_keys.OUTPUTS, json.dumps(value, ensure_ascii=False))
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def task_error(error: BaseException, config: Config) -> TaskError:
    detail = text_of(error, MAX_TEXT)
    if config.redact is not None:
        detail = str(redacting(config.redact)(_keys.EXCEPTION_MESSAGE, detail) or "")
    return TaskError(code_of(error), detail)


class Runner:
    """Plain functions run in the threads of the executor, coroutine functions in the loop."""

    def __init__(self, task: Parameters, graders: Graders, name: str, config: Config, executor: Executor) -> None:
        self._task, self._graders, self._name = task, graders, name
        self._config, self._executor = config, executor
        # Whether the evaluation is cancelled, as far as it is known.
        self.stopping = False

    async def run(self, eval_run_id: str, item: Item, repeat: int) -> CaseResult:
        """Must run in an asyncio task of its own, whose context it changes."""
        result = CaseResult(item, repeat)
        start_of_run()
        with scope_of(eval_run_id, item, repeat):
            values = task_values(item)
            began = time.perf_counter()
            try:
                with span(self._name, "task", input=item.input) as step, usage_of(step.run_id) as usage:
                    result.run_id = step.run_id
                    try:
                        output = await self._call(self._task.function, *self._task.arguments(values, members_of(item)))
                    finally:
                        result.duration_ms = (time.perf_counter() - began) * 1000
                        result.usage, result.model = usage.tokens, usage.model
                    step.set_output(output)
                result.output = json_output(self._config, output)
            except (Exception, SystemExit, asyncio.CancelledError) as error:
                if self._is_interrupted(error):
                    raise
                result.error = task_error(error, self._config)
                return result
            run = GradedRun(result.run_id, run_url(result.run_id), result.duration_ms)
            graded = grader_values(item, output, run)
            for grader in self._graders.functions:
                result.scores.append(await self._grade(grader, graded))
        return result

    async def _grade(self, grader: Parameters, values: Mapping[str, Any]) -> Score:
        try:
            return read_score(grader.name, await self._call(grader.function, *grader.arguments(values, {})))
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if self._is_interrupted(error):
                raise
            return grader_failed(grader.name, error)

    def _is_interrupted(self, error: BaseException) -> bool:
        """Reports whether the evaluation is cancelled. A task may also raise CancelledError of its own."""
        cancelling = getattr(asyncio.current_task(), "cancelling", None)  # from Python 3.11 on
        cancelled = self.stopping if cancelling is None else cancelling() > 0
        return cancelled and isinstance(error, asyncio.CancelledError)

    async def _call(self, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
        call = getattr(function, "__call__", None)  # noqa: B004 - of an instance with an asynchronous one
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
            returned = function(*args, **kwargs)
        else:
            context = contextvars.copy_context()
            try:
                returned, error = await asyncio.get_running_loop().run_in_executor(
                    self._executor, context.run, _outcome, function, args, kwargs
                )
            except asyncio.CancelledError:
                self.stopping = True  # what the function raises comes as error
                raise
            if error is not None:
                raise error
        return await returned if inspect.isawaitable(returned) else returned


def _outcome(
    function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
) -> tuple[Any, BaseException | None]:  # fmt: skip
    """Returns the exception instead of raising it, because a future does not take every one."""
    try:
        return function(*args, **kwargs), None
    except BaseException as error:  # noqa: BLE001 - the caller raises it
        return None, error
