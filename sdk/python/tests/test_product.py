"""Tests that send to a real installation and read back over REST."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from models import ANSWER, INPUT, OUTPUT, Models
from product import Product, wait

import looptrace

pytestmark = pytest.mark.product


Program = Callable[..., Any]


@pytest.fixture
def recording(product: Product) -> Iterator[Product]:
    looptrace.init(endpoint=product.url, api_key=product.key, project=product.project, instrument=False)
    yield product
    looptrace.shutdown(10)


def test_a_run_as_the_product_shows_it(recording: Product) -> None:
    seen: list[str | None] = []

    @looptrace.agent("planner")
    def plan(question: str) -> str:
        seen.extend([looptrace.current_run_id(), looptrace.run_url()])
        with looptrace.span("think", kind="llm", input=question) as call:
            call.set_model("gpt-5", provider="openai", answered="gpt-5-2026-01-01")
            call.set_usage(input_tokens=12, output_tokens=3, cache_read_tokens=4)
            call.set_output("call the tool")
        return ", ".join(stream(weather("Paris")))

    @looptrace.tool
    def weather(city: str) -> dict[str, str]:
        looptrace.score("useful", 0.5, of="run")
        return {city: "rain"}

    @looptrace.observe
    def stream(found: dict[str, str]) -> Iterator[str]:
        yield from found.values()

    with looptrace.session("s-1"), looptrace.user("u-1"), looptrace.tags("red"), looptrace.metadata(tier="gold"):
        assert plan("Weather?") == "rain"
    assert looptrace.flush(10)
    run_id, url = seen
    assert run_id is not None
    assert url == f"{recording.url}/p/{recording.project}/runs/{run_id}"
    run = recording.run(run_id, spans=4)
    assert (run["name"], run["kind"], run["status"]) == ("invoke_agent planner", "agent", "ok")
    assert (run["session_id"], run["user_id"], run["tags"]) == ("s-1", "u-1", ["red"])
    assert (run["metadata"], run["agent_name"], run["models"]) == ({"tier": "gold"}, "planner", ["gpt-5-2026-01-01"])
    assert (run["llm_call_count"], run["tool_call_count"], run["error_count"]) == (1, 1, 0)
    assert (run["usage"]["input_tokens"], run["usage"]["output_tokens"]) == (12, 3)
    assert run["outputs"] == "rain"
    by_name = {span["name"]: span for span in recording.spans(run_id)}
    tool = by_name["execute_tool weather"]
    assert (tool["kind"], tool["depth"]) == ("tool", 1)
    assert (tool["tool"]["name"], json.loads(tool["tool"]["arguments"])) == ("weather", {"city": "Paris"})
    assert json.loads(tool["tool"]["result"]) == {"Paris": "rain"}
    assert by_name["stream"]["outputs"] == "rain"
    assert by_name["think"]["provider"] == "openai"
    [score] = by_name["invoke_agent planner"]["events"]
    assert score["name"] == "gen_ai.evaluation.result"
    assert score["attributes"]["gen_ai.evaluation.score.value"] == 0.5
    assert [found["run_id"] for found in recording.runs(session_id="s-1")] == [run_id]


def test_a_failed_run(recording: Product) -> None:
    ids: list[str | None] = []

    @looptrace.tool
    def breaks() -> None:
        ids.append(looptrace.current_run_id())
        raise TimeoutError("no answer")

    @looptrace.agent
    def agent() -> None:
        breaks()

    with pytest.raises(TimeoutError):
        agent()
    assert looptrace.flush(10)
    run = recording.run(str(ids[0]), spans=2)
    assert (run["status"], run["error"]) == ("error", {"type": "TimeoutError", "message": "no answer"})
    failed = recording.spans(str(ids[0]))[-1]
    assert "in breaks" in failed["error"]["stack"]


def test_scores_of_a_run_that_is_over(recording: Product, caplog: pytest.LogCaptureFixture) -> None:
    with looptrace.span("root") as root, looptrace.span("inner") as inner:
        pass
    run_id, span_id = str(root.run_id), str(inner.span_id)
    assert looptrace.flush(10)
    # score_run waits until the run is stored.
    first = looptrace.score_run(run_id, "relevance", 0.25, comment="x" * 5000, timeout=30)
    assert first is not None
    assert looptrace.score_run(run_id, "relevance", 0.75, comment="after all", score_id=first) == first
    assert looptrace.score_run(run_id, "solved", True, span_id=span_id)
    assert looptrace.score_run(run_id, "verdict", "good", raises=True)
    scores = recording.get(f"/v1/runs/{run_id}/scores")["data"]  # type: ignore[index]
    assert [(score["name"], score["value"], score["comment"], score["span_id"]) for score in reversed(scores)] == [
        ("relevance", 0.75, "after all", None),
        ("solved", True, None, span_id),
        ("verdict", "good", None, None),
    ]
    assert {(score["source"], score["author"]["name"]) for score in scores} == {("program", "sdk")}
    assert not caplog.records
    missing = "01980000-0000-7000-8000-000000000000"
    assert looptrace.score_run(missing, "solved", True, timeout=0.5) is None
    assert "could not score a run: ScoreError: HTTP 404" in caplog.text
    for wrong, status in ((missing, 404), ("no id", None)):
        with pytest.raises(looptrace.ScoreError) as raised:
            looptrace.score_run(wrong, "solved", True, timeout=0.5, raises=True)
        assert raised.value.status == status
    with pytest.raises(looptrace.ScoreError) as raised:
        looptrace.score_run(run_id, "neither value nor comment", raises=True)
    assert raised.value.status == 422


def test_scores_without_init(product: Product, program: Program) -> None:
    recorded = "import looptrace; looptrace.init()\nwith looptrace.span('a') as span: print(span.run_id)"
    run_id = program(recorded, **product.environment()).stdout.strip()
    scored = f"import looptrace; print(looptrace.score_run({run_id!r}, 'solved', False, timeout=30))"
    score_id = program(scored, **product.environment()).stdout.strip()
    [score] = product.get(f"/v1/runs/{run_id}/scores")["data"]  # type: ignore[index]
    assert (score["id"], score["name"], score["value"]) == (score_id, "solved", False)


def test_thousands_of_spans(recording: Product) -> None:
    with looptrace.span("root") as root:
        for number in range(3000):
            with looptrace.span(f"step {number}", kind="task"):
                pass
    assert looptrace.flush(30)
    assert recording.run(str(root.run_id), spans=3001)["span_count"] == 3001


def of_session(product: Product, session: str, runs: int) -> list[dict[str, Any]]:
    """Waits for the runs of a session and returns them in start order."""

    def look() -> list[dict[str, Any]] | None:
        found = [run for run in product.runs(session_id=session) if run["status"] != "running"]
        return sorted(found, key=lambda run: run["start_time"]) if len(found) == runs else None

    return wait(f"{runs} runs of session {session}", look)


@pytest.mark.parametrize(
    ("name", "session", "failure"),
    [
        ("langgraph_program.py", "langgraph-session", "OpenAIAPIError"),
        ("openai_agents_program.py", "agents-session", "BadRequestError"),
    ],
)
def test_program(program: Program, product: Product, models: Models, name: str, session: str, failure: str) -> None:
    """Runs a small program on a real framework, with a normal, a streamed and a failed call."""
    done = program(name, **product.environment(), **models.environment())
    assert done.stdout.split("\n")[:2] == [ANSWER, failure]
    answered, streamed, failed = of_session(product, session, 3)
    for run in (answered, streamed):
        product.run(run["run_id"], spans=8)
        run = product.run(run["run_id"])
        assert run["status"] == "ok"
        assert run["user_id"] == "ada"
        assert "test" in run["tags"]
        # LangChain does not record the response model of streamed calls.
        assert run["models"][0].startswith("gpt-5-mini")
        assert (run["llm_call_count"], run["tool_call_count"]) == (2, 1)
        assert run["usage"]["input_tokens"] == 2 * INPUT
        assert run["usage"]["output_tokens"] == 2 * OUTPUT
        spans = product.spans(run["run_id"])
        calls = [span for span in spans if span["kind"] == "llm"]
        assert "weather" in json.dumps(calls[0]["input_messages"]).lower()
        assert ANSWER in json.dumps(calls[1]["output_messages"])
        [tool] = [span for span in spans if span["kind"] == "tool"]
        assert tool["tool"]["name"] == "get_weather"
        assert "Paris" in tool["tool"]["arguments"]
        assert "Rain in Paris" in tool["tool"]["result"]
        assert [event["name"] for event in tool["events"]] == ["gen_ai.evaluation.result"]
        [inner] = [span for span in spans if span["name"] == "look_outside"]
        assert inner["parent_span_id"] == tool["span_id"], "the span is a child of the framework's span"
    assert failed["error_count"] >= 1
    messages = json.dumps([span["error"] for span in product.spans(failed["run_id"])])
    assert "scripted failure" in messages
