"""What a test is an evaluation of: one item, one repeat."""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from looptrace import Score, span
from looptrace._config import Config, resolve
from looptrace._context import detach, metadata
from looptrace._dataset_items import Item
from looptrace._eval_binding import Parameters
from looptrace._eval_grade import GradedRun, grader_failed, grader_values, read_score
from looptrace._eval_run import json_output, scope_of, start_of_run, task_error, usage_of
from looptrace._eval_send import CaseResult, TaskError
from looptrace._spans import run_url
from looptrace._state import state
from looptrace._usage import Usage

# The score that says whether the assertions hold.
PASS = "pass"  # noqa: S105 - no password
_UNSET = object()
_CASE: pytest.StashKey[Case] = pytest.StashKey()


class Case:
    """The item and repeat that a test runs for.

    A test sets `output`, and may add scores:

        def test_capital(looptrace_case, question, reference_output):
            looptrace_case.output = agent(question)
            looptrace_case.score("short", len(looptrace_case.output) < 20)
            assert looptrace_case.output == reference_output
    """

    def __init__(self, evaluation: str, item: Item, repeat: int, graders: list[Parameters]) -> None:
        self._evaluation, self._item, self._graders = evaluation, item, graders
        self.repeat = repeat
        # What the graders get, and what is stored: JSON, a dataclass or a pydantic model.
        self.output: Any = _UNSET
        self.run_id: str | None = None
        self._scores: list[Score] = []
        self._duration_ms = 0.0
        self._usage = Usage()

    @property
    def key(self) -> str:
        return str(self._item.key)

    @property
    def input(self) -> Any:
        """The parameters of the test, without reference_output and metadata."""
        return self._item.input

    @property
    def reference_output(self) -> Any:
        return self._item.reference_output

    @property
    def metadata(self) -> dict[str, Any]:
        return self._item.metadata

    def score(self, name: str, value: Any = None, *, passed: bool | None = None, reason: str = "") -> None:
        """Adds a score: True or False, or a number from 0 to 1.

        Raises:
            ValueError: It is no score, or there is one of the name.
        """
        if name in {PASS, *(score.name for score in self._scores), *(grader.name for grader in self._graders)}:
            raise ValueError(f"there is a score {name} already")
        score = read_score(name, {"score": value, "pass": passed, "reason": reason})
        if score.error is not None:
            raise ValueError(score.error)
        self._scores.append(score)

    def watch(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function that records each call as a run."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                __tracebackhide__ = True
                with self._recording():
                    return await function(*args, **kwargs)

            return awaited

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            with self._recording():
                return function(*args, **kwargs)

        return called

    @contextmanager
    def _recording(self) -> Iterator[None]:
        self.output, self.run_id, self._scores = _UNSET, None, []  # it may be run again
        attachment = start_of_run()
        began = time.perf_counter()
        try:
            with (
                scope_of(None, self._item, self.repeat),
                metadata(evaluation=self._evaluation),
                span(self._evaluation, "task", input=self.input) as step,
                usage_of(step.run_id) as usage,
            ):
                self.run_id = step.run_id
                try:
                    yield
                finally:
                    self._duration_ms = (time.perf_counter() - began) * 1000
                    self._usage = usage
                    if self.output is not _UNSET:
                        step.set_output(self.output)
        finally:
            detach(attachment)

    def result(self, call: pytest.CallInfo[None]) -> CaseResult | None:
        """Returns the result of a phase of the test, or None if it has none or the test was skipped."""
        error = None if call.excinfo is None else call.excinfo.value
        if isinstance(error, pytest.skip.Exception) or (call.when != "call" and error is None):
            return None
        config = resolve() if state.running is None else state.running.config
        result = CaseResult(self._item, self.repeat, run_id=self.run_id, duration_ms=self._duration_ms,
                            usage=self._usage.tokens, model=self._usage.model)  # fmt: skip
        if call.when == "setup" and error is not None:
            failed = task_error(error, config)
            result.error = TaskError(failed.code, f"in the setup: {failed.detail}")
            return result
        return self._judged(result, error, config)

    def _judged(self, result: CaseResult, error: BaseException | None, config: Config) -> CaseResult:
        judged = error is None or isinstance(error, AssertionError | pytest.fail.Exception | pytest.xfail.Exception)
        if not judged and error is not None and self.output is _UNSET:
            result.error = task_error(error, config)
            return result
        try:
            result.output = None if self.output is _UNSET else json_output(config, self.output)
        except ValueError as problem:
            result.error = task_error(problem, config)
            return result
        if error is None:
            outcome = Score(1.0, True, name=PASS)
        elif judged:
            outcome = Score(0.0, False, task_error(error, config).detail, PASS)
        else:
            outcome = grader_failed(PASS, error)
        graded = [] if self.output is _UNSET else [self._grade(grader) for grader in self._graders]
        result.scores = [outcome, *self._scores, *graded]
        return result

    def _grade(self, grader: Parameters) -> Score:
        run = GradedRun(self.run_id, run_url(self.run_id), self._duration_ms)
        args, kwargs = grader.arguments(grader_values(self._item, self.output, run), {})
        try:
            returned = grader.function(*args, **kwargs)
            return read_score(
                grader.name, asyncio.run(_awaited(returned)) if inspect.isawaitable(returned) else returned
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it is the score's
            return grader_failed(grader.name, error)


async def _awaited(returned: Any) -> Any:
    return await returned


def set_case(node: pytest.Item, case: Case) -> None:
    node.stash[_CASE] = case


def find_case(node: pytest.Item) -> Case | None:
    return node.stash.get(_CASE, None)


def case_of(node: pytest.Item) -> Case:
    found = find_case(node)
    if found is None:
        raise pytest.UsageError(f"{node.nodeid} uses looptrace_case and needs the marker: @pytest.mark.looptrace")
    return found
