"""Sends the results of an eval-run while it runs."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ._api import RETRYABLE, encoded
from ._dataset_items import Item
from ._eval_api import EvaluationApi, EvaluationError
from ._eval_grade import Score
from ._log import logger

_MAX_BATCH = 100
_MAX_BYTES = 8 << 20
# A single result may be as large as a request.
_MAX_RESULT = (16 << 20) - 1024
_DELAY = 1.0
# How long the service is left alone after it did not answer.
_PAUSE = 5.0
# Nothing more can be sent to such an eval-run.
_ENDED = frozenset({"evaluation_finished"})
_REFUSED_ALL = frozenset({401, 403, 404})
_SERVER_ERROR = 500


@dataclass(frozen=True)
class TaskError:
    """Why a task gave no output."""

    # The name of the exception.
    code: str
    detail: str

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}" if self.detail else self.code


@dataclass
class CaseResult:
    """What a task gave for an item, once."""

    item: Item
    # From 1.
    repeat: int
    # As it was sent: JSON.
    output: Any = None
    # None if there is an output.
    error: TaskError | None = None
    # None if nothing is recorded.
    run_id: str | None = None
    duration_ms: float = 0.0
    # The tokens of its model calls. None if they are not known.
    usage: dict[str, int] | None = None
    # None if it is not known, or if there are several.
    model: str | None = None
    scores: list[Score] = field(default_factory=list)

    def wire(self) -> dict[str, Any]:
        """Returns the result as the API takes it."""
        body: dict[str, Any] = {"item_id": self.item.id, "repeat": self.repeat, "duration_ms": self.duration_ms}
        if self.error is None:
            body["output"] = self.output
        else:
            body["error"] = {"code": self.error.code, "detail": self.error.detail}
        if self.run_id is not None:
            body["run_id"] = self.run_id
        if self.usage is not None:
            body["usage"] = self.usage
        if self.model is not None:
            body["model"] = self.model
        if self.scores:
            body["scores"] = [score.wire() for score in self.scores]
        return body


_Encoded: TypeAlias = tuple[CaseResult, bytes]


class Sender:
    """A thread that sends results in batches. What could not be sent is kept, and is tried again until close."""

    def __init__(self, api: EvaluationApi, eval_run_id: str) -> None:
        self._api, self._id = api, eval_run_id
        self._changed = threading.Condition()
        self._waiting: deque[_Encoded] = deque()
        self._closed = False
        # Results that were refused, with the reason.
        self.refused: list[tuple[CaseResult, str]] = []
        # Why nothing more can be sent.
        self.ended: str | None = None
        # Why the last request failed.
        self.problem: str | None = None
        self._thread = threading.Thread(target=self._work, name="looptrace-results", daemon=True)
        self._thread.start()

    def add(self, result: CaseResult) -> None:
        body = encoded(result.wire())
        with self._changed:
            if len(body) > _MAX_RESULT:
                self.refused.append((result, f"it is {len(body) / (1 << 20):.1f} MiB, more than 16 MiB"))
                return
            self._waiting.append((result, body))
            self._changed.notify_all()

    def close(self) -> None:
        """Sends what is left, for about half a minute if the service is away."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    @property
    def unsent(self) -> list[tuple[CaseResult, str]]:
        """The results that Looptrace does not have, with the reason."""
        reason = self.ended or self.problem or "it was not sent yet"
        with self._changed:
            return [*self.refused, *((result, reason) for result, _ in self._waiting)]

    def _work(self) -> None:
        while batch := self._next():
            left, problem = self._send(batch)
            if problem is None:
                continue
            self.problem = problem
            with self._changed:
                self._waiting.extendleft(reversed(left))
                if self._closed or self.ended:
                    return
                logger.warning("results cannot be sent and are kept: %s", problem)
                self._changed.wait_for(lambda: self._closed, _PAUSE)

    def _next(self) -> list[_Encoded]:
        """Waits for a batch that is full or old enough. It is empty at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._waiting)
            end = time.monotonic() + _DELAY
            self._changed.wait_for(lambda: self._closed or len(self._waiting) >= _MAX_BATCH, end - time.monotonic())
            batch: list[_Encoded] = []
            size = 0
            while self._waiting and len(batch) < _MAX_BATCH:
                size += len(self._waiting[0][1])
                if batch and size > _MAX_BYTES:
                    break
                batch.append(self._waiting.popleft())
            return batch

    def _send(self, batch: list[_Encoded]) -> tuple[list[_Encoded], str | None]:
        """Returns the results that are to be sent again, and why."""
        parts = [batch]
        while parts:
            part = parts.pop()
            try:
                self._api.send(self._id, b'{"items":[' + b",".join(each for _, each in part) + b"]}")
            except EvaluationError as error:
                ended = error.code in _ENDED or error.status in _REFUSED_ALL
                if ended:
                    self.ended = str(error)
                if ended or error.status is None or error.status in RETRYABLE or error.status >= _SERVER_ERROR:
                    return [each for again in (part, *reversed(parts)) for each in again], str(error)
                if len(part) == 1:
                    self.refused.append((part[0][0], str(error)))
                else:
                    # One of them is refused. The others are sent without it.
                    half = len(part) // 2
                    parts += [part[half:], part[:half]]
        self.problem = None
        return [], None
