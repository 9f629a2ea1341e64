"""Work of a real installation."""

from __future__ import annotations

import re
import uuid

import pytest
from product import Product

import looptrace
from looptrace import _work

pytestmark = pytest.mark.product


def test_listed_and_cancelled(product: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in product.environment().items():
        monkeypatch.setenv(name, value)
    numbers = looptrace.dataset(f"numbers-{uuid.uuid4()}", create=True)
    numbers.append([{"input": 1}, {"input": 2}])
    # It waits for results.
    made = product.post(
        "/v1/eval-runs",
        {"project_id": product.project, "dataset_id": numbers.id, "name": "sums", "target": {"external": True}},
    )

    def found(**filters: str) -> list[looptrace.Work]:
        return [each for each in looptrace.work(**filters) if each.dataset_id == numbers.id]  # type: ignore[arg-type]

    [running] = found(state="open", kind="eval_run")
    assert (running.id, running.kind, running.name, running.status) == (made["id"], "eval_run", "sums", "running")
    assert (running.project_id, running.created_by, running.waits) == (product.project, "sdk", None)
    assert running.progress == looptrace.WorkProgress("outputs", 0, 2)
    assert found(kind="replay") == []
    running.cancel()
    assert found(state="open") == []
    [ended] = found(state="ended", project=product.project)
    assert (ended.id, ended.status) == (running.id, "cancelled")
    assert ended.finished_at is not None
    monkeypatch.setenv("LOOPTRACE_API_KEY", product.create_key("evals:read"))
    with pytest.raises(looptrace.WorkError, match=r"^HTTP 403 .*: the key needs the scopes datasets:read, evals:read"):
        list(looptrace.work())


def test_every_kind_has_its_operation(product: Product) -> None:
    document = product.get("/v1/openapi.json")
    assert document is not None
    assert set(_work._CANCEL) == set(document["components"]["schemas"]["WorkKind"]["enum"])
    # The names of parameters differ.
    known = {re.sub("{.*?}", "{}", path): operations for path, operations in document["paths"].items()}
    operations = {kind: known[re.sub("{.*?}", "{}", path)]["post"] for kind, path in _work._CANCEL.items()}
    assert {kind: operation["operationId"] for kind, operation in operations.items()} == {
        "import": "cancelImport", "near_duplicate_check": "cancelNearDuplicateCheck", "comparison": "cancelComparison",
        "eval_run": "cancelEvalRun", "replay": "cancelReplay", "replay_batch": "cancelReplayBatch",
        "diagnosis": "cancelDiagnosis",
    }  # fmt: skip
