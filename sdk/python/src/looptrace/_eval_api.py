"""The requests for eval-runs and gates: /v1/eval-runs and /v1/gates."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from ._api import Api, ApiError, encoded
from ._config import resolve
from ._state import state

_PAGE = 500
_POLL = 0.2
_MAX_POLL = 2.0
_CHECK = "/v1/gates/_actions/check"
# The metadata that names the eval-run whose results another one has too.
EXTENDS = "extends"
_SCOPES = "the scopes evals:read, evals:write and datasets:read"


class EvaluationError(ApiError):
    """An eval-run could not be read or written, or a gate not be checked. status is the HTTP status, or None without a
    response. code is that of the API, such as evaluation_finished."""


class EvaluationNotFound(EvaluationError):  # noqa: N818 - says what it is
    """The project has no such eval-run, or no baseline."""


class EvaluationApi(Api):
    error = EvaluationError
    not_found = EvaluationNotFound
    scopes = MappingProxyType({"GET": "the scope evals:read", "POST": _SCOPES})
    uncertain = "it may have been written"

    def scopes_of(self, method: str, path: str) -> str:
        return self.scopes["GET" if path == _CHECK else method]

    def create(self, body: dict[str, Any]) -> dict[str, Any]:
        return self.post("/v1/eval-runs", encoded({"project_id": self.project_id(), **body}))

    def eval_run(self, eval_run_id: str) -> dict[str, Any]:
        return self.get(f"/v1/eval-runs/{eval_run_id}")

    def eval_runs(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """Gives eval-runs, the newest first."""
        offset = 0
        while True:
            page = self.get("/v1/eval-runs", limit=50, offset=offset, project_id=self.project, **filters)
            yield from page["data"]
            if not page["has_more"]:
                return
            offset += len(page["data"])

    def items(self, eval_run_id: str) -> Iterator[dict[str, Any]]:
        offset = 0
        while True:
            page = self.get(f"/v1/eval-runs/{eval_run_id}/items", limit=_PAGE, offset=offset)
            yield from page["data"]
            if not page["has_more"]:
                return
            offset += len(page["data"])

    def send(self, eval_run_id: str, body: bytes) -> dict[str, Any]:
        return self.post(f"/v1/eval-runs/{eval_run_id}/results", body)

    def finish(self, eval_run_id: str) -> dict[str, Any]:
        return self.post(f"/v1/eval-runs/{eval_run_id}/_actions/finish", b"{}")

    def cancel(self, eval_run_id: str) -> dict[str, Any]:
        return self.post(f"/v1/eval-runs/{eval_run_id}/_actions/cancel", b"{}")

    def summarized(self, eval_run_id: str, patience: float) -> dict[str, Any]:
        """Returns an eval-run that was finished or cancelled, with its summary if that is there in time."""
        end, pause = time.monotonic() + patience, _POLL
        while True:
            found = self.eval_run(eval_run_id)
            if found["summary"] is not None or found["status"] == "failed" or time.monotonic() + pause >= end:
                return found
            time.sleep(pause)
            pause = min(pause * 2, _MAX_POLL)

    def check_gate(self, body: dict[str, Any]) -> dict[str, Any]:
        return self.post(_CHECK, encoded(body))


def evaluation_api() -> EvaluationApi:
    return EvaluationApi(resolve() if state.running is None else state.running.config)


def refuse_running_loop(name: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(f"an event loop is running: use `await looptrace.{name}_async(…)`")
