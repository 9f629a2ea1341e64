"""Batches of replays, against a scripted server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dataset_server import DatasetServer

import looptrace
from looptrace import _replay_batch

_EDITS = [{"target": "all", "set": {"model": "gpt-4o-mini"}}]
_PATH = "/v1/replay-batches"


def part(verdict: str, **members: Any) -> dict[str, Any]:
    return {
        "verdict": verdict, "edited": {"attempts": 24, "sum": 18}, "unedited": {"attempts": 24, "sum": 3},
        "difference": 0.625, "ci": [0.38, 0.78], "confidence": 0.95, "runs": {"repaired": 9, "still_failing": 3},
        "effect": {"verdict": "effect_attributable"}, **members,
    }  # fmt: skip


def batch(status: str = "queued", **members: Any) -> tuple[int, dict[str, Any]]:
    return 200, {
        "id": "b-1", "name": "Model", "status": status, "stop_reason": None, "error": None, "result": None,
        "progress": {"total": 48, "done": 0, "failed": 0}, "cost": {"usd": 0.25}, **members,
    }  # fmt: skip


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[DatasetServer]:
    started = DatasetServer()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("LOOPTRACE_API_KEY", "k")
    monkeypatch.setenv("LOOPTRACE_ENDPOINT", started.url)
    monkeypatch.setenv("LOOPTRACE_PROJECT", "p-1")
    monkeypatch.setattr(_replay_batch, "_POLL", 0.01)
    yield started
    started.stop()


def test_waits_for_the_result(server: DatasetServer) -> None:
    result = {
        "sentence": "The edit repairs failed runs.",
        "chosen": part("better"),
        "good": part("cannot_tell", ci=None),
    }
    server.script("POST", _PATH, batch())
    server.script("GET", f"{_PATH}/b-1", batch("running"), batch("running"), batch("succeeded", result=result))
    made = looptrace.replay_batch(
        _EDITS, run_filter="fingerprint=f", good_runs=6, outcome={"name": "x"}, max_cost_usd=2, max_runs=20
    )
    assert (made.id, made.status, made.total, made.cost_usd) == ("b-1", "queued", 48, 0.25)
    assert server.requests[0][3] == {
        "project_id": "p-1", "run_filter": "fingerprint=f", "max_runs": 20, "good_runs": 6, "edits": _EDITS,
        "outcome": {"name": "x"}, "max_cost_usd": 2, "controls": 2, "treatments": 2,
    }  # fmt: skip
    shown = made.wait(30).result
    assert shown is not None
    assert str(shown) == "The edit repairs failed runs."
    assert (shown.chosen.verdict, shown.chosen.interval) == ("better", (0.38, 0.78))
    assert shown.chosen.edited == looptrace.AttemptEnds(24, 18)
    assert shown.chosen.runs == {"repaired": 9, "still_failing": 3}
    assert shown.good is not None
    assert shown.good.interval is None


def test_ends_badly(server: DatasetServer) -> None:
    server.script("GET", f"{_PATH}/b-1", batch("running"))
    with pytest.raises(TimeoutError, match="the batch Model has no result yet: 0 of 48 attempts"):
        looptrace.read_replay_batch("b-1").wait(0)
    failed = {"code": "provider_deleted", "detail": "The connection was deleted."}
    server.script("GET", f"{_PATH}/b-1", batch("failed", error=failed))
    with pytest.raises(looptrace.ReplayError, match="the batch Model failed: The connection was deleted"):
        looptrace.read_replay_batch("b-1").wait()
    with pytest.raises(ValueError, match="give one of run_ids and run_filter"):
        looptrace.replay_batch(_EDITS)


def test_cancelled_and_extended(server: DatasetServer) -> None:
    server.script("GET", f"{_PATH}/b-1", batch())
    server.script("POST", f"{_PATH}/b-1/_actions/cancel", batch("cancelled"))
    server.script("POST", f"{_PATH}/b-1/_actions/extend", batch())
    found = looptrace.read_replay_batch("b-1")
    assert found.cancel().status == "cancelled"
    assert found.extend(treatments=4).status == "queued"
    assert [body for _, _, _, body, _ in server.requests] == [None, {}, {"treatments": 4}]
