"""Work, against a scripted server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dataset_server import DatasetServer

import looptrace
from looptrace import _api

_DATASET = "01985f6e-0000-7000-8000-000000000007"


def entry(number: int, kind: str, **members: Any) -> dict[str, Any]:
    return {
        "id": f"w-{number}", "kind": kind, "project_id": "p-1", "dataset_id": None if kind == "replay" else _DATASET,
        "name": "B against A", "status": "queued", "progress": {"unit": "outputs", "done": 0, "total": 240},
        "waits": None, "error": None, "created_by": {"email": "ann@example.com", "key": None},
        "created_at": "2026-07-01T10:00:00Z", "started_at": None, "finished_at": None, **members,
    }  # fmt: skip


def page(*entries: dict[str, Any], more: bool = False) -> tuple[int, dict[str, Any]]:
    return 200, {"data": list(entries), "limit": 500, "offset": 0, "has_more": more}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[DatasetServer]:
    started = DatasetServer()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("LOOPTRACE_API_KEY", "k")
    monkeypatch.setenv("LOOPTRACE_ENDPOINT", started.url)
    monkeypatch.delenv("LOOPTRACE_PROJECT", raising=False)
    monkeypatch.setattr(_api, "_PATIENCE", 1.0)
    yield started
    started.stop()


def test_members(server: DatasetServer) -> None:
    waits = {"for": "later", "until": "2026-07-01T10:05:00Z", "running": 16, "ahead": 3}
    failed = entry(2, "replay", status="failed", error={"code": "run_deleted", "detail": "The run was deleted."},
                   created_by={"email": None, "key": "ci"}, finished_at="2026-07-01T11:00:00Z")  # fmt: skip
    server.script("GET", "/v1/work", page(entry(1, "comparison", waits=waits), failed))
    waiting, ended = looptrace.work()
    assert (waiting.id, waiting.kind, waiting.project_id, waiting.dataset_id) == ("w-1", "comparison", "p-1", _DATASET)
    assert (waiting.name, waiting.status, waiting.created_by) == ("B against A", "queued", "ann@example.com")
    assert waiting.progress == looptrace.WorkProgress("outputs", 0, 240)
    assert waiting.waits == looptrace.WorkWait("later", "2026-07-01T10:05:00Z", 16, 3)
    assert (waiting.created_at, waiting.started_at, waiting.error) == ("2026-07-01T10:00:00Z", None, None)
    assert ended.error == looptrace.WorkFailure("run_deleted", "The run was deleted.")
    assert (ended.dataset_id, ended.created_by, ended.waits) == (None, "ci", None)


def test_filters(server: DatasetServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.script("GET", "/v1/work", page())
    assert list(looptrace.work()) == []
    monkeypatch.setenv("LOOPTRACE_PROJECT", "p-1")
    assert list(looptrace.work(state="open", kind="import")) == []
    assert list(looptrace.work(project="p-2")) == []
    assert [query for _, _, query, _, _ in server.requests] == [
        {"limit": "500", "offset": "0"},
        {"limit": "500", "offset": "0", "project_id": "p-1", "state": "open", "kind": "import"},
        {"limit": "500", "offset": "0", "project_id": "p-2"},
    ]


def test_pages(server: DatasetServer) -> None:
    first, second, third = (entry(number, "replay") for number in (1, 2, 3))
    # Work that began between the two pages moved the second.
    server.script("GET", "/v1/work", page(first, second, more=True), page(second, third))
    assert [each.id for each in looptrace.work()] == ["w-1", "w-2", "w-3"]
    assert [query["offset"] for _, _, query, _, _ in server.requests] == ["0", "2"]


@pytest.mark.parametrize(
    ("kind", "path", "scope"),
    [
        ("import", "/v1/imports/w-1", "datasets:write"),
        ("near_duplicate_check", f"/v1/datasets/{_DATASET}/near-duplicates", "datasets:write"),
        ("comparison", "/v1/comparisons/w-1", "evals:write"),
        ("eval_run", "/v1/eval-runs/w-1", "evals:write"),
        ("replay", "/v1/replays/w-1", "replays:write"),
    ],
)
def test_cancel(server: DatasetServer, kind: str, path: str, scope: str) -> None:
    path += "/_actions/cancel"
    server.script("GET", "/v1/work", page(entry(1, kind)))
    server.script("POST", path, (200, {}), (403, {"title": "Forbidden", "code": "missing_scope"}))
    [found] = looptrace.work()
    found.cancel()
    method, asked, _, body, headers = server.requests[-1]
    assert (method, asked, body) == ("POST", path, {})
    assert "Idempotency-Key" in headers
    with pytest.raises(looptrace.WorkError, match=f"^HTTP 403 Forbidden: the key needs the scope {scope}$") as error:
        found.cancel()
    assert error.value.code == "missing_scope"


def test_what_cannot_be_cancelled(server: DatasetServer) -> None:
    ended, unknown, deleted = entry(1, "import", status="succeeded"), entry(2, "dream"), entry(3, "replay")
    server.script("GET", "/v1/work", page(ended, unknown, deleted))
    of_ended, of_unknown, of_deleted = looptrace.work()
    with pytest.raises(looptrace.WorkError, match=r"^the import B against A has ended: it is succeeded$"):
        of_ended.cancel()
    with pytest.raises(looptrace.WorkError, match="cannot cancel a dream: install a newer one"):
        of_unknown.cancel()
    assert [method for method, *_ in server.requests] == ["GET"]
    with pytest.raises(looptrace.WorkNotFound):
        of_deleted.cancel()


def test_refused(server: DatasetServer) -> None:
    server.script("GET", "/v1/work", (403, {"title": "Forbidden", "code": "missing_scope"}))
    with pytest.raises(looptrace.WorkError, match=r"needs the scopes datasets:read, evals:read and replays:read$"):
        list(looptrace.work())
