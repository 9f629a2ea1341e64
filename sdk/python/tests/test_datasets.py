"""Datasets, against a scripted server."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from dataset_server import DatasetServer

import looptrace
from looptrace import _api
from looptrace._dataset_items import written_items

_ID = "01985f6e-0000-7000-8000-000000000007"
_PATH = f"/v1/datasets/{_ID}"
_FAQ = {"id": _ID, "name": "faq", "description": "Questions.", "revision": 3, "item_count": 2}
_WRITTEN = {"revision": 4, "added": 1, "updated": 0, "removed": 0, "unchanged": 0, "item_ids": ["i-1"]}


def item(number: int) -> dict[str, Any]:
    return {
        "id": f"i-{number}", "key": f"k-{number}", "input": {"question": number}, "reference_output": None,
        "metadata": {}, "split": "test", "tags": ["a"], "source_run_id": None, "source_span_id": None,
        "content_hash": "0" * 64, "revision_added": 1, "created_at": "2026-01-01T00:00:00Z",
    }  # fmt: skip


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[DatasetServer]:
    """A server with the dataset faq at revision 3."""
    started = DatasetServer()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("LOOPTRACE_API_KEY", "k")
    monkeypatch.setenv("LOOPTRACE_ENDPOINT", started.url)
    monkeypatch.delenv("LOOPTRACE_PROJECT", raising=False)
    monkeypatch.setattr(_api, "_PATIENCE", 1.0)
    started.script("GET", "/v1/datasets", (200, {"data": [_FAQ]}))
    started.script("POST", f"{_PATH}/items", (201, _WRITTEN))
    yield started
    started.stop()


def body(server: DatasetServer) -> dict[str, Any]:
    """Returns the body of the last request."""
    sent = server.requests[-1][3]
    assert sent is not None
    return sent


def test_found_by_its_name(server: DatasetServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPTRACE_PROJECT", "p-1")
    faq = looptrace.dataset("faq")
    assert (faq.id, faq.name, faq.description, faq.revision, faq.item_count, len(faq)) == (
        _ID,
        "faq",
        "Questions.",
        3,
        2,
        2,
    )
    [(method, path, query, _, headers)] = server.requests
    assert (method, path, query) == ("GET", "/v1/datasets", {"name": "faq", "project_id": "p-1"})
    assert headers["Authorization"] == "Bearer k"
    assert "Idempotency-Key" not in headers


def test_not_found_names_similar_ones(server: DatasetServer) -> None:
    others = [{"name": "FAQ-de"}, {"name": "faq-en"}, {"name": "triage"}]
    server.script("GET", "/v1/datasets", (200, {"data": []}), (200, {"data": others}))
    with pytest.raises(looptrace.DatasetNotFound) as error:
        looptrace.dataset("faq-d")
    assert str(error.value) == (
        "the project has no dataset faq-d: did you mean FAQ-de or faq-en? dataset('faq-d', create=True) creates it"
    )
    server.script("GET", "/v1/datasets", (200, {"data": []}))
    with pytest.raises(
        looptrace.DatasetNotFound, match=r"^the project has no dataset faq: dataset\('faq', create=True\)"
    ):
        looptrace.dataset("faq")
    server.script("GET", "/v1/datasets", (200, {"data": [_FAQ, _FAQ]}))
    with pytest.raises(looptrace.DatasetError, match=r"several projects .* set LOOPTRACE_PROJECT"):
        looptrace.dataset("faq")
    with pytest.raises(ValueError, match="name='' is not the name"):
        looptrace.dataset("")


def test_created_if_there_is_none(server: DatasetServer) -> None:
    server.script("GET", "/v1/datasets", (200, {"data": []}))
    server.script("GET", "/v1/me", (200, {"projects": [{"id": "p-2"}]}))
    server.script("POST", "/v1/datasets", (201, {**_FAQ, "revision": 0, "item_count": 0}))
    created = looptrace.dataset("faq", create=True)
    assert (created.revision, len(created), bool(created)) == (0, 0, True)
    assert body(server) == {"project_id": "p-2", "name": "faq"}
    server.script("GET", "/v1/datasets", (200, {"data": []}), (200, {"data": [_FAQ]}))
    server.script("POST", "/v1/datasets", (409, {"title": "Conflict", "code": "name_taken"}))
    assert looptrace.dataset("faq", create=True).revision == 3
    server.script("GET", "/v1/datasets", (200, {"data": []}))
    server.script("GET", "/v1/me", (200, {"projects": [{"id": "p-2"}, {"id": "p-3"}]}))
    with pytest.raises(looptrace.DatasetError, match="the key is for 2 projects: set LOOPTRACE_PROJECT"):
        looptrace.dataset("faq", create=True)


def test_pages_are_read_as_they_are_needed(server: DatasetServer) -> None:
    faq = looptrace.dataset("faq")
    pages = ({"data": [item(1), item(2)], "next_cursor": "c"}, {"data": [item(3)], "next_cursor": None})
    server.script("GET", f"{_PATH}/items", *((200, page) for page in pages))
    reading = faq.items(split="test", tag="a", search="q")
    assert len(server.requests) == 1
    assert next(reading) == looptrace.Item(
        {"question": 1}, key="k-1", split="test", tags=["a"], id="i-1", revision_added=1
    )  # fmt: skip
    assert len(server.requests) == 2
    assert [each.id for each in reading] == ["i-2", "i-3"]
    filters = {"split": "test", "tag": "a", "search": "q", "limit": "500"}
    assert [query for _, _, query, _, _ in server.requests[1:]] == [
        {**filters, "revision": "3"}, {**filters, "cursor": "c"},
    ]  # fmt: skip
    server.script("GET", f"{_PATH}/items", (200, pages[1]))
    assert [each.key for each in faq] == ["k-3"]


def test_fixed_revision(server: DatasetServer) -> None:
    faq = looptrace.dataset("faq")
    # Somebody has written in the meantime, so the list begins with a newer one.
    revisions = f"{_PATH}/revisions"
    server.script(
        "GET", revisions,
        (200, {"data": [{"revision": 3, "item_count": 2}]}), (200, {"data": [{"revision": 2, "item_count": 1}]}),
    )  # fmt: skip
    fixed = faq.at(2)
    assert (fixed.revision, len(fixed), repr(fixed)) == (2, 1, "<Dataset faq revision=2>")
    assert [query["offset"] for _, path, query, _, _ in server.requests if path == revisions] == ["1", "2"]
    server.script("GET", f"{_PATH}/items", (200, {"data": [item(1)], "next_cursor": None}))
    assert len(list(fixed)) == 1
    assert server.requests[-1][2]["revision"] == "2"
    with pytest.raises(ValueError, match=r"revision 2 stays as it is: write to looptrace.dataset\('faq'\)"):
        fixed.append([{"input": 1}])
    server.script("GET", revisions, (200, {"data": [{"revision": 3, "item_count": 2}]}))
    with pytest.raises(looptrace.DatasetNotFound, match="faq has no revision 9: its newest is 3"):
        faq.at(9)
    assert len(faq.at(0)) == 0
    for wrong in (-1, True, "2"):
        with pytest.raises(ValueError, match="is not the number of a revision"):
            faq.at(wrong)  # type: ignore[arg-type]


def test_write(server: DatasetServer) -> None:
    faq = looptrace.dataset("faq")
    written = faq.append([{"key": "capital-fr", "input": "?"}])
    assert written == looptrace.DatasetWritten(4, 1, 0, 0, 0, ["i-1"])
    assert body(server) == {"mode": "append", "items": [{"key": "capital-fr", "input": "?"}]}
    assert uuid.UUID(server.requests[-1][4]["Idempotency-Key"])
    assert (faq.revision, len(faq)) == (4, 3)
    # Others have written as well.
    server.script("POST", f"{_PATH}/items", (201, {**_WRITTEN, "revision": 6}))
    server.script("GET", f"{_PATH}/revisions", (200, {"data": [{"revision": 6, "item_count": 9}]}))
    faq.append([{"input": 1}])
    assert (faq.revision, len(faq)) == (6, 9)

    faq.upsert([looptrace.Item(1, 2, key="k")], dry_run=True, base_revision=4, note="n", dedupe=True)
    assert body(server) == {
        "mode": "upsert", "dedupe": "content", "dry_run": True, "base_revision": 4, "note": "n",
        "items": [{"key": "k", "input": 1, "reference_output": 2, "metadata": {}, "tags": []}],
    }  # fmt: skip
    faq.replace(({"input": number} for number in range(2)), max_removed=0)
    assert body(server) == {"mode": "replace", "max_removed": 0, "items": [{"input": 0}, {"input": 1}]}


def test_a_dry_run_moves_nothing(server: DatasetServer) -> None:
    faq = looptrace.dataset("faq")
    server.script("POST", f"{_PATH}/items", (200, {**_WRITTEN, "item_ids": [None]}))
    assert faq.append([{"input": 1}], dry_run=True).item_ids == [None]
    assert faq.revision == 3


def test_too_many_for_one_write(server: DatasetServer) -> None:
    faq = looptrace.dataset("faq")
    asked = len(server.requests)
    with pytest.raises(
        ValueError, match=r"more than 10,000 items.*nothing was written.*looptrace import datasets FILE"
    ):
        faq.append({"input": number} for number in range(1_000_000_000))
    with pytest.raises(
        ValueError, match=r"the 2 items are 17\.0 MiB, more than 16 MiB.*looptrace import datasets FILE"
    ):
        faq.append([{"input": "x" * (17 << 19)}] * 2)
    assert len(server.requests) == asked


def test_retries_are_one_request(server: DatasetServer) -> None:
    _api._PATIENCE = 30.0
    faq = looptrace.dataset("faq")
    under_way = {"title": "Conflict", "code": "request_under_way", "detail": "under way"}
    server.script(
        "POST", f"{_PATH}/items",
        (0, {}), (503, {"title": "Unavailable"}), (429, {"title": "Too Many"}), (409, under_way), (201, _WRITTEN),
    )  # fmt: skip
    assert faq.append([{"input": 1}]).revision == 4
    assert len({headers["Idempotency-Key"] for *_, headers in server.requests[1:]}) == 1
    assert len(server.requests) == 6
    server.script("GET", f"{_PATH}/items", (503, {}), (200, {"data": [], "next_cursor": None}))
    assert list(faq) == []


def test_no_answer(server: DatasetServer) -> None:
    faq = looptrace.dataset("faq")
    server.headers["Retry-After"] = "30"
    server.script("POST", f"{_PATH}/items", (503, {"title": "Unavailable", "detail": "Try later."}))
    with pytest.raises(looptrace.DatasetError, match=r"^HTTP 503 Try later$") as error:
        faq.append([{"input": 1}])
    assert error.value.status == 503
    assert len(server.requests) == 2
    server.script("POST", f"{_PATH}/items", (0, {}))
    with pytest.raises(looptrace.DatasetError, match=r"^ConnectionError: .*; it may have been written: compare"):
        faq.append([{"input": 1}])
    server.stop()
    with pytest.raises(looptrace.DatasetError, match=r"Connection refused[^;]*$") as error:
        faq.append([{"input": 1}])
    assert error.value.status is None


def test_refusals_name_the_item(server: DatasetServer) -> None:
    faq = looptrace.dataset("faq")
    errors = [
        {"location": "body.items[1].key", "message": "is in the dataset already"},
        {"location": "body.items[0].input", "message": "is wrong"},
        {"location": "body.note", "message": "is too long"},
        *({"location": "body.x", "message": "m"} for _ in range(9)),
    ]
    answer = {"title": "Invalid", "detail": "Nothing was written.", "code": "invalid", "errors": errors}
    server.script("POST", f"{_PATH}/items", (422, answer))
    with pytest.raises(looptrace.DatasetError) as error:
        faq.append([{"input": 1}, {"input": 2, "key": "capital-fr"}])
    assert str(error.value).startswith(
        "HTTP 422 Nothing was written; items[1].key (key capital-fr): is in the dataset already; "
        "items[0].input: is wrong; note: is too long; x: m"
    )
    assert str(error.value).endswith("; and 2 more")
    assert (error.value.status, error.value.code) == (422, "invalid")
    for status, remedy in ((401, "set LOOPTRACE_API_KEY to a key with the scope"), (403, "the key needs the scope")):
        server.script("POST", f"{_PATH}/items", (status, {"title": "Refused"}))
        with pytest.raises(looptrace.DatasetError, match=f"^HTTP {status} Refused: {remedy} datasets:write$"):
            faq.append([{"input": 1}])
        server.script("GET", f"{_PATH}/items", (status, {"title": "Refused"}))
        with pytest.raises(looptrace.DatasetError, match=f"^HTTP {status} Refused: {remedy} datasets:read$"):
            next(faq.items())


def test_without_a_known_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOOPTRACE_ENDPOINT", raising=False)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    with pytest.raises(looptrace.DatasetError, match="set LOOPTRACE_ENDPOINT"):
        looptrace.dataset("faq")


class _Color(enum.Enum):
    RED = "red"


def test_values_become_json() -> None:
    now = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    number = uuid.uuid4()
    values = {
        "enum": _Color.RED, "datetime": now, "date": now.date(), "time": now.time(), "uuid": number, "tuple": (1, 2.5),
        "nan": float("nan"), "bool": True, "none": None, "int": 1 << 70, "text": "ä", "nested": [{"a": [float("nan")]}],
        "int64": np.int64(7), "float32": np.float32(0.5), "nan32": np.float32("nan"), "bool_": np.bool_(True),
        "array": np.array([[1, 2], [3, 4]]), "str_": np.str_("s"), "nat": pd.NaT, "na": pd.NA,
        "timestamp": pd.Timestamp("2026-01-02T03:04:05Z"), "datetime64": np.datetime64("2026-01-02T03:04:05.123456789"),
        "datetime64nat": np.datetime64("NaT"), "series": pd.Series([1, None]),
    }  # fmt: skip
    [written] = written_items([{"input": values}], {}, "append")
    assert written["input"] == {
        "enum": "red", "datetime": "2026-01-02T03:04:05+00:00", "date": "2026-01-02", "time": "03:04:05",
        "uuid": str(number), "tuple": [1, 2.5], "nan": None, "bool": True, "none": None, "int": 1 << 70, "text": "ä",
        "nested": [{"a": [None]}], "int64": 7, "float32": 0.5, "nan32": None, "bool_": True, "array": [[1, 2], [3, 4]],
        "str_": "s", "nat": None, "na": None, "timestamp": "2026-01-02T03:04:05+00:00",
        "datetime64": "2026-01-02T03:04:05.123456789", "datetime64nat": None, "series": [1, None],
    }  # fmt: skip
    assert type(written["input"]["int64"]) is int


_CYCLE: list[Any] = []
_CYCLE.append(_CYCLE)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"input": {"a": [0, {1}]}}, r"^items\[1\].input.a\[1\] is a set, which is not JSON: make it"),
        ({"input": decimal.Decimal("1.5")}, r"^items\[1\].input is a Decimal, which is not JSON"),
        ({"input": np.timedelta64(1, "s")}, r"^items\[1\].input is a timedelta64, which is not JSON"),
        ({"input": {"a": float("inf")}}, r"^items\[1\].input.a is infinite"),
        ({"input": {1: 2}}, r"^items\[1\].input has the member 1; names of members must be texts"),
        ({"input": "\ud800"}, r"^items\[1\].input has a lone surrogate"),
        ({"input": _CYCLE}, r"^items\[1\].input is nested too deep, or contains itself"),
        ({"input": 1, "key": 1.5}, r"^items\[1\].key is a float and must be a text"),
        ({"input": 1, "key": True}, r"^items\[1\].key is a bool and must be a text"),
        ({"input": 1, "split": 1}, r"^items\[1\].split is a int and must be a text"),
        ({"input": 1, "metadata": []}, r"^items\[1\].metadata is a list and must be a dict"),
        ({"input": 1, "tags": "a,b"}, r"^items\[1\].tags is a str and must be a list of texts"),
        ({"input": 1, "tags": ["a", 1]}, r"^items\[1\].tags\[1\] is a int and must be a text"),
        ({"input": 1, "expected": 1}, r"^items\[1\] has expected, which no item has. .* such as input=\['expected'\]"),
        ({"input": 1, "id": "i"}, r"^items\[1\] has id, which no item has"),
        ({"key": "k"}, r"^items\[1\] has no input"),
        (["input"], r"^items\[1\] is a list; pass a dict or looptrace.Item"),
    ],
)
def test_items_that_cannot_be_written(row: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        written_items([{"input": 1}, row], {}, "append")


@pytest.mark.parametrize("items", [{"input": 1}, looptrace.Item(1), "input", 7, None])
def test_items_that_are_no_list(items: Any) -> None:
    with pytest.raises(TypeError, match="pass a list of dicts"):
        written_items(items, {}, "append")


def test_no_items() -> None:
    with pytest.raises(ValueError, match="there are no items"):
        written_items([], {}, "replace")


def frame() -> Any:
    return pd.DataFrame({
        "number": [1, 2],
        "question": ["France?", "Italy?"],
        "context": [None, "Europe"],
        "answer": ["Paris", float("nan")],
        "score": [0.5, float("nan")],
        "fold": pd.Categorical(["test", None]),
        "labels": [["easy"], []],
        "asked": pd.to_datetime(["2026-01-02", None]),
    })  # fmt: skip


def test_columns_of_a_frame() -> None:
    columns: Mapping[str, Any] = {
        "input": ["question", "context"], "reference_output": "answer", "metadata": ["score", "asked"], "key": "number",
        "split": "fold", "tags": "labels",
    }  # fmt: skip
    assert written_items(frame(), columns, "upsert") == [
        {"key": "1", "input": {"question": "France?", "context": None}, "reference_output": "Paris", "split": "test",
         "metadata": {"score": 0.5, "asked": "2026-01-02T00:00:00"}, "tags": ["easy"]},
        {"key": "2", "input": {"question": "Italy?", "context": "Europe"}, "reference_output": None,
         "metadata": {"score": None, "asked": None}, "tags": []},
    ]  # fmt: skip
    assert written_items(frame().to_dict("records"), columns, "upsert") == written_items(frame(), columns, "upsert")
    assert written_items(frame(), {"input": "question"}, "append") == [{"input": "France?"}, {"input": "Italy?"}]


def test_frame_with_the_names_of_members() -> None:
    named = pd.DataFrame({"input": ["a", "b"], "key": ["k", None], "metadata": [{"a": 1}, None]})
    assert written_items(named, {}, "append") == [
        {"input": "a", "key": "k", "metadata": {"a": 1}}, {"input": "b"},
    ]  # fmt: skip


def test_frames_that_cannot_be_written() -> None:
    with pytest.raises(ValueError, match=r"items\[0\] has number, question, .*, which no item has"):
        written_items(frame(), {}, "append")
    with pytest.raises(ValueError, match=r"items\[0\] has no column 'query'; it has number, question"):
        written_items(frame(), {"input": ["query"]}, "append")
    with pytest.raises(ValueError, match=r"items\[0\] has no column 'input'; name those that make the input"):
        written_items(frame(), {"key": "number"}, "append")
    with pytest.raises(ValueError, match=r"input=\[\] names no column"):
        written_items(frame(), {"input": []}, "append")
    with pytest.raises(ValueError, match=r"several columns of the name a: rename them"):
        written_items(pd.DataFrame([[1, 2]], columns=["a", "a"]), {"input": "a"}, "append")


def test_items_that_were_read() -> None:
    read = [looptrace.Item("a", key="k", id="i-1", revision_added=1), looptrace.Item("b", id="i-2", revision_added=1)]
    expected: list[dict[str, Any]] = [
        {"key": "k", "input": "a", "reference_output": None, "metadata": {}, "tags": []},
        {"input": "b", "reference_output": None, "metadata": {}, "tags": []},
    ]
    assert written_items(read, {}, "append") == expected
    assert written_items(pd.DataFrame(map(dataclasses.asdict, read)), {}, "append") == expected
    with pytest.raises(ValueError, match=r"items\[1\] was read and has no key, so upsert would add it again"):
        written_items(read, {}, "upsert")
