"""The prompts that this process has read, and the threads that keep them up to date.

An answer for an alias is current while the stream is connected and has not named the alias, else for max_age seconds.
After that it is stale: calls go on with it while one thread asks again. A version by its number never changes.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
import weakref
from collections.abc import Callable

import requests
from opentelemetry.instrumentation.utils import suppress_instrumentation

from ._config import resolve
from ._log import failed, logger
from ._prompt import Default, Prompt, Source, Version, version_of_default
from ._prompt_api import (
    LATEST,
    Answer,
    Api,
    Failure,
    Key,
    PromptError,
    PromptUnavailable,
    event_of,
    events,
    retry_after,
)
from ._state import Running, state

_MAX_BACKOFF = 10.0
_MAX_STREAM_BACKOFF = 30.0
# A stream that lasted so long in seconds did not fail.
_LASTING = 60.0
# Programs may ask for names that do not exist, so only so many failures are kept.
_MAX_FAILURES = 1000


class _Load:
    """A first request, which all calls for the same key wait for."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.content: Version | None = None
        self.failure: Failure | None = None


class _Entry:
    def __init__(self, key: Key) -> None:
        self.key = key
        self.answer: Answer | None = None
        # When Looptrace last confirmed the answer.
        self.confirmed = 0.0
        # The stream that confirms the answer while it is connected, or 0.
        self.stream = 0
        # Whether the stream said that the alias has moved.
        self.moved = False
        # Counts moves, to find those that come during a request.
        self.moves = 0
        self.load: _Load | None = None
        self.failure: Failure | None = None
        self.failed = 0.0
        # Whether the refreshing thread will ask or is asking.
        self.waiting = False


class Cache:
    """The prompts of one project as one key reads them."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._entries: dict[Key, _Entry] = {}
        self._closed = threading.Event()
        self._reset()
        if hasattr(os, "register_at_fork"):
            forked = weakref.WeakMethod(self._after_fork)

            def after_fork() -> None:
                if again := forked():
                    again()

            os.register_at_fork(after_in_child=after_fork)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._listener: threading.Thread | None = None
        self._refresher: threading.Thread | None = None
        self._waiting: list[_Entry] = []
        self._response: requests.Response | None = None
        # The number of the connected stream, or 0; how many there were; and when the connected one last sent anything.
        self._stream = 0
        self._streams = 0
        self._heard = 0.0
        self._failures = 0
        self._retry_at = 0.0
        self._unavailable: Failure | None = None

    def _after_fork(self) -> None:
        """A forked child has the answers, and neither the threads nor the stream. Locks may be locked."""
        for entry in self._entries.values():
            if self._stream and entry.stream == self._stream:
                entry.confirmed = max(entry.confirmed, self._heard)
            entry.stream, entry.load, entry.waiting = 0, None, False
        self._closed = threading.Event()
        self._reset()

    def close(self) -> None:
        """Ends the threads as soon as possible."""
        self._closed.set()
        with self._lock:
            response = self._response
        # urllib3 before 2.3 cannot wake the thread; it then ends at the stream's next line.
        wake = None if response is None else getattr(response.raw, "shutdown", None)
        if wake is not None:
            try:
                wake()
            except Exception as error:  # noqa: BLE001 - the stream may have ended by itself
                logger.debug("could not end the stream of prompts: %s", error)

    # The methods below run in threads of the program.

    def has(self, key: Key) -> bool:
        """Reports whether get returns at once."""
        with self._lock:
            entry = self._entries.get(key)
            return entry is not None and entry.answer is not None

    def get(self, key: Key, max_age: float, has_default: bool) -> tuple[Version, Source, float]:
        """Returns the version, where it comes from, and its age. Raises PromptError."""
        if self._listener is None and key.alias is not None and self.has(key):
            self._listen()  # again, in a forked child
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry(key)
            if entry.answer is not None:
                return self._kept(entry, entry.answer, max_age)
            if (known := self._known_failure(entry, max_age, has_default)) is not None:
                raise known.error(key)
            load = entry.load
            if mine := load is None:
                load = entry.load = _Load()
        if mine:
            self._load(entry, load)
        elif not load.done.wait(2 * self._api.timeout + 1):
            raise PromptUnavailable(f"{key}: no answer in time")
        if load.content is None:
            raise (load.failure or Failure("unavailable", "no answer")).error(key)
        return load.content, "fresh", 0.0

    def _kept(self, entry: _Entry, answer: Answer, max_age: float) -> tuple[Version, Source, float]:
        if entry.key.alias is None:
            return answer.content, "cache", 0.0
        now = time.monotonic()
        if self._stream and entry.stream == self._stream:
            return answer.content, "cache", max(now - max(entry.confirmed, self._heard), 0.0)
        age = max(now - entry.confirmed, 0.0)
        if not entry.moved and age <= max_age:
            return answer.content, "cache", age
        refused = entry.failure is not None and entry.failure.kind == "refused"
        if now >= self._retry_at and (not refused or now >= entry.failed + _MAX_BACKOFF):
            self._refresh(entry)
        return answer.content, "stale", age

    def _known_failure(self, entry: _Entry, max_age: float, has_default: bool) -> Failure | None:
        """Returns the failure of an earlier call if another request would only cost time."""
        now = time.monotonic()
        if self._unavailable is not None and now < self._retry_at:
            return self._unavailable
        if entry.failure is None or entry.failure.kind == "unavailable" or not has_default:
            return None
        if (self._stream and entry.stream == self._stream) or now <= entry.failed + max_age:
            return entry.failure
        return None

    def _load(self, entry: _Entry, load: _Load) -> None:
        try:
            with suppress_instrumentation():
                result = self._ask(entry)
            if isinstance(result, Failure):
                load.failure = result
            else:
                load.content = result
        finally:
            with self._lock:
                entry.load = None
                self._forget_failures()
            load.done.set()
        if entry.key.alias is not None and (load.failure is None or load.failure.kind == "missing"):
            self._listen()

    def _forget_failures(self) -> None:
        failures = [key for key, entry in self._entries.items() if entry.answer is None and entry.load is None]
        for key in failures[:-_MAX_FAILURES]:
            del self._entries[key]

    def _refresh(self, entry: _Entry) -> None:
        """Has the entry asked for again. The caller holds the lock."""
        if entry.waiting or self._closed.is_set():
            return
        entry.waiting = True
        self._waiting.append(entry)
        if self._refresher is None:
            self._refresher = _start("looptrace-prompts", self._refresh_all)

    def _listen(self) -> None:
        with self._lock:
            if self._listener is None and not self._closed.is_set():
                self._listener = _start("looptrace-prompts-stream", self._follow)

    # The methods below run in any thread.

    def _ask(self, entry: _Entry) -> Version | Failure:
        """Asks for the entry and keeps the result."""
        with self._lock:
            began, moves, stream, answer = time.monotonic(), entry.moves, self._stream, entry.answer
        result = self._api.resolve(entry.key, None if answer is None else answer.etag)
        with self._lock:
            entry.waiting = False
            self._note(result if isinstance(result, Failure) else None)
            if isinstance(result, Failure):
                entry.failure, entry.failed = result, time.monotonic()
                if result.kind == "missing":
                    entry.answer, entry.stream = None, stream if entry.moves == moves else 0
                return result
            if isinstance(result, Answer):
                entry.answer = answer = result
            entry.failure, entry.confirmed = None, began
            entry.moved = entry.moves != moves
            entry.stream = 0 if entry.moved else stream
            # The stream may have begun during the request, and what changed before it is not sent.
            if entry.moved or (entry.key.alias is not None and stream != self._stream):
                self._refresh(entry)
            assert answer is not None, "only an ETag that was sent can be unchanged"  # noqa: S101
            return answer.content

    def _note(self, failure: Failure | None) -> None:
        """Keeps how long not to ask. A first failure may be an accident."""
        if failure is None or failure.kind != "unavailable":
            self._failures, self._retry_at, self._unavailable = 0, 0.0, None
            return
        self._failures += 1
        pause = 0.0 if self._failures == 1 else min(2.0 ** (self._failures - 2), _MAX_BACKOFF)
        pause = max(pause * random.uniform(0.8, 1.2), failure.retry_after)  # noqa: S311
        self._retry_at, self._unavailable = time.monotonic() + pause, failure

    # The method below runs in the refreshing thread, which ends when nothing waits.

    def _refresh_all(self) -> None:
        with suppress_instrumentation():
            while True:
                with self._lock:
                    if self._closed.is_set() or not self._waiting:
                        self._refresher = None
                        return
                    entry = self._waiting.pop(0)
                try:
                    result = self._ask(entry)
                except Exception as error:  # noqa: BLE001 - nothing else reports failures of the thread
                    entry.waiting = False
                    failed("refresh a prompt", error)
                    continue
                if not isinstance(result, Failure) or result.kind == "missing":
                    continue
                failed("refresh a prompt, which stays as it was", result.error(entry.key))
                if result.kind == "unavailable":  # the next calls ask again
                    with self._lock:
                        for left in self._waiting:
                            left.waiting = False
                        self._waiting.clear()

    # The methods below run in the thread of the stream.

    def _follow(self) -> None:
        attempt = 0
        with suppress_instrumentation():
            while not self._closed.is_set():
                began, asked = time.monotonic(), 0.0
                try:
                    asked = self._follow_once()
                except (requests.RequestException, ValueError) as error:
                    logger.debug("the stream of prompts ended: %s: %s", type(error).__name__, error)
                except Exception as error:  # noqa: BLE001 - urllib3 raises more than requests documents
                    failed("follow the aliases of prompts", error)
                finally:
                    self._disconnected()
                attempt = 0 if time.monotonic() - began > _LASTING else attempt + 1
                pause = min(2.0**attempt, _MAX_STREAM_BACKOFF) * random.uniform(0.25, 1.0)  # noqa: S311
                self._closed.wait(max(pause, asked))

    def _follow_once(self) -> float:
        """Follows one stream to its end. Returns the seconds that the server asks to wait."""
        with self._api.open_stream() as response:
            if not response.ok:
                if response.status_code in (401, 403):
                    failed("follow the aliases of prompts", PromptError(f"HTTP {response.status_code}"))
                return retry_after(response)
            with self._lock:
                self._response = response
            for event in events(response):
                if self._closed.is_set():
                    break
                with self._lock:
                    self._heard = time.monotonic()
                match event:
                    case ("ready", _):
                        self._connected()
                    case ("alias", data):
                        self._moved(*event_of(data))
                    case ("end", data):
                        logger.debug("the stream of prompts ended: %s", data)
        return 0.0

    def _connected(self) -> None:
        """What changed before the stream began is not sent, so everything is asked for again."""
        with self._lock:
            self._streams += 1
            self._stream = self._streams
            self._failures, self._retry_at, self._unavailable = 0, 0.0, None
            for entry in self._entries.values():
                if entry.key.alias is not None and entry.answer is not None:
                    self._refresh(entry)

    def _disconnected(self) -> None:
        with self._lock:
            for entry in self._entries.values():
                if self._stream and entry.stream == self._stream:
                    entry.confirmed = max(entry.confirmed, self._heard)
            self._stream, self._response = 0, None

    def _moved(self, name: str, alias: str | None) -> None:
        with self._lock:
            for key, entry in [*self._entries.items()]:
                if key.name != name or (alias is not None and key.alias != alias):
                    continue
                if self._stream and entry.stream == self._stream:
                    entry.confirmed = max(entry.confirmed, self._heard)
                entry.moves += 1
                entry.stream, entry.failure = 0, None
                if alias is None:  # the prompt was deleted
                    entry.answer = None
                elif entry.answer is not None:
                    entry.moved = True
                    self._refresh(entry)


def _start(name: str, work: Callable[[], None]) -> threading.Thread | None:
    thread = threading.Thread(target=work, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # threads cannot start during interpreter shutdown
        failed("start a thread for prompts", error)
        return None
    return thread


_lock = threading.Lock()
_current: tuple[Running | None, Cache] | None = None


def _cache() -> Cache:
    """Returns the cache for the settings of init, or without init for those of the environment."""
    global _current
    running, current = state.running, _current
    if current is not None and current[0] is running:
        return current[1]
    with _lock:
        if _current is None or _current[0] is not running:
            if _current is not None:
                _current[1].close()
            _current = running, Cache(Api(resolve() if running is None else running.config))
        return _current[1]


def close() -> None:
    """Ends the threads. What was read is forgotten."""
    global _current
    with _lock:
        current, _current = _current, None
    if current is not None:
        current[1].close()


if hasattr(os, "register_at_fork"):

    def _new_lock() -> None:
        global _lock
        _lock = threading.Lock()

    os.register_at_fork(after_in_child=_new_lock)


def prompt(
    name: str,
    *,
    alias: str | None = None,
    version: int | None = None,
    default: Default | None = None,
    max_age: float = 60.0,
) -> Prompt:
    """Returns the version of a prompt that an alias has.

    The first call for an alias asks Looptrace and waits, at most timeout seconds of init. Later ones return at once. A
    stream tells this process when the alias moves. The key needs the scope prompts:read. Without init, the environment
    variables apply that init reads.

    Args:
        name: The prompt's name, such as support/triage.
        alias: An alias, such as production. Default: the newest version.
        version: The number of a version, instead of an alias.
        default: Used if Looptrace cannot be asked or has no such prompt: the text of a system message, a list of
            messages, or a dict with members of a version, such as messages and model_config.
        max_age: How long in seconds an answer is current while the stream is not connected.

    Raises:
        ValueError: An argument is invalid, also the default.
        PromptNotFound: There is no such prompt, alias or version.
        PromptUnavailable: Looptrace did not answer.
        PromptError: Looptrace refused, for example the key. With a default, only ValueError is raised.
    """
    key = _key(name, alias, version, max_age)
    fallback = None if default is None else version_of_default(name, default)
    try:
        content, source, age = _cache().get(key, max_age, fallback is not None)
    except Exception as error:
        if fallback is None:
            if isinstance(error, PromptError):
                raise
            raise PromptUnavailable(f"{key}: {type(error).__name__}: {error}") from error
        failed("read a prompt, so its default is used", error)
        content, source, age = fallback, "default", 0.0
    return Prompt(name, key.alias, content, source, age)


async def prompt_async(
    name: str,
    *,
    alias: str | None = None,
    version: int | None = None,
    default: Default | None = None,
    max_age: float = 60.0,
) -> Prompt:
    """The same as looptrace.prompt. It waits for the first answer in another thread."""
    if _cache().has(_key(name, alias, version, max_age)):
        return prompt(name, alias=alias, version=version, default=default, max_age=max_age)
    return await asyncio.to_thread(prompt, name, alias=alias, version=version, default=default, max_age=max_age)


def _key(name: str, alias: str | None, version: int | None, max_age: float) -> Key:
    if alias is not None and version is not None:
        raise ValueError("pass either alias or version")
    if not isinstance(name, str) or not name:
        raise ValueError(f"name={name!r} is not the name of a prompt")
    if alias is not None and (not isinstance(alias, str) or not alias):
        raise ValueError(f"alias={alias!r} is not the name of an alias")
    if version is not None and (not isinstance(version, int) or isinstance(version, bool) or version < 1):
        raise ValueError(f"version={version!r} is not the number of a version, which is from 1")
    if isinstance(max_age, bool) or not isinstance(max_age, int | float) or not max_age >= 0:
        raise ValueError(f"max_age={max_age!r} is not a number of seconds")
    return Key(name, (alias or LATEST) if version is None else None, version)
