"""Evaluations on a real installation."""

from __future__ import annotations

import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from models import ANSWER, INPUT, MODEL_SUFFIX, OUTPUT, Models
from product import Product, checkout, child_environment

import looptrace

pytestmark = pytest.mark.product

Program = Callable[..., Any]

_CASES: list[dict[str, Any]] = [
    {"key": f"sum-{number}", "input": {"a": number, "b": 2}, "reference_output": number + 2} for number in range(20)
]


@pytest.fixture
def name(product: Product) -> Iterator[str]:
    """A name for an evaluation that nobody else has."""
    looptrace.init(endpoint=product.url, api_key=product.key, project=product.project, instrument=False)
    yield f"sums-{uuid.uuid4()}"
    looptrace.shutdown(10)


def add(a: int, b: int) -> int:
    return a + b


def correct(output: int, reference_output: int) -> bool:
    return output == reference_output


def test_an_eval_run_with_runs(name: str, product: Product) -> None:
    def flaky(a: int, b: int) -> int:
        if a == 3:
            raise TimeoutError("the calculator did not answer")
        return a + b + (a == 4)

    def near(output: int, reference_output: int) -> dict[str, Any] | None:
        if reference_output == 7:
            return None
        if reference_output == 8:
            raise KeyError("x")
        return {"score": 1 - abs(output - reference_output) / 10, "reason": "distance"}

    result = looptrace.evaluate(_CASES, flaky, graders=[correct, near], name=name, repeats=2, branch="topic",
                                commit="abc", metadata={"model": "none"})  # fmt: skip
    print(result)
    assert (result.status, result.unsent, result.problems) == ("succeeded", 0, [])
    assert result.accounting == {
        "items": 20, "scored": 19, "target_failed": 1, "judge_failed": 0, "skipped": 0, "pending": 0,
    }  # fmt: skip
    score = result.scores["correct"]
    assert score.items == 19
    assert score.mean == pytest.approx(18 / 19)
    assert score.pass_rate == pytest.approx(36 / 38)
    assert score.interval is not None
    assert score.interval[0] < 18 / 19 <= score.interval[1] + 1e-9
    assert result.scores["near"].items == 17
    stored: Any = product.get(f"/v1/eval-runs/{result.id}")
    assert (stored["branch"], stored["commit"], stored["metadata"]) == ("topic", "abc", {"model": "none"})
    assert stored["primary_metric"] == "correct"
    items: Any = product.get(f"/v1/eval-runs/{result.id}/items?limit=500")
    by_key = {item["key"]: item for item in items["data"]}
    assert by_key["sum-3"]["status"] == "target_failed"
    failed = by_key["sum-3"]["repeats"][0]["result"]
    assert failed["error"] == {"code": "TimeoutError", "detail": "the calculator did not answer"}
    given = by_key["sum-6"]["repeats"][1]["result"]
    assert given["output"] == 8
    assert [(score["name"], score["error"]) for score in given["scores"]] == [
        ("correct", None), ("near", "KeyError: 'x'"),
    ]  # fmt: skip
    run = product.run(given["run_id"])
    assert (run["source"], run["name"], run["status"]) == ("evaluation", name, "ok")
    assert run["metadata"] == {
        "eval_run_id": result.id, "item_id": by_key["sum-6"]["item_id"], "item_key": "sum-6", "repeat": "2",
    }  # fmt: skip
    assert product.run(failed["run_id"])["status"] == "error"


def test_graders_of_looptrace(name: str) -> None:
    grader = {"name": "exact", "type": "string_check", "operation": "eq", "input": "{{sample.output_text}}",
              "reference": "{{item.reference_output}}"}  # fmt: skip
    result = looptrace.evaluate(_CASES, lambda a, b: a + b + (a == 4), graders=[grader, correct], name=name)
    print(result)
    assert result.problems == []
    assert {name: score.items for name, score in result.scores.items()} == {"exact": 20, "correct": 20}
    assert [(failure.key, failure.reason.partition(":")[0]) for failure in result.failures] == [
        ("sum-4", "correct"), ("sum-4", "exact"),
    ]  # fmt: skip


def test_costs_and_tool_calls_of_runs(name: str) -> None:
    """The results have neither: Looptrace reads them from the runs."""

    def agent(a: int, b: int) -> int:
        with looptrace.span("add", "tool", input={"a": a, "b": b}) as tool:
            tool.set_output(a + b)
        with looptrace.span("chat", "llm") as call:
            call.set_model("gpt-4o-mini", provider="openai")
            call.set_usage(input_tokens=1000 + 50 * a, output_tokens=100)
        return a + b

    def twice(a: int, b: int) -> int:
        return agent(a, agent(a, b) - a)

    path = {"name": "path", "type": "tool_use", "tools": ["add"], "min": 1, "max": 1}
    first = looptrace.evaluate(_CASES, agent, graders=[correct, path], name=name, branch="main")
    second = looptrace.evaluate(_CASES, twice, graders=[correct, path], name=name, branch="topic")
    print(first, second)
    assert (first.problems, second.problems) == ([], [])
    assert (first.scores["path"].mean, second.scores["path"].mean) == (1, 0)
    same = looptrace.gate(first, first, metric="cost_usd", margin=0.0001)
    print(same)
    assert same.details["candidate"]["n"] == 20
    dearer = looptrace.gate(second, first, metric="cost_usd", margin=0.0001)
    print(dearer)
    assert dearer.decision == "regression"


def test_a_gate(name: str) -> None:
    def evaluate(task: Any, branch: str, repeats: int = 1) -> looptrace.Evaluation:
        return looptrace.evaluate(_CASES, task, graders=[correct], name=name, branch=branch, repeats=repeats)

    first = evaluate(add, "main")
    with pytest.raises(looptrace.EvaluationNotFound, match=f"no other eval-run of {name} succeeded on the branch main"):
        first.require("correct", margin=0.02, branch="main")
    same = evaluate(add, "topic")
    passed = same.require("correct", margin=0.2, branch="main")
    print(passed)
    assert (passed.decision, passed.candidate, passed.baseline, passed.difference) == ("pass", same.id, first.id, 0)
    worse = evaluate(lambda a, b: a + b + a % 2, "topic")
    with pytest.raises(looptrace.GateFailed, match=r"^Regression: ") as failed:
        worse.require("correct", no_worse_than=first, margin=0.1)
    assert failed.value.result.difference == pytest.approx(-0.5)
    one_wrong = evaluate(lambda a, b: a + b + (a == 4), "topic")
    unsure = looptrace.gate(one_wrong, branch="main", metric="correct", margin=0.06)
    print(unsure)
    assert (unsure.decision, unsure.passed) == ("inconclusive", False)
    assert looptrace.gate(one_wrong.id, first.id, metric="correct", margin=0.06, on_inconclusive="warn").passed

    def broken(a: int, b: int) -> int:
        if a == 7:
            raise ValueError(a)
        return a + b

    lost = looptrace.gate(evaluate(broken, "topic"), first, metric="correct", margin=1)
    assert (lost.decision, lost.passed) == ("incomplete", False)


def test_an_outage_loses_nothing(name: str, product: Product) -> None:
    away, back = threading.Event(), threading.Event()

    def slow(a: int, b: int) -> int:
        if a > 9:
            away.set()
            assert back.wait(120)
        return a + b

    with ThreadPoolExecutor(1) as pool:
        evaluation = pool.submit(looptrace.evaluate, _CASES, slow, graders=[correct], name=name, concurrency=4)
        assert away.wait(60)
        product.stop()
        back.set()
        product.start()
        result = evaluation.result(180)
    print(result)
    assert (result.status, result.unsent) == ("succeeded", 0)
    assert result.accounting is not None
    assert result.accounting["scored"] == 20


def test_model_calls(program: Program, product: Product, models: Models) -> None:
    *printed, last = program(
        "evaluation_program.py", **product.environment(), **models.environment()
    ).stdout.splitlines()
    one = {"input_tokens": INPUT, "output_tokens": OUTPUT}
    two = {"input_tokens": 2 * INPUT, "output_tokens": 2 * OUTPUT}
    model = f"gpt-5-mini{MODEL_SUFFIX}"
    assert printed == [
        "calls-0 None None", f"calls-1 {model} {one}", f"calls-2 {model} {two}",
        f"calls-0 {ANSWER} None {one}", f"calls-1 {ANSWER} None {one}", "calls-2 None InternalServerError None",
        "pass",
    ]  # fmt: skip
    first, _, problems = last.partition(" ")
    assert problems == "[] []"
    items: Any = product.get(f"/v1/eval-runs/{first}/items")
    result = next(item["repeats"][0]["result"] for item in items["data"] if item["key"] == "calls-2")
    assert (result["usage"]["output_tokens"], result["model"]) == (2 * OUTPUT, model)
    run = product.run(result["run_id"], spans=4)
    assert (run["llm_call_count"], run["usage"]["output_tokens"], run["source"]) == (2, 2 * OUTPUT, "evaluation")


def test_the_command(name: str, product: Product) -> None:
    def gate(candidate: looptrace.Evaluation, *arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [checkout() / "_build" / "looptrace", "gate", "--candidate", candidate.id, *arguments],
            env=child_environment(**{**product.environment(), "LOOPTRACE_API_KEY": product.create_key("evals:read")}),
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        print(done.stdout, done.stderr)
        return done.returncode, done.stdout + done.stderr

    def evaluate(task: Any, branch: str) -> looptrace.Evaluation:
        return looptrace.evaluate(_CASES, task, graders=[correct], name=name, branch=branch)

    def broken(a: int, b: int) -> int:
        if a == 7:
            raise ValueError(a)
        return a + b

    first = evaluate(add, "main")
    status, output = gate(first, "--metric", "correct=0.2")
    assert (status, "no other eval-run of" in output) == (2, True)
    same = evaluate(add, "topic")
    status, output = gate(same, "--metric", "correct=0.2", "--metric", "failures=0.3")
    assert (status, f"/eval-runs/{first.id}" in output) == (0, True)
    assert gate(evaluate(lambda a, b: a + b + a % 2, "topic"), "--metric", "correct=0.1")[0] == 1
    assert gate(evaluate(broken, "topic"), "--metric", "correct=0.2")[0] == 2
    assert gate(same, "--metric", "correct=0.01")[0] == 3
    status, output = gate(same, "--metric", "correct=0.01", "--on-inconclusive", "warn", "--format", "markdown")
    assert status == 0
    assert "| correct | 1 | 1 | 0 | -0.161" in output
    assert gate(same, "--metric", "nothing=0.01")[0] == 2


async def test_a_gate_is_extended_until_it_is_decided(name: str) -> None:
    calls: dict[int, int] = {}

    async def noisy(a: int, b: int) -> int:
        """Is right in all but the first call of every third item."""
        calls[a] = calls.get(a, 0) + 1
        return a + b + (calls[a] == 1 and a % 3 == 0)

    base = await looptrace.evaluate_async(_CASES, add, graders=[correct], name=name, branch="main", repeats=3)
    candidate = await looptrace.evaluate_async(_CASES, noisy, graders=[correct], name=name, branch="topic", repeats=2)
    first = await looptrace.gate_async(candidate, branch="main", metric="correct", margin=0.3)
    assert first.decision == "inconclusive"
    print(first, first.details["repeats_needed"])
    result = await looptrace.gate_async(candidate, branch="main", metric="correct", margin=0.3,
                                        on_inconclusive="extend", max_repeats=20)  # fmt: skip
    print(result)
    assert (result.decision, result.baseline) == ("pass", base.id)
    assert result.looks > 1
    assert result.candidate != candidate.id
    # What was there was not made again.
    assert set(calls.values()) == {result.details["candidate"]["n"] and calls[0]}
    assert calls[0] <= 20
