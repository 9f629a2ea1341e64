"""The cache of prompts, against a scripted server."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from product import wait
from prompt_server import PromptServer

import looptrace
from looptrace import _prompt_cache
from looptrace._log import _logged

Program = Callable[..., Any]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("LOOPTRACE_API_KEY", "k")
    monkeypatch.delenv("LOOPTRACE_PROJECT", raising=False)
    _logged.clear()
    yield monkeypatch
    looptrace.shutdown(2)


def serve(environment: pytest.MonkeyPatch, *, streams: bool) -> Iterator[PromptServer]:
    server = PromptServer(streams=streams)
    environment.setenv("LOOPTRACE_ENDPOINT", server.url)
    for name in ("triage", "triage-2"):
        server.save(name, f"{name} one")
        server.save(name, f"{name} two")
        server.move(name, "production", 1)
        server.move(name, "production-2", 1)
    yield server
    looptrace.shutdown(2)
    server.stop()


@pytest.fixture
def server(environment: pytest.MonkeyPatch) -> Iterator[PromptServer]:
    """A server without streams."""
    yield from serve(environment, streams=False)


@pytest.fixture
def streaming(environment: pytest.MonkeyPatch) -> Iterator[PromptServer]:
    yield from serve(environment, streams=True)


def production(name: str = "triage", **more: Any) -> looptrace.Prompt:
    return looptrace.prompt(name, alias="production", **more)


def text(prompt: looptrace.Prompt) -> str:
    return str(prompt.messages[0]["content"])


def until(what: str, look: Callable[[], bool]) -> None:
    wait(what, lambda: look() or None)


def until_source(source: str, **more: Any) -> looptrace.Prompt:
    return wait(source, lambda: found if (found := production(**more)).source == source else None)


def until_confirmed(server: PromptServer) -> int:
    """Waits until the stream is connected, and what came before it was asked for again. Returns how often was asked."""
    cache = _prompt_cache._cache()
    entries = [entry for key, entry in cache._entries.items() if key.alias is not None]
    until("the stream confirms the answers", lambda: all(0 < entry.stream == cache._stream for entry in entries))
    return len(server.asked)


def asked(server: PromptServer, name: str) -> int:
    return sum(query["name"] == name for query in server.asked)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("looptrace-prompts")]


def test_first_call_asks_and_later_ones_do_not(server: PromptServer, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("LOOPTRACE_PROJECT", "p-1")
    assert not threads()
    first, second = production(), production()
    assert (first.name, first.version, first.alias, first.id) == ("triage", 1, "production", "id-of-triage")
    assert (first.source, first.age, text(first)) == ("fresh", 0, "triage one")
    assert (second.source, text(second)) == ("cache", "triage one")
    assert 0 < second.age < 60
    assert server.asked == [{"name": "triage", "alias": "production", "project_id": "p-1", "etag": None}]
    assert server.headers[0]["Authorization"] == "Bearer k"


def test_newest_version_without_an_alias(server: PromptServer) -> None:
    found = looptrace.prompt("triage")
    assert (found.version, found.alias) == (2, "latest")
    assert "alias" not in server.asked[0]


def test_a_version_by_its_number_is_kept_for_ever(server: PromptServer) -> None:
    first = looptrace.prompt("triage", version=2, max_age=0)
    second = looptrace.prompt("triage", version=2, max_age=0)
    assert (first.version, first.alias, first.source) == (2, None, "fresh")
    assert (second.version, second.source, second.age) == (2, "cache", 0)
    assert len(server.asked) == 1
    assert server.stream_requests == 0
    assert not threads()


def test_stale_answer_is_used_while_asking_again(server: PromptServer) -> None:
    production()
    server.move("triage", "production", 2)
    stale = production(max_age=0)
    assert (stale.source, text(stale)) == ("stale", "triage one")
    assert stale.age > 0
    until("the version that the alias has now", lambda: text(production()) == "triage two")
    assert production().source == "cache"
    assert server.asked[1]["etag"] == '"1"'


def test_unchanged_answer_is_current_again(server: PromptServer) -> None:
    production()
    began = time.monotonic()
    until("it is older", lambda: production().age > 0.5)
    assert production(max_age=0).source == "stale"
    until("it is younger again", lambda: production().age < time.monotonic() - began - 0.3)
    assert (production().source, text(production())) == ("cache", "triage one")
    assert server.asked[1]["etag"] == '"1"'


@pytest.mark.parametrize("status", [404, 410])
def test_deleted_alias_is_not_used_any_more(server: PromptServer, status: int) -> None:
    production()
    server.status = status
    assert production(max_age=0).source == "stale"

    def gone() -> looptrace.PromptNotFound | None:
        try:
            production()
        except looptrace.PromptNotFound as error:
            return error
        return None

    assert wait("not found", gone).status == status
    found = production(default="You triage.")
    assert (found.source, found.version, found.alias, text(found)) == ("default", None, "production", "You triage.")
    server.status = 200
    assert production().source == "fresh"


def test_name_that_does_not_exist(server: PromptServer) -> None:
    with pytest.raises(looptrace.PromptNotFound, match=r"^none@production: HTTP 404 no such prompt$"):
        production("none")
    # A program with a default does not pay for the request again.
    assert production("none", default="d").source == "default"
    assert asked(server, "none") == 1
    assert production("none", default="d", max_age=0).source == "default"
    with pytest.raises(looptrace.PromptNotFound):
        production("none")
    assert asked(server, "none") == 3
    server.save("none", "now")
    server.move("none", "production", 1)
    assert text(production("none")) == "now"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "HTTP 401 scripted: set LOOPTRACE_API_KEY to a key with the scope prompts:read"),
        (403, "HTTP 403 scripted: the key needs the scope prompts:read"),
        (422, "HTTP 422 scripted"),
    ],
)
def test_refused(server: PromptServer, caplog: pytest.LogCaptureFixture, status: int, message: str) -> None:
    server.status = status
    with pytest.raises(looptrace.PromptError, match=f"^triage@production: {message}$") as refused:
        production()
    assert not isinstance(refused.value, looptrace.PromptNotFound | looptrace.PromptUnavailable)
    assert refused.value.status == status
    assert production(default="d").source == "default"
    assert message in caplog.text
    assert not threads()


def test_refused_later(server: PromptServer, caplog: pytest.LogCaptureFixture) -> None:
    production()
    server.status = 403
    production(max_age=0)
    until("the failure is logged", lambda: "prompts:read" in caplog.text)
    assert text(production(max_age=0)) == "triage one"
    server.status = 200
    assert production(max_age=0).source == "stale"


def test_no_answer(server: PromptServer, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("LOOPTRACE_TIMEOUT", "0.1")
    server.delay = 1
    with pytest.raises(looptrace.PromptUnavailable, match="Timeout") as failed:
        production()
    assert failed.value.status is None
    assert production("triage-2", default="d").source == "default"


def test_answer_that_is_no_prompt(server: PromptServer) -> None:
    server.versions["triage"][0] = {"version": 1, "messages": []}
    with pytest.raises(looptrace.PromptUnavailable, match="the answer is no prompt: messages: at least one is needed"):
        production()


def test_unavailable_service_is_left_alone(server: PromptServer) -> None:
    production()
    server.status, server.more = 503, {"Retry_After": "30"}
    with pytest.raises(looptrace.PromptUnavailable, match=r"^triage-2@production: HTTP 503 scripted$"):
        production("triage-2")
    with pytest.raises(looptrace.PromptUnavailable, match=r"^other@production: HTTP 503 scripted$"):
        production("other")
    assert production("other", default="d").source == "default"
    assert production(max_age=0).source == "stale"
    assert len(server.asked) == 2


def test_service_goes_away_and_comes_back(server: PromptServer, caplog: pytest.LogCaptureFixture) -> None:
    production()
    server.stop()
    assert production(max_age=0).source == "stale"
    until("the failure is logged", lambda: "could not refresh a prompt, which stays as it was" in caplog.text)
    stale = production(max_age=0, default="d")
    assert (stale.source, text(stale)) == ("stale", "triage one")
    assert stale.age > 0
    with pytest.raises(looptrace.PromptUnavailable, match="ConnectionError"):
        production("triage-2")
    server.move("triage", "production", 2)
    server.start(server.port)
    until("the version that the alias has now", lambda: text(production(max_age=0)) == "triage two")


def test_concurrent_first_calls_share_one_request(server: PromptServer) -> None:
    server.delay = 0.5
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda _: production(), range(20)))
    assert {(prompt.source, text(prompt)) for prompt in found} == {("fresh", "triage one")}
    assert len(server.asked) == 1


def test_concurrent_first_calls_share_a_failure(server: PromptServer) -> None:
    server.delay, server.status = 0.5, 403
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda _: production(default="d"), range(20)))
    assert {prompt.source for prompt in found} == {"default"}
    assert len(server.asked) == 1


def test_alias_that_moves(streaming: PromptServer) -> None:
    for name in ("triage", "triage-2"):
        for alias in ("production", "production-2"):
            looptrace.prompt(name, alias=alias)
        looptrace.prompt(name)
    before = until_confirmed(streaming)
    assert production(max_age=0).age < 60
    streaming.move("triage", "production", 2)
    until("the new version", lambda: text(production(max_age=0)) == "triage two")
    assert production(max_age=0).source == "cache"
    streaming.save("triage-2", "triage-2 three")
    streaming.send("alias", {"name": "triage-2", "alias": "latest", "version": 3})
    until("the newest version", lambda: looptrace.prompt("triage-2").version == 3)
    # Nothing else was asked for: neither the other alias, nor the prompt whose name begins alike.
    assert [(query["name"], query.get("alias")) for query in streaming.asked[before:]] == [
        ("triage", "production"), ("triage-2", None),
    ]  # fmt: skip
    assert streaming.stream_requests == 1
    assert max(threads()) == "looptrace-prompts-stream"


def test_deleted_alias_by_the_stream(streaming: PromptServer) -> None:
    production()
    looptrace.prompt("triage", alias="production-2")
    until_confirmed(streaming)
    streaming.move("triage", "production", None)
    until("the default", lambda: production(default="d").source == "default")
    assert looptrace.prompt("triage", alias="production-2").source == "cache"
    before = len(streaming.asked)
    assert production(default="d", max_age=0).source == "default"
    assert len(streaming.asked) == before, "the stream says when it exists"
    streaming.move("triage", "production", 2)
    until("it exists again", lambda: production(default="d").source != "default")


def test_deleted_prompt_by_the_stream(streaming: PromptServer) -> None:
    for name in ("triage", "triage-2"):
        production(name)
        looptrace.prompt(name, version=1)
    until_confirmed(streaming)
    streaming.delete("triage")

    def gone(**which: Any) -> bool:
        return looptrace.prompt("triage", **which, default="d").source == "default"

    until("the alias is gone", lambda: gone(alias="production"))
    until("the version is gone", lambda: gone(version=1))
    assert looptrace.prompt("triage-2", version=1).source == "cache"
    assert production("triage-2").source == "cache"


def test_stream_that_breaks(streaming: PromptServer) -> None:
    production()
    until_confirmed(streaming)
    streaming.streams = False
    streaming.end_streams()
    # Without a stream, age decides.
    assert until_source("stale", max_age=0).age > 0
    assert production().source == "cache"
    until("a stream was refused", lambda: streaming.stream_requests > 1)
    streaming.streams = True
    streaming.move("triage", "production", 2, told=False)
    until("what changed meanwhile", lambda: text(production()) == "triage two")
    until_source("cache", max_age=0)


def test_alias_that_moves_during_a_request(streaming: PromptServer) -> None:
    production("triage-2")
    until_confirmed(streaming)
    streaming.delay = 1
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(production)
        until("the request has come", lambda: asked(streaming, "triage") == 1)
        streaming.move("triage", "production", 2)
        assert text(first.result()) == "triage one"
    until("the new version", lambda: text(production()) == "triage two")
    assert asked(streaming, "triage") == 2


def test_stream_that_begins_during_a_request(streaming: PromptServer) -> None:
    production("triage-2")
    until_confirmed(streaming)
    streaming.delay = 2
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(production)
        until("the request has come", lambda: asked(streaming, "triage") == 1)
        streaming.end_streams()
        streaming.move("triage", "production", 2, told=False)
        assert text(first.result()) == "triage one"
    streaming.delay = 0
    until_confirmed(streaming)
    assert text(production()) == "triage two"


def test_event_that_is_not_understood(streaming: PromptServer) -> None:
    production()
    until_confirmed(streaming)
    streaming.send("something", {})
    streaming.send("alias", {"version": 2})
    until("another stream", lambda: streaming.stream_requests == 2)
    until_source("cache", max_age=0)


def test_shutdown_ends_the_threads(streaming: PromptServer) -> None:
    production()
    until("the stream is open", lambda: streaming.open_streams == 1)
    assert threads()
    looptrace.shutdown(2)
    until("no thread is left", lambda: not threads())
    assert production().source == "fresh"


def test_settings_of_init(server: PromptServer, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("LOOPTRACE_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(looptrace.PromptUnavailable):
        production()
    looptrace.init(endpoint=server.url, api_key="of init", instrument=False)
    assert production().source == "fresh"
    assert server.headers[0]["Authorization"] == "Bearer of init"


def test_only_an_otlp_endpoint(environment: pytest.MonkeyPatch) -> None:
    environment.delenv("LOOPTRACE_ENDPOINT", raising=False)
    environment.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(looptrace.PromptError, match="set LOOPTRACE_ENDPOINT"):
        production()
    # Names that do not exist do not fill the memory.
    for number in range(1500):
        production(f"name {number}", default="d")
    assert len(_prompt_cache._cache()._entries) <= 1001


def test_invalid_arguments(server: PromptServer) -> None:
    wrong: list[dict[str, Any]] = [
        {"alias": "production", "version": 1}, {"alias": ""}, {"version": 0}, {"version": "1"}, {"version": True},
        {"max_age": -1}, {"max_age": "60"}, {"max_age": float("nan")}, {"name": ""}, {"name": None},
    ]  # fmt: skip
    for arguments in wrong:
        with pytest.raises(ValueError, match=r"is not|either"):
            looptrace.prompt(**{"name": "triage", "default": "d", **arguments})
    production()
    with pytest.raises(ValueError, match="the default of the prompt triage: the text is empty"):
        production(default="")
    assert len(server.asked) == 1


async def test_async(server: PromptServer) -> None:
    server.delay = 0.3
    task = asyncio.create_task(looptrace.prompt_async("triage", alias="production"))
    while not server.asked:
        await asyncio.sleep(0.01)
    assert not task.done(), "other tasks go on"
    assert (await task).source == "fresh"
    assert (await looptrace.prompt_async("triage", alias="production")).source == "cache"
    assert (await looptrace.prompt_async("none", default="d")).source == "default"
    with pytest.raises(looptrace.PromptNotFound):
        await looptrace.prompt_async("none")


FORK = """
import os, threading, time
import looptrace

def production():
    return looptrace.prompt("triage", alias="production")

def streams():
    return sum(thread.name == "looptrace-prompts-stream" for thread in threading.enumerate())

def until(text):
    end = time.monotonic() + 30
    while production().messages[0]["content"] != text and time.monotonic() < end:
        time.sleep(0.01)
    return production().messages[0]["content"]

production()
lock = looptrace._prompt_cache._cache()._lock
lock.acquire()  # as another thread may have at that time
child = os.fork()
if child == 0:
    found = production()
    print("child", found.source, streams(), flush=True)
    print("child", until("triage two"), flush=True)
    os._exit(0)
lock.release()
os.waitpid(child, 0)
print("parent", until("triage two"))
"""


def test_fork(program: Program, streaming: PromptServer) -> None:
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(program, FORK, LOOPTRACE_ENDPOINT=streaming.url)
        until("parent and child have streams", lambda: streaming.open_streams == 2 or done.done())
        streaming.move("triage", "production", 2)
        assert done.result().stdout.splitlines() == ["child cache 1", "child triage two", "parent triage two"]


def test_no_thread_without_prompts(program: Program) -> None:
    source = "import looptrace, threading; looptrace.init(); looptrace.shutdown(0); print(threading.active_count())"
    assert program(source, LOOPTRACE_ENDPOINT="http://127.0.0.1:9", LOOPTRACE_API_KEY="k").stdout == "1\n"
