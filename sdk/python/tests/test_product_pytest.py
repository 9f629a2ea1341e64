"""The pytest plugin: a project's tests against a real installation."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from product import Product, checkout, child_environment

pytestmark = pytest.mark.product

_TESTS = """
import asyncio, pytest

def correct(output, reference_output):
    return output == reference_output

async def short(output):
    return {"score": 1.0 if len(output) < 6 else 0.25, "reason": "length"}

@pytest.mark.looptrace(name=NAME, repeats=2, graders=[correct, short], metadata={"model": "x"})
@pytest.mark.parametrize(("question", "reference_output"), [
    pytest.param("France?", "Paris", id="capital-fr"), pytest.param("Italy?", "Rome", id="capital-it"),
    pytest.param("Spain?", "Madrid", id="capital-es"), pytest.param("Peru?", "Lima", id="peru", marks=SKIP),
    pytest.param("X?", "", id="boom")])
async def test_capital(looptrace_case, question, reference_output):
    await asyncio.sleep(0)
    if question == "X?":
        raise TimeoutError("no answer")
    looptrace_case.output = {"France?": "Paris", "Italy?": "Rom", "Spain?": "Madrid"}[question]
    looptrace_case.score("polite", 0.5, reason="so so")
    assert looptrace_case.output == reference_output

def test_plain():
    pass
"""


def run(
    folder: Path, *arguments: str, environment: dict[str, str], tests: str = _TESTS, name: str = "n"
) -> tuple[int, str]:  # fmt: skip
    """Runs pytest in the folder. Returns its exit status and output."""
    text = tests.replace("NAME", repr(name)).replace("SKIP", "pytest.mark.skip(reason='later')")
    (folder / "test_agent.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    variables = {name: "" for name in os.environ if name.startswith(("GITHUB_", "CI_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--strict-markers", *arguments],
        cwd=folder, env=child_environment(**variables, **environment), capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def eval_runs(product: Product, name: str) -> list[dict[str, Any]]:
    page: Any = product.get(f"/v1/eval-runs?name={name}")
    return list(page["data"])


def items_of(product: Product, eval_run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    page: Any = product.get(f"/v1/eval-runs/{eval_run['id']}/items?limit=500")
    return {item["key"]: item for item in page["data"]}


@pytest.fixture
def name() -> str:
    return f"capitals-{uuid.uuid4()}"


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_tests_become_an_eval_run(product: Product, name: str, tmp_path: Path, workers: tuple[str, ...]) -> None:
    environment = {**product.environment(), "GITHUB_SHA": "abc", "GITHUB_REF_NAME": "topic"}
    status, output = run(tmp_path, *workers, environment=environment, name=name)
    print(output)
    assert status == 1, output  # tests failed
    assert "4 failed, 5 passed, 2 skipped" in output
    [eval_run] = eval_runs(product, name)
    assert (eval_run["status"], eval_run["branch"], eval_run["commit"]) == ("succeeded", "topic", "abc")
    assert (eval_run["repeats"], eval_run["primary_metric"], eval_run["metadata"]) == (2, "pass", {"model": "x"})
    assert f"/eval-runs/{eval_run['id']}" in output
    assert "4 items: 3 scored, 1 target failed, 0 judge failed, 0 skipped, 0 pending" in output
    assert "1 items were skipped, and are not in the eval-run" in output
    items = items_of(product, eval_run)
    assert sorted(items) == ["boom", "capital-es", "capital-fr", "capital-it"]
    assert items["capital-it"]["input"] == {"question": "Italy?"}
    assert items["capital-it"]["reference_output"] == "Rome"
    wrong = items["capital-it"]["repeats"][1]["result"]
    assert wrong["output"] == "Rom"
    scores = {score["name"]: score for score in wrong["scores"]}
    assert (scores["pass"]["pass"], scores["correct"]["pass"]) == (False, False)
    assert "assert 'Rom' == 'Rome'" in scores["pass"]["reason"]
    assert (scores["short"]["score"], scores["polite"]["score"]) == (1, 0.5)
    assert items["boom"]["repeats"][0]["result"]["error"] == {"code": "TimeoutError", "detail": "no answer"}
    run_ids = {repeat["result"]["run_id"] for item in items.values() for repeat in item["repeats"]}
    assert len(run_ids) == 8
    recorded = product.run(wrong["run_id"])
    assert (recorded["source"], recorded["name"], recorded["status"]) == ("evaluation", name, "error")
    assert recorded["metadata"] == {"evaluation": name, "item_key": "capital-it", "repeat": "2"}
    dataset: Any = product.get(f"/v1/datasets?name={name}")
    assert dataset["data"][0]["item_count"] == 5


def test_a_full_run_removes_items_and_a_filtered_one_does_not(product: Product, name: str, tmp_path: Path) -> None:
    def keys() -> list[str]:
        dataset: Any = product.get(f"/v1/datasets?name={name}")
        page: Any = product.get(f"/v1/datasets/{dataset['data'][0]['id']}/items")
        return sorted(item["key"] for item in page["data"])

    environment = product.environment()
    run(tmp_path, environment=environment, name=name)
    everything = ["boom", "capital-es", "capital-fr", "capital-it", "peru"]
    assert keys() == everything
    fewer = _TESTS.replace('pytest.param("X?", "", id="boom")', "")
    for narrowed in (["-k", "capital-fr"], ["test_agent.py::test_capital"]):
        run(tmp_path, *narrowed, environment=environment, tests=fewer, name=name)
        assert keys() == everything
    run(tmp_path, environment=environment, tests=fewer, name=name)
    assert keys() == ["capital-es", "capital-fr", "capital-it", "peru"]
    assert len(eval_runs(product, name)) == 4
    assert sorted(items_of(product, eval_runs(product, name)[2])) == ["capital-fr"]


def test_stopped_early_is_pending(product: Product, name: str, tmp_path: Path) -> None:
    status, output = run(tmp_path, "-x", environment=product.environment(), name=name)
    assert status == 1
    assert "5 items: 1 scored, 0 target failed, 0 judge failed, 0 skipped, 4 pending" in output, output


def test_an_interrupt_cancels_the_eval_run(product: Product, name: str, tmp_path: Path) -> None:
    tests = _TESTS.replace('raise TimeoutError("no answer")', "raise KeyboardInterrupt")
    status, output = run(tmp_path, environment=product.environment(), tests=tests, name=name)
    assert status == 2, output
    [eval_run] = eval_runs(product, name)
    assert (eval_run["status"], eval_run["accounting"]["scored"], eval_run["accounting"]["pending"]) == (
        "cancelled",
        3,
        1,
    )
    assert "status: cancelled" in output


def test_another_dataset_is_left_alone(product: Product, name: str, tmp_path: Path) -> None:
    body = {"project_id": product.project, "name": name}
    dataset = product.post("/v1/datasets", body)
    product.post(f"/v1/datasets/{dataset['id']}/items", {"key": "mine", "input": 1})
    status, output = run(tmp_path, environment=product.environment(), name=name)
    assert status == 3
    assert f"the 8 results were not sent: the dataset {name} has 1 items that do not come from pytest" in output
    assert eval_runs(product, name) == []


def test_offline(tmp_path: Path) -> None:
    for arguments, environment in ((["--looptrace-offline"], {}), ([], {"LOOPTRACE_OFFLINE": "1"})):
        status, output = run(tmp_path, *arguments, environment=environment)
        assert status == 1
        assert "4 failed, 5 passed, 2 skipped" in output
        assert "offline: 5 items ran as plain tests, and nothing was recorded or sent" in output


def test_what_is_wrong_is_said(product: Product, tmp_path: Path) -> None:
    online = product.environment()
    status, output = run(tmp_path, environment={**online, "LOOPTRACE_ENDPOINT": "http://127.0.0.1:1"})
    assert (status, "run the tests without a server: --looptrace-offline" in output) == (4, True), output
    status, output = run(tmp_path, environment={**online, "LOOPTRACE_API_KEY": "lt_wrong"})
    assert (status, "HTTP 401" in output) == (4, True), output
    status, output = run(tmp_path, environment={**online, "LOOPTRACE_OFFLINE": "perhaps"})
    assert (status, "LOOPTRACE_OFFLINE='perhaps' is neither 1 nor 0" in output) == (4, True), output
    for tests, said in (
        (_TESTS.replace("repeats=2", "repeat=2"), "looptrace has no repeat; it has name, dataset, repeats,"),
        (_TESTS.replace("repeats=2", "repeats=0"), "looptrace(repeats=0) is not a number from 1 to 100"),
        (
            _TESTS.replace("graders=[correct", "graders=[correct, correct"),
            "two graders have the name correct",
        ),
        (_TESTS.replace('"France?"', "{1}"), "the parameter question is a set, which is not JSON"),
        (_TESTS + "@pytest.mark.looptrace('x')\ndef test_b(): pass\n", "looptrace takes arguments by name"),
        (_TESTS + "def test_b(looptrace_case): pass\n", "needs the marker: @pytest.mark.looptrace"),
    ):
        status, output = run(tmp_path, environment=online, tests=tests)
        assert said in output, output
        assert status not in (0, 5), output


def test_the_workflow(product: Product, name: str, tmp_path: Path) -> None:
    """Runs the steps of docs/ci/looptrace-gate.yml for a push to main, a pull request, and one from a fork."""
    workflow = yaml.safe_load((checkout() / "docs" / "ci" / "looptrace-gate.yml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    steps = {step["name"]: step for step in workflow["jobs"]["evaluate"]["steps"] if "name" in step}
    (tmp_path / "tests" / "evals").mkdir(parents=True)
    text = (
        _TESTS.replace("NAME", repr(name)).replace("SKIP", "()").replace("async def", "def").replace("    await", "#")
    )
    (tmp_path / "tests" / "evals" / "test_agent.py").write_text(text.replace("async def short", "def short"))

    def run_steps(names: list[str], **environment: str) -> tuple[list[int], str]:
        summary = tmp_path / "summary.md"
        summary.write_text("")
        cleared = {each: "" for each in os.environ if each.startswith(("GITHUB_", "CI_"))}
        path = f"{Path(sys.executable).parent}:{checkout() / '_build'}:{os.environ['PATH']}"
        variables = child_environment(**cleared, **environment, PATH=path, GITHUB_STEP_SUMMARY=str(summary))
        statuses = []
        for each in names:
            command = steps[each]["run"].replace("--name support-agent", f"--name {name}")
            done = subprocess.run(["bash", "-e", "-c", command], cwd=tmp_path, env=variables, check=False)  # noqa: S607
            statuses.append(done.returncode)
        return statuses, summary.read_text()

    online = {**product.environment(), "LOOPTRACE_OFFLINE": "0"}
    assert run_steps(["Evaluate"], **online, GITHUB_SHA="a1", GITHUB_REF_NAME="main")[0] == [0]
    pull = {"GITHUB_SHA": "b1", "GITHUB_REF_NAME": "7/merge", "GITHUB_HEAD_REF": "topic", "GITHUB_BASE_REF": "main"}
    statuses, summary = run_steps(["Evaluate", "Gate", "Summary"], **online, **pull)
    # A test raises, so results are missing.
    assert statuses == [0, 2, 0]
    assert "| pass | " in summary
    assert summary.count("/eval-runs/") == 2
    fork = {**pull, "LOOPTRACE_ENDPOINT": product.url, "LOOPTRACE_API_KEY": "", "LOOPTRACE_OFFLINE": "1"}
    statuses, summary = run_steps(["Evaluate", "Say that nothing was compared"], **fork)
    assert statuses == [0, 0]
    assert "nothing was compared" in summary
    assert len(eval_runs(product, name)) == 2
    unreachable = {**online, **pull, "LOOPTRACE_ENDPOINT": "http://127.0.0.1:1"}
    assert run_steps(["Evaluate", "Gate"], **unreachable)[0] == [1, 2]


def test_costs_nothing_without_evaluations(tmp_path: Path) -> None:
    program = "import sys\ndef test_a(): assert not any(name.split('.')[0] == 'looptrace' for name in sys.modules)\n"
    status, output = run(tmp_path, environment={}, tests=program)
    assert status == 0, output
    assert "looptrace" not in output
