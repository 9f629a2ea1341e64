"""Batches of replays: one edit over many recorded runs. /v1/replay-batches."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from ._api import Api, ApiError, encoded
from ._config import resolve
from ._state import state

BatchVerdict: TypeAlias = Literal["better", "worse", "cannot_tell", "unknown"]
RunOutcome: TypeAlias = Literal[
    "repaired", "recovers_unedited", "mixed", "still_failing", "kept", "broken", "fails_unedited", "unknown",
    "not_replayable",
]  # fmt: skip

_PATH = "/v1/replay-batches"
_PAGE = 500
_POLL = 0.2
_MAX_POLL = 5.0


class ReplayError(ApiError):
    """A batch could not be planned, made or read. status is the HTTP status, or None without a response. code is that
    of the API, such as not_replayable."""


class ReplayNotFound(ReplayError):  # noqa: N818 - says what it is
    """There is no such batch."""


class ReplayApi(Api):
    error = ReplayError
    not_found = ReplayNotFound
    scopes = MappingProxyType({"GET": "the scope replays:read", "POST": "the scopes replays:write and runs:read"})
    uncertain = "it may have been made: see the page Replays"


@dataclass(frozen=True)
class PlannedRun:
    """A run of a plan."""

    run_id: str
    # chosen: it was asked for. good: it was drawn from runs that ended well.
    part: str
    # The calls of models of all its attempts.
    calls: int
    # Why it cannot be replayed: a code, such as edit_does_not_fit, and in words. None if it can.
    refused: str | None
    detail: str | None


@dataclass(frozen=True)
class ReplayBatchPlan:
    """What a batch would do."""

    # How many runs the filter finds. Of more than max_runs, some are drawn.
    matched_runs: int
    runs: tuple[PlannedRun, ...]
    # What each edit changes, in words.
    edits: tuple[str, ...]
    calls: int
    # None if they are unknown.
    cost_low_usd: float | None
    cost_high_usd: float | None
    duration_ms: float | None
    # The smallest p that it can reach: above 0.04 it can never tell. None if nothing is tested.
    attainable_p: float | None
    # The difference of the shares of attempts that end well which it finds in 80 % of cases. None if there is none.
    detectable: float | None
    warnings: tuple[str, ...]
    # The whole answer of the API.
    details: dict[str, Any]


@dataclass(frozen=True)
class AttemptEnds:
    """Attempts of which it is known how they ended. total is the sum of their outcomes: with a grader that passes or
    fails, how many end well."""

    attempts: int
    total: float


@dataclass(frozen=True)
class ReplayBatchPart:
    """What the chosen runs, or the good ones, show."""

    # Whether more attempts end well with the edit. unknown: no attempt has an outcome.
    verdict: BatchVerdict
    edited: AttemptEnds
    unedited: AttemptEnds
    # Edited minus unedited, the mean over runs, and its interval. None if there is none.
    difference: float | None
    interval: tuple[float, float] | None
    confidence: float
    # Runs by what became of them. They add up to the runs of the part.
    runs: dict[str, int]
    # The verdict over outcome, structure, answer, cost and latency.
    effect: dict[str, Any]


@dataclass(frozen=True)
class ReplayBatchResult:
    """Whether an edit repairs the chosen runs, and what it does to good ones. print shows it in a sentence."""

    sentence: str
    chosen: ReplayBatchPart
    # None without good runs.
    good: ReplayBatchPart | None
    # The whole answer of the API.
    details: dict[str, Any]

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class ReplayedRun:
    """A run of a batch."""

    run_id: str
    part: str
    # None before the end of the batch.
    outcome: RunOutcome | None
    # None if it cannot be replayed; refused says why.
    replay_id: str | None
    refused: str | None


@dataclass(frozen=True)
class ReplayBatch:
    """A batch as it was when it was read."""

    id: str
    name: str
    # queued, running, succeeded, failed or cancelled.
    status: str
    # max_cost or budget_exceeded if it ended early because of that.
    stop_reason: str | None
    # Attempts that have ended, and all.
    done: int
    total: int
    cost_usd: float
    # Why it failed.
    error: str | None
    # None before the end.
    result: ReplayBatchResult | None
    # The whole answer of the API.
    details: dict[str, Any]
    _api: ReplayApi = field(repr=False, compare=False)

    def wait(self, seconds: float = 3600) -> ReplayBatch:
        """Returns the batch once it has a result.

        Raises:
            ReplayError: It failed, Looptrace refused, or did not answer within half a minute.
            TimeoutError: It has no result after so many seconds. It goes on.
        """
        end, pause, found = time.monotonic() + seconds, _POLL, self
        while True:
            if found.status == "failed":
                raise ReplayError(f"the batch {found.name} failed: {found.error}")
            if found.result is not None:
                return found
            if time.monotonic() + pause >= end:
                raise TimeoutError(f"the batch {found.name} has no result yet: {found.done} of {found.total} attempts")
            time.sleep(pause)
            pause = min(pause * 2, _MAX_POLL)
            found = found.read()

    def read(self) -> ReplayBatch:
        """Returns the batch as it is now."""
        return _batch_of(self._api, self._api.get(f"{_PATH}/{self.id}"))

    def runs(self, outcome: RunOutcome | None = None) -> Iterator[ReplayedRun]:
        """Gives the runs, those of which this became only, page by page."""
        offset = 0
        while True:
            page = self._api.get(f"{_PATH}/{self.id}/runs", limit=_PAGE, offset=offset, outcome=outcome)
            for run in page["data"]:
                refused = run["not_replayable"]
                yield ReplayedRun(
                    run["run_id"], run["part"], run["outcome"], run["replay_id"], refused and str(refused["code"])
                )
            if not page["has_more"]:
                return
            offset += len(page["data"])

    def cancel(self) -> ReplayBatch:
        """Cancels it. The result is that of the attempts that have ended."""
        return _batch_of(self._api, self._api.post(f"{_PATH}/{self.id}/_actions/cancel", b"{}"))

    def extend(
        self, *, controls: int | None = None, treatments: int | None = None, max_cost_usd: float | None = None
    ) -> ReplayBatch:
        """Makes the attempts that are missing, and more of each run. What was made stays."""
        body = {"controls": controls, "treatments": treatments, "max_cost_usd": max_cost_usd}
        answer = self._api.post(f"{_PATH}/{self.id}/_actions/extend", encoded(_given(body)))
        return _batch_of(self._api, answer)


def replay_batch(
    edits: Sequence[Mapping[str, Any]],
    *,
    run_ids: Sequence[str] | None = None,
    run_filter: str | None = None,
    good_runs: int = 0,
    outcome: Mapping[str, Any] | None = None,
    controls: int = 2,
    treatments: int = 2,
    max_cost_usd: float | None = None,
    **more: Any,
) -> ReplayBatch:
    """Replays many runs with the same edit, and returns at once: wait returns the batch with its result.

    Without init, the environment variables apply that init reads. The key needs the scopes replays:write, replays:read
    and runs:read.

    Args:
        edits: What to change, such as {"target": "all", "set": {"model": "gpt-4o-mini"}}.
        run_ids: The runs, or
        run_filter: a query string with the filters of GET /v1/runs: "fingerprint=…" is a group of failures.
        good_runs: How many runs that ended well are drawn, to see what the edit breaks.
        outcome: A grader of the final answer. Without it nobody knows which attempts end well.
        controls: How often each run is replayed without the edit.
        treatments: How often with it.
        max_cost_usd: The most that all calls may cost.
        more: Other members of POST /v1/replay-batches: name, max_runs, panel, executor, provider_id, tools,
            allow_unpriced.

    Raises:
        ReplayError: Looptrace refused, or did not answer within half a minute.
    """
    api = _api()
    body = _body(api, edits, run_ids, run_filter, good_runs, outcome, controls, treatments, max_cost_usd, more)
    return _batch_of(api, api.post(_PATH, encoded(body)))


def replay_batch_plan(
    edits: Sequence[Mapping[str, Any]],
    *,
    run_ids: Sequence[str] | None = None,
    run_filter: str | None = None,
    good_runs: int = 0,
    outcome: Mapping[str, Any] | None = None,
    controls: int = 2,
    treatments: int = 2,
    max_cost_usd: float | None = None,
    **more: Any,
) -> ReplayBatchPlan:
    """Says what replay_batch would do with the same arguments. It calls no model and stores nothing."""
    api = _api()
    body = _body(api, edits, run_ids, run_filter, good_runs, outcome, controls, treatments, max_cost_usd, more)
    answer = api.post(_PATH, encoded({**body, "plan": True}))
    runs = []
    for run in answer["runs"]:
        why = run["not_replayable"] or {"code": None, "detail": None}
        runs.append(PlannedRun(run["run_id"], run["part"], run["calls"], why["code"], why["detail"]))
    return ReplayBatchPlan(
        matched_runs=answer["matched_runs"], runs=tuple(runs), edits=tuple(answer["edits"]), calls=answer["calls"],
        cost_low_usd=answer["cost_low_usd"], cost_high_usd=answer["cost_high_usd"], duration_ms=answer["duration_ms"],
        attainable_p=answer["attainable_p"], detectable=answer["detectable"],
        warnings=tuple(f"{warning['detail']} {warning['remedy']}" for warning in answer["warnings"]), details=answer,
    )  # fmt: skip


def read_replay_batch(batch_id: str) -> ReplayBatch:
    """Returns a batch that was made before.

    Raises:
        ReplayNotFound: There is none.
        ReplayError: Looptrace refused, or did not answer within half a minute.
    """
    api = _api()
    return _batch_of(api, api.get(f"{_PATH}/{batch_id}"))


def _api() -> ReplayApi:
    return ReplayApi(resolve() if state.running is None else state.running.config)


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _body(
    api: ReplayApi, edits: Sequence[Mapping[str, Any]], run_ids: Sequence[str] | None, run_filter: str | None,
    good_runs: int, outcome: Mapping[str, Any] | None, controls: int, treatments: int, max_cost_usd: float | None,
    more: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    if (run_ids is None) == (run_filter is None):
        raise ValueError("give one of run_ids and run_filter")
    members = {
        "run_ids": None if run_ids is None else list(run_ids), "run_filter": run_filter, "outcome": outcome,
        "max_cost_usd": max_cost_usd, "project_id": api.project_id(), "edits": list(edits), "good_runs": good_runs,
        "controls": controls, "treatments": treatments,
    }  # fmt: skip
    return {**more, **_given(members)}


def _batch_of(api: ReplayApi, answer: dict[str, Any]) -> ReplayBatch:
    result, error, progress = answer["result"], answer["error"], answer["progress"]
    return ReplayBatch(
        id=answer["id"], name=answer["name"], status=answer["status"], stop_reason=answer["stop_reason"],
        done=progress["done"], total=progress["total"], cost_usd=answer["cost"]["usd"],
        error=None if error is None else str(error["detail"]),
        result=None if result is None else ReplayBatchResult(
            result["sentence"], _part_of(result["chosen"]), result["good"] and _part_of(result["good"]), result
        ),
        details=answer, _api=api,
    )  # fmt: skip


def _part_of(part: dict[str, Any]) -> ReplayBatchPart:
    edited, unedited, interval = part["edited"], part["unedited"], part["ci"]
    return ReplayBatchPart(
        verdict=part["verdict"], edited=AttemptEnds(edited["attempts"], edited["sum"]),
        unedited=AttemptEnds(unedited["attempts"], unedited["sum"]), difference=part["difference"],
        interval=None if interval is None else (interval[0], interval[1]), confidence=part["confidence"],
        runs=part["runs"], effect=part["effect"],
    )  # fmt: skip
