"""Datasets of a real installation."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pytest
from product import Product, checkout

import looptrace

pytestmark = pytest.mark.product

Program = Callable[..., Any]


@pytest.fixture
def faq(product: Product) -> Iterator[looptrace.Dataset]:
    """An empty dataset."""
    looptrace.init(endpoint=product.url, api_key=product.key, project=product.project, instrument=False)
    yield looptrace.dataset(f"faq-{uuid.uuid4()}", create=True)
    looptrace.shutdown(10)


def keys(dataset: looptrace.Dataset, **filters: str) -> list[str | None]:
    return [item.key for item in dataset.items(**filters)]


def test_revisions(faq: looptrace.Dataset) -> None:
    assert (faq.revision, faq.item_count, list(faq)) == (0, 0, [])
    first: list[dict[str, Any]] = [
        {"key": "capital-fr", "input": {"question": "France?"}, "reference_output": "Paris", "split": "test"},
        {"key": "capital-it", "input": {"question": "Italy?"}, "tags": ["easy"], "metadata": {"source": "wiki"}},
    ]
    planned = faq.append(first, dry_run=True)
    assert (planned.added, planned.item_ids, faq.revision) == (2, [None, None], 0)
    written = faq.append(first, note="two capitals")
    assert (written.revision, written.added, written.updated, written.removed, written.unchanged) == (1, 2, 0, 0, 0)
    assert (faq.revision, len(faq)) == (1, 2)
    france, italy = faq
    assert france == looptrace.Item(
        {"question": "France?"}, "Paris", key="capital-fr", split="test", id=written.item_ids[0], revision_added=1
    )
    assert (italy.reference_output, italy.tags, italy.metadata) == (None, ["easy"], {"source": "wiki"})
    assert keys(faq, split="test") == keys(faq, search="france") == ["capital-fr"]
    assert keys(faq, tag="easy") == ["capital-it"]

    italy.reference_output = "Rome"
    updated = faq.upsert([france, italy, looptrace.Item("Spain?", key="capital-es")], base_revision=1)
    assert (updated.revision, updated.added, updated.updated, updated.unchanged) == (2, 1, 1, 1)
    assert [item.reference_output for item in faq] == ["Paris", "Rome", None]
    assert [item.revision_added for item in faq] == [1, 2, 2]

    old = faq.at(1)
    assert (len(old), [item.reference_output for item in old]) == (2, ["Paris", None])
    with pytest.raises(looptrace.DatasetError, match="would remove 2 items") as too_many:
        faq.replace([france], max_removed=1)
    assert too_many.value.code == "too_many_removed"
    assert faq.replace([france], max_removed=2).removed == 2
    assert (keys(faq), len(faq), len(faq.at(2)), len(faq.at(0))) == (["capital-fr"], 1, 3, 0)
    unchanged = faq.append([{"input": {"question": "France?"}, "reference_output": "Paris"}], dedupe=True)
    assert (unchanged.revision, unchanged.added, unchanged.unchanged) == (3, 0, 1)
    with pytest.raises(looptrace.DatasetNotFound, match="has no revision 9: its newest is 3"):
        faq.at(9)
    assert looptrace.dataset(faq.name).revision == 3


def test_refusals(faq: looptrace.Dataset, product: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    faq.append([{"key": "capital-fr", "input": "France?"}])
    with pytest.raises(
        looptrace.DatasetError, match=r"^HTTP 422 .*; items\[1\]\.key \(key capital-fr\): is in the dataset already"
    ):
        faq.append([{"input": "Italy?"}, {"key": "capital-fr", "input": "France?"}])
    assert len(looptrace.dataset(faq.name)) == 1
    with pytest.raises(looptrace.DatasetError, match="is now at revision 1") as stale:
        faq.append([{"input": 1}], base_revision=0)
    assert (stale.value.status, stale.value.code) == (409, "stale_base_revision")
    with pytest.raises(looptrace.DatasetError, match=r"items\[0\]\.split"):
        faq.append([{"input": 1, "split": " "}])
    with pytest.raises(looptrace.DatasetNotFound, match=f"did you mean {faq.name}"):
        looptrace.dataset(faq.name[:-1])
    looptrace.shutdown()
    monkeypatch.setenv("LOOPTRACE_ENDPOINT", product.url)
    for key, message in (
        ("lt_wrong", r"HTTP 401 .*: set LOOPTRACE_API_KEY to a key with the scope datasets:read$"),
        (product.create_key("runs:read"), r"HTTP 403 .*: the key needs the scope datasets:read$"),
    ):
        monkeypatch.setenv("LOOPTRACE_API_KEY", key)
        with pytest.raises(looptrace.DatasetError, match=message):
            looptrace.dataset(faq.name)
    monkeypatch.setenv("LOOPTRACE_API_KEY", product.create_key("datasets:read"))
    reader = looptrace.dataset(faq.name)
    with pytest.raises(looptrace.DatasetError, match=r"HTTP 403 .*: the key needs the scope datasets:write$"):
        reader.append([{"input": 1}])


def test_one_revision_is_read_while_others_write(faq: looptrace.Dataset) -> None:
    faq.append([{"key": f"k-{number}", "input": number} for number in range(1_200)])
    reading = faq.items()
    read = [next(reading).input]
    other = looptrace.dataset(faq.name)
    other.replace([{"key": "k-0", "input": "changed"}, {"key": "new", "input": "new"}])
    read += [item.input for item in reading]
    assert read == list(range(1_200))
    assert len(list(faq)) == len(faq) == 1_200
    assert [item.input for item in looptrace.dataset(faq.name)] == ["changed", "new"]
    faq.append([{"key": "mine", "input": "mine"}])
    assert (faq.revision, len(faq), keys(faq)) == (3, 3, ["k-0", "new", "mine"])


def test_largest_write_is_one_revision(faq: looptrace.Dataset) -> None:
    written = faq.append({"key": f"k-{number}", "input": {"text": "ä" * 400}} for number in range(10_000))
    assert (written.revision, written.added, len(set(written.item_ids))) == (1, 10_000, 10_000)
    assert len(list(faq)) == 10_000
    with pytest.raises(ValueError, match="looptrace import datasets FILE"):
        faq.append({"input": number} for number in range(10_001))
    assert looptrace.dataset(faq.name).revision == 1


def test_frame(faq: looptrace.Dataset) -> None:
    frame = pd.DataFrame({
        "number": [1, 2], "question": ["France?", "Italy?"], "answer": ["Paris", None], "score": [0.5, float("nan")],
        "fold": pd.Categorical(["test", None]), "asked": pd.to_datetime(["2026-01-02", None]),
    })  # fmt: skip
    written = faq.upsert(
        frame, input=["question"], reference_output="answer", metadata=["score", "asked"], key="number", split="fold"
    )
    assert written.added == 2
    first, second = faq
    assert (first.key, first.input, first.reference_output) == ("1", {"question": "France?"}, "Paris")
    assert (first.metadata, first.split) == ({"score": 0.5, "asked": "2026-01-02T00:00:00"}, "test")
    assert (second.reference_output, second.metadata, second.split) == (None, {"score": None, "asked": None}, None)
    copy = looptrace.dataset(faq.name + "-copy", create=True)
    copy.append(pd.DataFrame(map(vars, faq)))
    assert [vars(item) | {"id": None} for item in copy] == [vars(item) | {"id": None} for item in faq]


def test_document(program: Program, product: Product) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (checkout() / "docs" / "datasets.md").read_text(), re.DOTALL)
    assert program("".join(blocks), **product.environment()).stdout.splitlines() == [
        "1 capital-fr What is the capital of France? Paris", "1 capital-it What is the capital of Italy? None",
        "1 2", "3 2",
    ]  # fmt: skip


def test_created_by_several_at_once(faq: looptrace.Dataset) -> None:
    name = faq.name + "-together"
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: looptrace.dataset(name, create=True), range(8)))
    assert len({each.id for each in found}) == 1
