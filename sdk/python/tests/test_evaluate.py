"""Evaluations, against a scripted server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from dataset_server import DatasetServer, Json

import looptrace
from looptrace import _api, _eval_send
from looptrace._eval_binding import Parameters, check_task
from looptrace._eval_grade import read_score
from looptrace._eval_origin import base_branch, origin

_ID = "01985f6e-0000-7000-8000-000000000007"
_RUN = "01985f6e-0000-7000-8000-000000000009"
_FAQ = {"id": _ID, "name": "faq", "description": "", "revision": 3, "item_count": 3}
_CAPITALS = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid"}


def item(number: int, country: str) -> Json:
    return {
        "id": f"i-{number}", "key": f"capital-{number}", "input": {"country": country, "style": "short"},
        "reference_output": _CAPITALS[country], "metadata": {"number": number}, "split": None, "tags": [],
        "source_run_id": None, "source_span_id": None, "revision_added": 1,
    }  # fmt: skip


def eval_run(**members: Any) -> Json:
    return {
        "id": _RUN, "project_id": "p-1", "name": "capitals", "status": "running", "repeats": 1, "metadata": {},
        "dataset": {"id": _ID, "name": "faq", "revision": 3, "split": None, "item_count": 3}, "branch": "topic",
        "commit": "abc", "summary": None, "accounting": None, **members,
    }  # fmt: skip


def summarized(**members: Any) -> Json:
    score = {"name": "correct", "kind": "score", "better": "higher", "mean": 0.5, "ci": [0.1, 0.9], "pass_rate": 0.5}
    return eval_run(
        status="succeeded",
        summary={"sentence": "", "scores": [{**score, "n": 2}], "partial": False},
        accounting={"items": 3, "scored": 2, "target_failed": 1, "judge_failed": 0, "skipped": 0, "pending": 0},
        **members,
    )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[DatasetServer]:
    """A server with the dataset faq and one eval-run."""
    started = DatasetServer()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "CI_", "LOOPTRACE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(_api, "_PATIENCE", 0.5)
    monkeypatch.setattr(_eval_send, "_DELAY", 0.01)
    monkeypatch.setattr(_eval_send, "_PAUSE", 0.01)
    started.script("GET", "/v1/datasets", (200, {"data": [_FAQ]}))
    items = [item(number, country) for number, country in enumerate(_CAPITALS)]
    started.script("GET", f"/v1/datasets/{_ID}/items", (200, {"data": items, "next_cursor": None}))
    started.script("POST", "/v1/eval-runs", (201, eval_run()))
    started.script("POST", f"/v1/eval-runs/{_RUN}/results", (200, {}))
    started.script("POST", f"/v1/eval-runs/{_RUN}/_actions/finish", (200, {"eval_run": eval_run()}))
    started.script("POST", f"/v1/eval-runs/{_RUN}/_actions/cancel", (200, eval_run(status="cancelled")))
    started.script("GET", f"/v1/eval-runs/{_RUN}", (200, eval_run()), (200, summarized()))
    looptrace.init(endpoint=started.url, api_key="k", project="p-1", instrument=False)
    yield started
    looptrace.shutdown(2)
    started.stop()


def sent(server: DatasetServer) -> dict[tuple[str, int], Json]:
    """Returns the results that were sent, by item and repeat."""
    found: dict[tuple[str, int], Json] = {}
    for method, path, _, body, _ in server.requests:
        if (method, path) == ("POST", f"/v1/eval-runs/{_RUN}/results"):
            assert body is not None
            found.update({(each["item_id"], each["repeat"]): each for each in body["items"]})
    return found


def created(server: DatasetServer) -> Json:
    [body] = [body for method, path, _, body, _ in server.requests if (method, path) == ("POST", "/v1/eval-runs")]
    assert body is not None
    return body


def paths(server: DatasetServer) -> list[str]:
    return [path for _, path, _, _, _ in server.requests]


def correct(output: str, reference_output: str) -> bool:
    return output == reference_output


def test_results_scores_and_runs(server: DatasetServer) -> None:
    def answer(country: str, metadata: dict[str, int]) -> str:
        if country == "Spain":
            raise TimeoutError("the search did not answer")
        with looptrace.span("think", kind="llm"):
            return "Paris" if metadata["number"] in (0, 1) else "?"

    async def short(output: str, run: looptrace.GradedRun) -> dict[str, Any]:
        assert run.id is not None
        assert run.url == f"{server.url}/p/p-1/runs/{run.id}"
        assert run.duration_ms > 0
        await asyncio.sleep(0)
        return {"score": 1 / len(output), "reason": "letters"}

    def broken(output: str) -> bool:
        raise KeyError("x")

    result = looptrace.evaluate("faq", answer, graders=[correct, short, broken], repeats=2, name="capitals",
                                branch="topic", commit="abc", group_by="input.country",
                                metadata={"model": "gpt-5", "n": 1})  # fmt: skip
    assert created(server) == {
        "project_id": "p-1", "name": "capitals", "dataset_id": _ID, "revision": 3, "target": {"external": True},
        "repeats": 2, "primary_metric": "correct", "group_by": "input.country", "branch": "topic", "commit": "abc",
        "metadata": {"model": "gpt-5", "n": "1"},
    }  # fmt: skip
    results = sent(server)
    assert sorted(results) == [(f"i-{number}", repeat) for number in range(3) for repeat in (1, 2)]
    first, wrong, failed = results["i-0", 1], results["i-1", 2], results["i-2", 1]
    assert first["output"] == "Paris"
    assert first["duration_ms"] > 0
    assert first["scores"] == [
        {"name": "correct", "score": 1.0, "pass": True},
        {"name": "short", "score": 0.2, "pass": None, "reason": "letters"},
        {"name": "broken", "score": None, "pass": None, "error": "KeyError: 'x'"},
    ]
    assert wrong["scores"][0] == {"name": "correct", "score": 0.0, "pass": False}
    assert failed["error"] == {"code": "TimeoutError", "detail": "the search did not answer"}
    assert not failed.keys() & {"output", "scores"}

    # Each call is a run of its own, with what it belongs to.
    assert len({each["run_id"] for each in results.values()}) == 6
    run_id = first["run_id"].replace("-", "")
    root, think = sorted((span for span in server.spans if span.trace_id == run_id), key=lambda span: span.parent_id)
    assert (root.name, root.parent_id, think.name, think.parent_id) == ("capitals", "", "think", root.span_id)
    assert json.loads(root.attributes["looptrace.inputs"]) == {"country": "France", "style": "short"}
    assert root.attributes["looptrace.outputs"] == "Paris"
    belongs = {"looptrace.source": "evaluation", "looptrace.metadata.eval_run_id": _RUN,
               "looptrace.metadata.item_id": "i-0", "looptrace.metadata.item_key": "capital-0",
               "looptrace.metadata.repeat": 1}  # fmt: skip
    assert belongs.items() <= root.attributes.items()
    assert belongs.items() <= think.attributes.items()

    assert (result.id, result.status, result.unsent, result.problems) == (_RUN, "succeeded", 0, [])
    assert result.scores == {"correct": looptrace.MeanScore("correct", 0.5, (0.1, 0.9), 0.5, 2)}
    assert result.accounting == {
        "items": 3, "scored": 2, "target_failed": 1, "judge_failed": 0, "skipped": 0, "pending": 0,
    }  # fmt: skip
    assert {failure.kind for failure in result.failures} == {"task", "score", "grader"}
    assert sorted(str(failure) for failure in result.failures if failure.kind != "grader") == [
        "capital-1, repeat 1, did not pass: correct", "capital-1, repeat 2, did not pass: correct",
        "capital-2, repeat 1, the task failed: TimeoutError: the search did not answer",
        "capital-2, repeat 2, the task failed: TimeoutError: the search did not answer",
    ]  # fmt: skip
    printed = str(result).splitlines()
    assert printed[:4] == [
        "capitals: faq revision 3, 1 repeat, branch topic, commit abc",
        "score    mean   95 % interval   pass rate  items",
        "correct  0.500  0.100 to 0.900  50 %       2",
        "3 items: 2 scored, 1 target failed, 0 judge failed, 0 skipped, 0 pending",
    ]
    assert printed[-1] == result.url == f"{server.url}/p/p-1/eval-runs/{_RUN}"


def test_tokens_and_model_of_the_run(server: DatasetServer) -> None:
    def answer(country: str) -> str:
        with looptrace.span("plan", kind="agent") as agent:
            agent.set_usage(input_tokens=900, output_tokens=900)  # that of its calls, once more
            for number in (1, 2):
                with looptrace.span("think", kind="llm") as call:
                    call.set_model("small" if country == "Italy" and number == 2 else "large", answered=None)
                    if country != "Spain" or number == 1:
                        call.set_usage(input_tokens=10 * number, output_tokens=number)
            if country == "Italy":
                raise TimeoutError
        return country

    result = looptrace.evaluate("faq", answer)
    results = sent(server)
    assert (results["i-0", 1]["usage"], results["i-0", 1]["model"]) == (
        {"input_tokens": 30, "output_tokens": 3}, "large",
    )  # fmt: skip
    # Of several models none is said, and of a call without usage no sum.
    assert (results["i-1", 1]["usage"], "model" in results["i-1", 1]) == (
        {"input_tokens": 30, "output_tokens": 3},
        False,
    )
    assert ("usage" in results["i-2", 1], results["i-2", 1]["model"]) == (False, "large")
    assert {each.item.key: each.usage for each in result.results}["capital-2"] is None


async def test_async_tasks_run_at_once(server: DatasetServer) -> None:
    together = asyncio.Barrier(3) if hasattr(asyncio, "Barrier") else None

    async def answer(input: dict[str, str], *, item: looptrace.Item, reference_output: str, extra: int = 7) -> str:  # noqa: A002
        assert (item.input, extra) == (input, 7)
        if together is not None:
            await together.wait()
        return reference_output

    with pytest.raises(RuntimeError, match=r"an event loop is running: use `await looptrace.evaluate_async"):
        looptrace.evaluate("faq", answer)
    result = await looptrace.evaluate_async("faq", answer, graders=[correct], concurrency=3)
    assert created(server)["name"] == "answer"
    assert [each.output for each in sorted(result.results, key=lambda each: str(each.item.key))] == [
        "Paris", "Rome", "Madrid",
    ]  # fmt: skip
    assert [each["scores"][0]["pass"] for each in sent(server).values()] == [True] * 3


def test_plain_tasks_run_at_once(server: DatasetServer) -> None:
    together = threading.Barrier(3, timeout=20)
    looptrace.evaluate("faq", lambda country: together.wait(), name="capitals", concurrency=3)
    assert sorted(each["output"] for each in sent(server).values()) == [0, 1, 2]


@dataclass
class Answer:
    text: str
    sources: list[str]


def test_outputs_are_json(server: DatasetServer) -> None:
    outputs = {"France": Answer("Paris", ["wiki"]), "Italy": {1, 2}, "Spain": {"a": [1, None]}}

    def text(output: Any) -> float | None:
        return 1.0 if isinstance(output, Answer) else None

    looptrace.evaluate("faq", lambda country: outputs[country], name="capitals", graders=[text])
    results = sent(server)
    assert results["i-0", 1]["output"] == {"text": "Paris", "sources": ["wiki"]}
    assert results["i-0", 1]["scores"] == [{"name": "text", "score": 1.0, "pass": None}]
    assert results["i-1", 1]["error"]["detail"].startswith("the output is a set, which is not JSON")
    assert results["i-2", 1]["output"] == {"a": [1, None]}
    assert results["i-2", 1]["scores"] == [{"name": "text", "score": None, "pass": None}]


def test_content_is_redacted_or_left_out(server: DatasetServer) -> None:
    looptrace.shutdown()

    def redact(key: str, value: Any) -> Any:
        return value.replace("Paris", "[city]") if isinstance(value, str) else value

    looptrace.init(endpoint=server.url, api_key="k", project="p-1", instrument=False, redact=redact)
    looptrace.evaluate("faq", lambda country: {"city": "Paris"}, name="capitals")
    assert sent(server)["i-0", 1]["output"] == {"city": "[city]"}
    looptrace.shutdown()
    server.script("GET", f"/v1/eval-runs/{_RUN}", (200, summarized()))
    looptrace.init(endpoint=server.url, api_key="k", project="p-1", instrument=False, capture_content=False)
    looptrace.evaluate("faq", lambda country: "Paris", name="capitals")
    assert sent(server)["i-0", 1]["output"] is None


def test_what_a_task_raises_is_a_result(server: DatasetServer) -> None:
    def answer(country: str) -> str:
        raise {"France": SystemExit("bye"), "Italy": StopIteration(), "Spain": asyncio.CancelledError()}[country]

    result = looptrace.evaluate("faq", answer)
    assert sorted(str(failure.reason) for failure in result.failures) == [
        "CancelledError", "RuntimeError: coroutine raised StopIteration", "SystemExit: bye",
    ]  # fmt: skip
    assert len(sent(server)) == 3


def test_arguments_that_cannot_be_bound(server: DatasetServer) -> None:
    ran = []

    def answer(question: str) -> None:
        ran.append(question)

    with pytest.raises(ValueError, match="the task answer cannot be called with the item capital-0") as error:
        looptrace.evaluate("faq", answer)
    assert str(error.value).endswith(
        "there is no value for its parameter 'question'. There is input, reference_output, metadata and item, and of "
        "the input country, style. Rename the parameter, or give it a default"
    )

    def wrong(expected: str) -> None: ...

    with pytest.raises(ValueError, match=r"the grader wrong cannot be called: .* 'expected'\. There is output, refer"):
        looptrace.evaluate("faq", lambda country: country, name="x", graders=[wrong])
    assert not ran
    assert "/v1/eval-runs" not in paths(server)

    mixed = [looptrace.Item({"item": "sofa"}, key="a"), looptrace.Item({"price": 1}, key="b")]

    def buy(item: Any) -> None: ...

    with pytest.raises(ValueError, match="'item' of the task buy is a member of the input of the item a, and the item"):
        check_task(Parameters(buy, "task"), mixed)


def test_members_of_the_input_come_first() -> None:
    def buy(item: str, /, *things: int, price: float = 0.5, **more: Any) -> None: ...

    parameters = Parameters(buy, "task")
    sofa = looptrace.Item({"item": "sofa", "color": "red"}, "x")
    check_task(parameters, [sofa])
    assert parameters.arguments({"item": "sofa"}, {"item": "sofa", "color": "red"}) == (["sofa"], {"color": "red"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"repeats": 0}, "repeats=0 is not a number from 1 to 100"),
        ({"concurrency": True}, "concurrency=True is not"),
        ({"graders": [lambda output: 1]}, r"graders\[0\] is a lambda"),
        ({"graders": [correct, {"name": "correct", "type": "string_check"}]}, "two graders have the name correct"),
        ({"graders": [{"type": "string_check"}]}, r"graders\[0\] needs a name and a type"),
    ],
)
def test_wrong_arguments(server: DatasetServer, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        looptrace.evaluate("faq", correct, **arguments)
    assert "/v1/eval-runs" not in paths(server)
    with pytest.raises(TypeError, match="graders is a function: pass a list"):
        looptrace.evaluate("faq", correct, graders=correct)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="name the evaluation"):
        looptrace.evaluate("faq", lambda country: country)


def test_scores() -> None:
    ok = looptrace.Score
    for returned, score in (
        (True, ok(1.0, True, name="g")), (0.25, ok(0.25, name="g")), (1, ok(1.0, name="g")), (None, ok(name="g")),
        ({"pass": False, "reason": "no"}, ok(0.0, False, "no", "g")), (ok(0.5, True, "so"), ok(0.5, True, "so", "g")),
        ({"score": True}, ok(1.0, True, name="g")), ({"score": None}, ok(name="g")),
    ):  # fmt: skip
        assert read_score("g", returned) == score
    for wrong, message in (
        (3, "the score 3.0; it must be from 0 to 1"), (float("nan"), "the score nan"), ("yes", "returned str"),
        ({"passed": 1}, "a dict with passed; it may have score, pass, reason"), ({"pass": 1}, "pass as int"),
        ({"score": 1, "reason": 2}, "reason as int"), (ok(7), "the score 7.0"),
    ):  # fmt: skip
        failed = read_score("g", wrong)
        assert (failed.score, failed.passed) == (None, None)
        assert message in str(failed.error)


def test_cases_are_written_as_a_dataset(server: DatasetServer) -> None:
    written = {"revision": 4, "added": 2, "updated": 0, "removed": 0, "unchanged": 0, "item_ids": ["i-8", "i-9"]}
    server.script("POST", f"/v1/datasets/{_ID}/items", (201, written))

    def constant(input: Any) -> int:  # noqa: A002
        return 1

    cases: list[dict[str, Any]] = [
        {"key": "fr", "input": "France?", "reference_output": "Paris"},
        {"input": {"b": 1, "a": 2}},
    ]
    looptrace.evaluate(cases, constant, name="capitals")
    [body] = [body for _, path, _, body, _ in server.requests if path == f"/v1/datasets/{_ID}/items" and body]
    assert body["mode"] == "upsert"
    assert [each["key"] for each in body["items"]] == ["fr", "21501dbaf73f5223"]
    assert (created(server)["item_ids"], created(server)["revision"]) == (["i-8", "i-9"], 4)
    assert sorted(sent(server)) == [("i-8", 1), ("i-9", 1)]
    with pytest.raises(ValueError, match="cases 0 and 1 have the same key, or the same input and no key"):
        looptrace.evaluate([{"input": 1}, {"input": 1}], constant, name="capitals")


def test_one_refused_result_does_not_take_others_with_it(server: DatasetServer) -> None:
    path = f"/v1/eval-runs/{_RUN}/results"
    refused = (422, {"title": "Unprocessable", "detail": "The output is too deep."})
    server.script("POST", path, refused, refused, (200, {}), (200, {}))
    result = looptrace.evaluate("faq", lambda country: country, name="capitals", concurrency=3)
    assert result.unsent == 1
    assert "1 results were not sent: HTTP 422 The output is too deep" in str(result)


def test_results_wait_until_the_service_is_back(server: DatasetServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_api, "_PATIENCE", 5.0)
    server.headers["Retry-After"] = "0"
    away = (503, {"title": "Service Unavailable", "detail": "A store is down."})
    server.script("POST", f"/v1/eval-runs/{_RUN}/results", away, (0, {}), away, (200, {}))
    assert looptrace.evaluate("faq", lambda country: country, name="capitals").unsent == 0
    keys = [headers["Idempotency-Key"] for _, path, _, _, headers in server.requests if path.endswith("/results")]
    assert len(keys) == 4
    assert len(sent(server)) == 3


def test_says_what_could_not_be_sent(server: DatasetServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.headers["Retry-After"] = "0"
    server.script("POST", f"/v1/eval-runs/{_RUN}/results", (503, {"title": "Service Unavailable"}))
    server.script("POST", f"/v1/eval-runs/{_RUN}/_actions/finish", (503, {"title": "Service Unavailable"}))
    result = looptrace.evaluate("faq", lambda country: country, name="capitals", graders=[correct])
    assert (result.unsent, result.accounting) == (3, None)
    assert result.scores["correct"].mean == 0
    lines = str(result).splitlines()
    assert "Looptrace has not summarized the results: these means are of this program" in lines
    assert "3 results were not sent: HTTP 503 Service Unavailable" in lines
    assert "the eval-run could not be finished: HTTP 503 Service Unavailable" in lines
    with pytest.raises(ValueError, match="with all results sent"):
        looptrace.gate(result, "b", metric="correct", margin=0, on_inconclusive="extend")


def test_what_is_printed_does_not_control_the_terminal(server: DatasetServer) -> None:
    def answer(country: str) -> str:
        raise ValueError("\x1b[31mred\nand more")

    result = looptrace.evaluate("faq", answer)
    assert "capital-0, repeat 1, the task failed: ValueError: \\x1b[31mred and more" in str(result)


def test_stops_when_somebody_cancels_it(server: DatasetServer) -> None:
    path = f"/v1/eval-runs/{_RUN}/results"
    server.script("POST", path, (409, {"title": "Conflict", "detail": "It has ended.", "code": "evaluation_finished"}))
    server.script("GET", f"/v1/eval-runs/{_RUN}", (200, eval_run(**{**summarized(), "status": "cancelled"})))
    refused = threading.Event()
    calls = 0

    def answer(country: str) -> str:
        nonlocal calls
        calls += 1
        if calls > 1:
            while path not in paths(server):
                refused.wait(0.01)
            refused.wait(0.2)
        return country

    result = looptrace.evaluate("faq", answer, repeats=10, concurrency=1)
    assert calls < 30
    assert result.unsent == len(result.results)
    assert "status: cancelled" in str(result)
    assert not any(each.endswith("/finish") for each in paths(server))


def test_an_interrupt_cancels_and_keeps_what_is_there(server: DatasetServer) -> None:
    async def answer(country: str) -> str:
        if country == "Spain":
            while not sent(server):
                await asyncio.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)
        return country

    # A shell that starts the tests in the background lets them ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            looptrace.evaluate("faq", answer)
    finally:
        signal.signal(signal.SIGINT, before)
    assert {key for key, _ in sent(server)} == {"i-0", "i-1"}
    assert paths(server)[-1] == f"/v1/eval-runs/{_RUN}/_actions/cancel"


def test_branch_and_commit(server: DatasetServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    found = origin()
    assert found.commit is not None
    assert len(found.commit) == 40
    monkeypatch.setenv("GITHUB_SHA", "abc")
    monkeypatch.setenv("GITHUB_REF_NAME", "topic")
    assert (origin().branch, origin().commit, base_branch()) == ("topic", "abc", "main")
    monkeypatch.setenv("GITHUB_REF_TYPE", "tag")
    assert origin().branch is None
    monkeypatch.setenv("GITHUB_HEAD_REF", "main")
    monkeypatch.setenv("GITHUB_BASE_REF", "next")
    assert (origin().branch, base_branch()) == ("main", "next")
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"head": {"repo": {"full_name": "other/agent"}}}}))
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    monkeypatch.setenv("GITHUB_REPOSITORY", "ours/agent")
    assert origin().branch == "other/agent:main"
    monkeypatch.setenv("GITHUB_REPOSITORY", "other/agent")
    assert origin().branch == "main"
    for name in [name for name in os.environ if name.startswith("GITHUB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CI_COMMIT_SHA", "def")
    monkeypatch.setenv("CI_COMMIT_BRANCH", "topic")
    assert (origin().branch, origin().commit) == ("topic", "def")
    monkeypatch.setenv("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "main")
    monkeypatch.setenv("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", "other/agent")
    monkeypatch.setenv("CI_MERGE_REQUEST_PROJECT_PATH", "ours/agent")
    assert origin().branch == "other/agent:main"
