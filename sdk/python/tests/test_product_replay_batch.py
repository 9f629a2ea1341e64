"""Batches of replays of a real installation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from product import Product

import looptrace

pytestmark = pytest.mark.product

_AGENT = """
import time
import looptrace

looptrace.init(instrument=False)

@looptrace.tool
def search(query):
    time.sleep(0.02)
    return "nothing found"

@looptrace.agent
def support(query):
    print(looptrace.current_run_id())
    return search(query)

for i in range(4):
    support(f"order {i}")
assert looptrace.flush(10)
"""

_SLOW = [{"target": {"kind": "tool", "name": "search"}, "set": {"timeout_ms": 1}}]
_FOUND = {
    "name": "found", "type": "string_check", "operation": "ilike", "input": "{{sample.output_text}}",
    "reference": "found",
}  # fmt: skip


def test_planned_made_and_read(product: Product, program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    ids = program(_AGENT, **product.environment()).stdout.split()
    for each in ids:
        product.run(each, 2)
    monkeypatch.setenv("LOOPTRACE_ENDPOINT", product.url)
    monkeypatch.setenv("LOOPTRACE_API_KEY", product.create_key("runs:read", "replays:read", "replays:write"))
    gone = "01985f6e-0000-7000-8000-000000000009"

    plan = looptrace.replay_batch_plan(_SLOW, run_ids=[*ids, gone], outcome=_FOUND)
    assert (plan.matched_runs, plan.calls, plan.cost_high_usd) == (5, 0, 0)
    assert [run.refused for run in plan.runs] == [None] * 4 + ["run_deleted"]
    assert plan.edits[0].startswith("Timeout of 1 ms in ")

    made = looptrace.replay_batch(_SLOW, run_ids=[*ids, gone], outcome=_FOUND, name="slow search")
    assert (made.name, made.status, made.result) == ("slow search", "queued", None)
    ended = made.wait(120)
    assert ended.status == "succeeded"
    assert ended.result is not None
    assert sum(ended.result.chosen.runs.values()) == 5
    assert ended.result.chosen.runs["not_replayable"] == 1
    assert str(ended.result) == ended.result.sentence
    assert ended.result.good is None
    assert ended.done == ended.total
    replayed = list(ended.runs())
    assert [run.run_id for run in replayed] == [*ids, gone]
    [refused] = ended.runs("not_replayable")
    assert (refused.run_id, refused.replay_id, refused.refused) == (gone, None, "run_deleted")
    assert looptrace.read_replay_batch(made.id) == ended

    found = looptrace.replay_batch_plan(_SLOW, run_filter="agent_name=support", max_runs=2)
    assert (found.matched_runs, len(found.runs)) == (4, 2)
    with pytest.raises(looptrace.ReplayError, match=r"run_filter: finds no run") as error:
        looptrace.replay_batch(_SLOW, run_filter="agent_name=nobody")
    assert error.value.code == "validation_failed"
    with pytest.raises(looptrace.ReplayNotFound):
        looptrace.read_replay_batch(gone)
    monkeypatch.setenv("LOOPTRACE_API_KEY", product.create_key("runs:read"))
    with pytest.raises(looptrace.ReplayError, match=r"needs the scopes replays:write and runs:read$"):
        looptrace.replay_batch_plan(_SLOW, run_ids=ids)
