"""Gates, against a scripted server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from dataset_server import DatasetServer, Json

import looptrace
from looptrace import _api, _eval_send

_CHECK = "/v1/gates/_actions/check"


def eval_run(name: str, **members: Any) -> Json:
    summary: Json = {"sentence": "", "scores": [], "partial": False}
    accounting = dict.fromkeys(("items", "scored", "target_failed", "judge_failed", "skipped", "pending"), 1)
    return {
        "id": name, "project_id": "p-1", "name": "capitals", "status": "succeeded", "repeats": 2, "metadata": {},
        "dataset": {"id": "d-1", "name": "faq", "revision": 3, "split": None, "item_count": 1}, "branch": "topic",
        "commit": "abc", "summary": summary, "accounting": accounting, **members,
    }  # fmt: skip


def decision(decision: str, repeats_needed: int | None = None, split_known: bool = True) -> Json:
    return {
        "decision": decision, "sentence": f"It is {decision}.", "metric": "correct", "better": "higher", "margin": 0.02,
        "difference": {"estimate": -0.01, "ci": [-0.03, 0.01]}, "repeats_needed": repeats_needed, "items_needed": 7,
        "candidate_repeats_needed": repeats_needed, "split_known": split_known,
    }  # fmt: skip


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[DatasetServer]:
    """A server with the eval-runs candidate, base and others."""
    started = DatasetServer()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "CI_", "LOOPTRACE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LOOPTRACE_ENDPOINT", started.url)
    monkeypatch.setenv("LOOPTRACE_API_KEY", "k")
    monkeypatch.setenv("LOOPTRACE_PROJECT", "p-1")
    monkeypatch.setattr(_api, "_PATIENCE", 0.5)
    monkeypatch.setattr(_eval_send, "_DELAY", 0.01)
    for name in ("candidate", "base", "more"):
        started.script("GET", f"/v1/eval-runs/{name}", (200, eval_run(name)))
    yield started
    looptrace.shutdown(2)
    started.stop()


def checks(server: DatasetServer) -> list[Json]:
    return [body for _, path, _, body, _ in server.requests if path == _CHECK and body is not None]


def test_decisions(server: DatasetServer, caplog: pytest.LogCaptureFixture) -> None:
    server.script("POST", _CHECK, (200, decision("pass")))
    passed = looptrace.gate("candidate", "base", metric="correct", margin=0.02)
    assert checks(server) == [
        {"candidate": "candidate", "baseline": "base", "metric": "correct", "margin": 0.02, "repeated": False}
    ]
    looptrace.gate("candidate", "base", metric="correct", margin=0.02, group_by="metadata.customer")
    assert checks(server)[1]["group_by"] == "metadata.customer"
    assert (passed.decision, passed.passed, passed.looks, str(passed)) == ("pass", True, 1, "It is pass.")
    assert (passed.difference, passed.interval, passed.details["items_needed"]) == (-0.01, (-0.03, 0.01), 7)
    assert passed.required() is passed
    for found in ("regression", "incomplete", "inconclusive"):
        server.script("POST", _CHECK, (200, decision(found)))
        result = looptrace.gate("candidate", "base", metric="correct", margin=0.02)
        assert (result.decision, result.passed) == (found, False)
        with pytest.raises(looptrace.GateFailed, match=rf"^It is {found}\.$") as failed:
            result.required()
        assert failed.value.result is result
        assert isinstance(failed.value, AssertionError)
        warned = looptrace.gate("candidate", "base", metric="correct", margin=0.02, on_inconclusive="warn")
        assert warned.passed is (found == "inconclusive")
    assert "the gate is inconclusive and passes: It is inconclusive." in caplog.text


def test_the_server_chooses_the_margin_that_nobody_named(server: DatasetServer) -> None:
    server.script("POST", _CHECK, (200, decision("pass")))
    assert looptrace.gate("candidate", "base", metric="correct").margin == 0.02
    assert checks(server) == [{"candidate": "candidate", "baseline": "base", "metric": "correct", "repeated": False}]


def test_the_baseline_is_the_newest_of_the_branch(server: DatasetServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.script("POST", _CHECK, (200, decision("pass")))
    server.script("GET", "/v1/eval-runs/candidate", (200, eval_run("candidate", metadata={"extends": "older"})))
    # The candidate and what it extends are on the branch too.
    older = eval_run("older", metadata={"extends": "oldest"})
    pages = ({"data": [eval_run("candidate"), older], "has_more": True},
             {"data": [eval_run("oldest"), eval_run("base"), eval_run("more")], "has_more": False})  # fmt: skip
    server.script("GET", "/v1/eval-runs", *((200, page) for page in pages))
    assert looptrace.gate("candidate", metric="correct", margin=0.02).baseline == "base"
    queries = [query for _, path, query, _, _ in server.requests if path == "/v1/eval-runs"]
    assert queries[0] == {
        "name": "capitals", "dataset_id": "d-1", "branch": "main", "status": "succeeded", "project_id": "p-1",
        "limit": "50", "offset": "0",
    }  # fmt: skip
    assert queries[1]["offset"] == "2"
    server.script("GET", "/v1/eval-runs", (200, {"data": [eval_run("candidate")], "has_more": False}))
    monkeypatch.setenv("GITHUB_BASE_REF", "next")
    with pytest.raises(
        looptrace.EvaluationNotFound, match="no other eval-run of capitals succeeded on the branch next"
    ):
        looptrace.gate("candidate", metric="correct", margin=0.02)
    with pytest.raises(looptrace.EvaluationNotFound, match="succeeded on the branch release with the dataset faq"):
        looptrace.gate("candidate", metric="correct", margin=0.02, branch="release")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"margin": -1}, "margin=-1 is not a number from 0 on"),
        ({"margin": float("nan")}, "margin=nan is not"),
        ({"margin": True}, "margin=True is not"),
        ({"on_inconclusive": "ignore"}, "on_inconclusive='ignore' is none of fail, warn, extend"),
        ({"on_inconclusive": "extend"}, "pass the Evaluation that looptrace.evaluate returned"),
        ({"max_repeats": 101}, "max_repeats=101 is not a number from 1 to 100"),
    ],
)
def test_wrong_arguments(server: DatasetServer, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        looptrace.gate("candidate", "base", **{"metric": "correct", "margin": 0.02, **arguments})
    assert server.requests == []


def evaluated(server: DatasetServer, repeats: int = 2) -> tuple[looptrace.Evaluation, list[int]]:
    """Returns an evaluation of one item, and the calls of its task."""
    calls: list[int] = []
    faq = {"id": "d-1", "name": "faq", "description": "", "revision": 3, "item_count": 1}
    item: Json = {
        "id": "i-1", "key": "k", "input": {"a": 1}, "reference_output": None, "metadata": {}, "split": None, "tags": [],
        "source_run_id": None, "source_span_id": None, "revision_added": 1,
    }  # fmt: skip
    server.script("GET", "/v1/datasets", (200, {"data": [faq]}))
    server.script("GET", "/v1/datasets/d-1/items", (200, {"data": [item], "next_cursor": None}))
    server.script("POST", "/v1/eval-runs", (201, eval_run("candidate", repeats=repeats)), (201, eval_run("more")))
    for name in ("candidate", "more"):
        server.script("GET", f"/v1/eval-runs/{name}", (200, eval_run(name, repeats=repeats)))
        server.script("POST", f"/v1/eval-runs/{name}/results", (200, {}))
        server.script(
            "POST", f"/v1/eval-runs/{name}/_actions/finish", (200, {"eval_run": eval_run(name, repeats=repeats)})
        )
    looptrace.init(instrument=False)

    def task(a: int) -> int:
        calls.append(a)
        return len(calls)

    return looptrace.evaluate("faq", task, name="capitals", repeats=repeats), calls


def test_extended_until_it_is_decided(server: DatasetServer) -> None:
    result, calls = evaluated(server)
    assert len(calls) == 2
    server.script("GET", "/v1/eval-runs/more", (200, eval_run("more", repeats=5)))
    server.script("POST", _CHECK, (200, decision("inconclusive", 5)), (200, decision("pass")))
    decided = result.require("correct", no_worse_than="base", margin=0.02, on_inconclusive="extend")
    assert (decided.looks, decided.candidate, str(decided)) == (2, "more", "It is pass. (decided at look 2)")
    assert [check["candidate"] for check in checks(server)] == ["candidate", "more"]
    bodies = [body for _, path, _, body, _ in server.requests if path == "/v1/eval-runs" and body]
    assert (bodies[1]["repeats"], bodies[1]["metadata"]) == (5, {"extends": "candidate"})
    # What was there is sent again, and not made again.
    sent = [
        each for _, path, _, body, _ in server.requests if path == "/v1/eval-runs/more/results" and body
        for each in body["items"]
    ]  # fmt: skip
    assert sorted((each["repeat"], each["output"]) for each in sent) == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
    assert len(calls) == 5


@pytest.mark.parametrize(
    ("needed", "most", "made", "said"),
    [
        (None, 10, 2, "no number of repeats would decide the gate: It is inconclusive."),
        (50, 2, 2, "the gate is inconclusive with max_repeats=2"),
        (3, 10, 4, "the gate is inconclusive with max_repeats=10"),
        (50, 7, 7, "the gate is inconclusive with max_repeats=7"),
    ],
    ids=["repeats do not help", "nothing left", "at least twice as many", "at most max_repeats"],
)
def test_extended_within_the_budget(
    server: DatasetServer, caplog: pytest.LogCaptureFixture, needed: int | None, most: int, made: int, said: str
) -> None:
    result, calls = evaluated(server)
    server.script("GET", "/v1/eval-runs/more", (200, eval_run("more", repeats=most)))
    server.script("POST", _CHECK, (200, decision("inconclusive", needed)), (200, decision("inconclusive", None)))
    found = looptrace.gate(
        result, "base", metric="correct", margin=0.02, on_inconclusive="extend", max_repeats=most
    )  # fmt: skip
    assert (found.passed, len(calls)) == (False, made)
    assert found.looks == (1 if made == 2 else 2)
    assert said in caplog.text
    assert all(check["repeated"] for check in checks(server))


def test_extended_from_one_repeat(server: DatasetServer) -> None:
    result, calls = evaluated(server, repeats=1)
    server.script("GET", "/v1/eval-runs/more", (200, eval_run("more", repeats=2)))
    server.script("POST", _CHECK, (200, decision("inconclusive", split_known=False)), (200, decision("pass")))
    found = looptrace.gate(result, "base", metric="correct", margin=0.02, on_inconclusive="extend")
    assert (found.decision, found.looks, len(calls)) == ("pass", 2, 2)


def test_extends_a_baseline_of_this_program(server: DatasetServer) -> None:
    result, calls = evaluated(server)
    needed = decision("inconclusive", 4) | {"candidate_repeats_needed": None}
    server.script("GET", "/v1/eval-runs/more", (200, eval_run("more", repeats=4)))
    server.script("POST", _CHECK, (200, needed), (200, decision("pass")))
    server.script("POST", "/v1/eval-runs", (201, eval_run("more", repeats=4)), (201, eval_run("more", repeats=4)))
    found = looptrace.gate(result, result, metric="correct", margin=0.02, on_inconclusive="extend")
    assert (found.candidate, found.baseline, len(calls)) == ("more", "more", 6)


async def test_in_a_running_loop(server: DatasetServer) -> None:
    server.script("POST", _CHECK, (200, decision("pass")))
    with pytest.raises(RuntimeError, match=r"use `await looptrace\.gate_async\(…\)`"):
        looptrace.gate("candidate", "base", metric="correct", margin=0.02)
    assert (await looptrace.gate_async("candidate", "base", metric="correct", margin=0.02)).passed


def test_refusals(server: DatasetServer) -> None:
    server.script("POST", _CHECK, (422, {"title": "Unprocessable", "detail": "No score is called x."}))
    with pytest.raises(looptrace.EvaluationError, match=r"^HTTP 422 No score is called x$") as refused:
        looptrace.gate("candidate", "base", metric="x", margin=0)
    assert refused.value.status == 422
    server.script("POST", _CHECK, (403, {"title": "Forbidden", "detail": "The key lacks a scope."}))
    with pytest.raises(looptrace.EvaluationError, match=r": the key needs the scope evals:read$"):
        looptrace.gate("candidate", "base", metric="x", margin=0)
    with pytest.raises(looptrace.EvaluationNotFound):
        looptrace.gate("nobody", "base", metric="x", margin=0)
