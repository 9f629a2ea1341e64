"""Work: what of projects takes longer than a request, and cancelling it. /v1/work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from ._api import Api, ApiError
from ._config import resolve
from ._state import state as _state

WorkKind: TypeAlias = Literal[
    "import", "near_duplicate_check", "comparison", "eval_run", "replay", "replay_batch", "diagnosis"
]
WorkState: TypeAlias = Literal["open", "ended"]

_PAGE = 500
_OPEN = frozenset({"uploading", "queued", "running"})
# The members that are the same here.
_SAME = ("id", "kind", "project_id", "dataset_id", "name", "status", "created_at", "started_at", "finished_at")
# The operation that cancels work of its kind. A dataset has one check at a time.
_CANCEL = {
    "import": "/v1/imports/{id}/_actions/cancel",
    "near_duplicate_check": "/v1/datasets/{dataset_id}/near-duplicates/_actions/cancel",
    "comparison": "/v1/comparisons/{id}/_actions/cancel",
    "eval_run": "/v1/eval-runs/{id}/_actions/cancel",
    "replay": "/v1/replays/{id}/_actions/cancel",
    "replay_batch": "/v1/replay-batches/{id}/_actions/cancel",
    "diagnosis": "/v1/diagnoses/{id}/_actions/cancel",
}


class WorkError(ApiError):
    """Work could not be listed or cancelled. status is the HTTP status, or None without a response. code is that of the
    API, such as evaluation_finished."""


class WorkNotFound(WorkError):  # noqa: N818 - says what it is
    """The work, or its project, is not there any more."""


class WorkApi(Api):
    error = WorkError
    not_found = WorkNotFound
    scopes = MappingProxyType({"GET": "the scopes datasets:read, evals:read and replays:read"})
    uncertain = "it may have been cancelled: list it again"

    def scopes_of(self, method: str, path: str) -> str:
        if method == "GET":
            return self.scopes["GET"]
        subjects = {"comparisons": "evals", "eval-runs": "evals", "replays": "replays", "replay-batches": "replays"}
        return f"the scope {subjects.get(path.split('/')[2], 'datasets')}:write"


@dataclass(frozen=True)
class WorkProgress:
    """How far work is."""

    # What is counted: rows, items, outputs, outputs_and_votes or attempts.
    unit: str
    done: int
    # None until it is known.
    total: int | None


@dataclass(frozen=True)
class WorkWait:
    """Why work does not go on now."""

    # turn: a place of the server. retry: the time of the next try after one that failed. later: something that is not
    # there yet, such as runs that are still stored. provider: it runs, and its provider takes no calls now.
    reason: str
    # When it is tried again. None for a turn.
    until: str | None
    # How much work of the project has a place of this kind, and how much that is older waits for one.
    running: int
    ahead: int


@dataclass(frozen=True)
class WorkFailure:
    """Why work failed."""

    code: str
    detail: str


@dataclass(frozen=True)
class Work:
    """Work of a project as it was when it was listed. Times are RFC 3339 in UTC."""

    id: str
    # import, near_duplicate_check, comparison, eval_run, replay, replay_batch or diagnosis.
    kind: str
    project_id: str
    # None for replays.
    dataset_id: str | None
    # That of the file, of the dataset that is checked, or its own.
    name: str
    # uploading, queued, running, succeeded, failed or cancelled.
    status: str
    progress: WorkProgress
    # None if it waits for nothing, or has ended.
    waits: WorkWait | None
    error: WorkFailure | None
    # The email of a user, or the name of a key.
    created_by: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    _api: WorkApi = field(repr=False, compare=False)

    def cancel(self) -> None:
        """Cancels it. An import then changes nothing; of other work what is stored stays.

        The key needs datasets:write for an import and a near_duplicate_check, evals:write for a comparison and an
        eval_run, and replays:write for a replay or a batch of them.

        Raises:
            WorkNotFound: It was deleted.
            WorkError: It has ended, or Looptrace refused, or did not answer within half a minute.
        """
        # The operation for a check does not name it: it would cancel the next one.
        if self.status not in _OPEN:
            raise WorkError(f"the {self.kind} {self.name} has ended: it is {self.status}")
        path = _CANCEL.get(self.kind)
        if path is None:
            raise WorkError(f"this version of looptrace cannot cancel a {self.kind}: install a newer one")
        self._api.post(path.format(id=self.id, dataset_id=self.dataset_id), b"{}")


def work(*, state: WorkState | None = None, kind: WorkKind | None = None, project: str | None = None) -> Iterator[Work]:
    """Gives imports, checks for near-duplicates, comparisons, eval-runs, replays, batches of them and diagnoses, the
    newest first, and reads them page by page.

    Without init, the environment variables apply that init reads. The key needs the scopes datasets:read, evals:read
    and replays:read.

    Args:
        state: "open" for work that waits or runs, "ended" for other work.
        kind: Only work of this kind.
        project: The id of a project. Default: that of the settings, else all projects of the key.

    Raises:
        WorkError: Looptrace refused, or did not answer within half a minute.
    """
    api = WorkApi(resolve() if _state.running is None else _state.running.config)
    return _listed(api, state=state, kind=kind, project_id=project or api.project)


def _listed(api: WorkApi, **filters: str | None) -> Iterator[Work]:
    offset, seen = 0, set[str]()
    while True:
        page = api.get("/v1/work", limit=_PAGE, offset=offset, **filters)
        for members in page["data"]:
            # Work that begins meanwhile moves the others to later pages.
            if members["id"] not in seen:
                seen.add(members["id"])
                yield _work_of(api, members)
        if not page["has_more"]:
            return
        offset += len(page["data"])


def _work_of(api: WorkApi, members: dict[str, Any]) -> Work:
    progress, waits, error, author = (members[name] for name in ("progress", "waits", "error", "created_by"))
    return Work(
        progress=WorkProgress(progress["unit"], progress["done"], progress["total"]),
        waits=None if waits is None else WorkWait(waits["for"], waits["until"], waits["running"], waits["ahead"]),
        error=None if error is None else WorkFailure(error["code"], error["detail"]),
        created_by=author["email"] or author["key"],
        **{name: members[name] for name in _SAME},
        _api=api,
    )
