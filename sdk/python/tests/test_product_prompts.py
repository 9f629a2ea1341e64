"""Prompts of a real installation."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from models import ANSWER, Models
from product import Product, wait

import looptrace

pytestmark = pytest.mark.product

Program = Callable[..., Any]

# A program uses a moved alias after milliseconds; under load it may take longer.
_SECONDS = 10
_VERSION: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "You route tickets of {{product}} to a team."},
        {"type": "placeholder", "name": "history"},
        {"role": "user", "content": [{"type": "text", "text": "{{ticket}}"}]},
    ],
    "model_config": {"model": "gpt-5-mini", "temperature": 0, "max_output_tokens": 200},
    "variables": {"ticket": {"type": "string"}},
}


@pytest.fixture
def reading(product: Product) -> Iterator[Product]:
    looptrace.init(endpoint=product.url, api_key=product.key, project=product.project, instrument=False)
    yield product
    looptrace.shutdown(10)


def create(product: Product, name: str) -> str:
    """Creates a prompt with one version, which production has, and returns the prompt's id."""
    created = product.post("/v1/prompts", {"project_id": product.project, "name": name, "version": _VERSION})
    move(product, created["id"], 1)
    return str(created["id"])


def move(product: Product, prompt_id: str, version: int) -> None:
    product.post(f"/v1/prompts/{prompt_id}/aliases", {"alias": "production", "version": version})


def save(product: Product, prompt_id: str, system: str) -> None:
    messages = [{"role": "system", "content": system}, *_VERSION["messages"][1:]]
    product.post(f"/v1/prompts/{prompt_id}/versions", {**_VERSION, "messages": messages})


def test_rendering_as_the_server_does(reading: Product) -> None:
    name = f"support/{uuid.uuid4()}"
    prompt_id = create(reading, name)
    found = looptrace.prompt(name, alias="production")
    assert (found.id, found.version, found.alias, found.source) == (prompt_id, 1, "production", "fresh")
    assert looptrace.prompt(name).alias == "latest"
    assert looptrace.prompt(name, version=1).alias is None
    values: dict[str, Any] = {
        "variables": {"product": "Looptrace", "ticket": "I cannot log in.", "more": 1},
        "placeholders": {"history": [{"role": "user", "content": "{{inert}}"}]},
    }
    rendered = found.render(**values)
    theirs = reading.post(f"/v1/prompts/{prompt_id}/versions/1/render", values)
    assert rendered.messages == theirs["messages"]
    assert rendered.unused == theirs["unused"] == ["more"]
    assert (rendered.tools, rendered.response_format) == (theirs["tools"], theirs["response_format"])
    with pytest.raises(looptrace.PromptValuesError, match="no value for product, history; ticket is not of the type"):
        found.render(ticket=7)
    with pytest.raises(looptrace.PromptNotFound, match="HTTP 404"):
        looptrace.prompt(name + "-2", alias="production")
    with pytest.raises(looptrace.PromptNotFound, match="HTTP 404"):
        looptrace.prompt(name, alias="staging")
    whole = reading.get(f"/v1/prompts/resolve?name={name}")
    assert whole is not None
    default = looptrace.prompt(name, alias="staging", default=whole["prompt_version"])
    assert (default.source, default.version, default.messages) == ("default", 1, found.messages)


def test_key_that_may_not_read(product: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPTRACE_ENDPOINT", product.url)
    for key, message in (
        ("lt_wrong", "HTTP 401 .*: set LOOPTRACE_API_KEY to a key with the scope prompts:read$"),
        (product.create_key("runs:read"), "HTTP 403 .*: the key needs the scope prompts:read$"),
    ):
        monkeypatch.setenv("LOOPTRACE_API_KEY", key)
        with pytest.raises(looptrace.PromptError, match=message):
            looptrace.prompt("support/triage")
        looptrace.shutdown()


def test_alias_that_moves(reading: Product, record_property: Callable[[str, object], None]) -> None:
    name = f"support/{uuid.uuid4()}"
    prompt_id = create(reading, name)
    other = create(reading, name + "-2")
    for each in (name, name + "-2"):
        looptrace.prompt(each, alias="production")

    def confirmed() -> bool | None:
        found = [looptrace.prompt(each, alias="production", max_age=0).source for each in (name, name + "-2")]
        return found == ["cache", "cache"] or None

    wait("the stream is connected", confirmed)
    save(reading, prompt_id, "You route {{product}}.")
    move(reading, prompt_id, 2)
    began = time.monotonic()
    wait("the new version", lambda: looptrace.prompt(name, alias="production").version == 2 or None, _SECONDS)
    seconds = time.monotonic() - began
    record_property("seconds until a moved alias is used", seconds)
    print(f"a moved alias is used after {seconds * 1000:.0f} ms")
    assert looptrace.prompt(name + "-2", alias="production", max_age=0).source == "cache"
    answer = reading.http.delete(
        f"{reading.url}/v1/prompts/{other}", headers={"Authorization": f"Bearer {reading.key}"}, timeout=30
    )
    assert answer.ok, answer.text

    def gone() -> bool | None:
        return looptrace.prompt(name + "-2", alias="production", default="d").source == "default" or None

    wait("the deleted prompt is gone", gone, _SECONDS)
    assert looptrace.prompt(name, alias="production").version == 2


def test_model_calls_name_the_prompt(program: Program, product: Product, models: Models) -> None:
    prompt_id = create(product, "support/triage")
    run_id, answer = program("prompt_program.py", **product.environment(), **models.environment()).stdout.splitlines()
    assert answer == ANSWER
    run = product.run(run_id, spans=4)
    assert run["llm_call_count"] == 2
    agent, first, tool, second = product.spans(run_id)
    assert (first["kind"], tool["kind"], second["kind"]) == ("llm", "tool", "llm")
    about = {
        "gen_ai.prompt.name": "support/triage", "gen_ai.prompt.version": "1",
        "looptrace.prompt.alias": "production", "looptrace.prompt.source": "fresh",
    }  # fmt: skip
    for span, expected in ((agent, about), (first, about), (tool, {}), (second, {})):
        assert {key: value for key, value in span["attributes"].items() if ".prompt." in key} == expected
    assert first["prompt"] == {"id": prompt_id, "name": "support/triage", "version": "1"}
    assert [message["role"] for message in first["input_messages"]] == ["system", "user"]
    assert [found["run_id"] for found in product.runs(prompt_id=prompt_id, prompt_version="1")] == [run_id]
    usage = product.get(f"/v1/prompts/{prompt_id}/usage")
    assert usage is not None
    [version] = usage["versions"]
    assert (version["version"], version["linked_by_content"], version["calls"]["count"]) == ("1", 0, 1)


def test_outage(reading: Product) -> None:
    name = f"support/{uuid.uuid4()}"
    create(reading, name)
    looptrace.prompt(name, alias="production")
    reading.stop()
    try:
        stale = wait("stale", lambda: _with_source("stale", name))
        assert stale.version == 1
        assert stale.age > 0
        assert looptrace.prompt("other", default="d").source == "default"
        with pytest.raises(looptrace.PromptUnavailable):
            looptrace.prompt("other")
        with (
            stale.render(product="Looptrace", ticket="t", placeholders={"history": []}),
            looptrace.span("ask", kind="llm") as call,
        ):
            pass
    finally:
        reading.start()
    wait("current again", lambda: _with_source("cache", name))
    assert looptrace.flush(30)
    reading.run(str(call.run_id))
    [span] = reading.spans(str(call.run_id))
    assert span["attributes"]["looptrace.prompt.source"] == "stale"
    assert span["attributes"]["looptrace.prompt.age_seconds"] > 0


def _with_source(source: str, name: str) -> looptrace.Prompt | None:
    found = looptrace.prompt(name, alias="production", max_age=0)
    return found if found.source == source else None
