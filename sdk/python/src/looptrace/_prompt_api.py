"""The requests for prompts: GET /v1/prompts/resolve and /v1/prompts/stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import requests

from ._config import Config
from ._prompt import Version

LATEST = "latest"
# The stream has a comment every 15 seconds.
_SILENCE = 45.0
_MAX_LINE = 1 << 20
_MAX_RETRY_AFTER = 30.0


class PromptError(Exception):
    """A prompt could not be read. status is the HTTP status, or None without a response."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class PromptNotFound(PromptError):  # noqa: N818 - says what it is
    """The project has no such prompt, version or alias."""


class PromptUnavailable(PromptError):  # noqa: N818 - says what it is
    """Looptrace gave no answer, and this process has none from before."""


@dataclass(frozen=True)
class Key:
    """What a program asks for: a version by its number, or by an alias."""

    name: str
    alias: str | None
    version: int | None

    def __str__(self) -> str:
        return f"{self.name} version {self.version}" if self.alias is None else f"{self.name}@{self.alias}"


@dataclass(frozen=True)
class Answer:
    content: Version
    etag: str | None


@dataclass(frozen=True)
class Unchanged:
    """The ETag that was sent is still right."""


@dataclass(frozen=True)
class Failure:
    kind: Literal["missing", "refused", "unavailable"]
    message: str
    status: int | None = None
    retry_after: float = 0.0

    def error(self, key: Key) -> PromptError:
        kinds = {"missing": PromptNotFound, "refused": PromptError, "unavailable": PromptUnavailable}
        return kinds[self.kind](f"{key}: {self.message}", self.status)


Result: TypeAlias = "Answer | Unchanged | Failure"


class Api:
    def __init__(self, config: Config) -> None:
        self._url, self._key, self._project = config.web_url, config.api_key, config.project
        # requests refuses 0.
        self.timeout = max(config.timeout, 0.001)

    def _get(self, path: str, query: dict[str, Any], headers: dict[str, str], **options: Any) -> requests.Response:
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        if self._project:
            query["project_id"] = self._project
        return requests.get(f"{self._url}/v1/prompts/{path}", params=query, headers=headers, **options)  # noqa: S113

    def resolve(self, key: Key, etag: str | None) -> Result:
        if self._url is None:
            return Failure("refused", "the URL of Looptrace is not known: set LOOPTRACE_ENDPOINT")
        query: dict[str, Any] = {"name": key.name}
        if key.version is not None:
            query["version"] = key.version
        elif key.alias != LATEST:
            query["alias"] = key.alias
        try:
            answer = self._get("resolve", query, {"If-None-Match": etag} if etag else {}, timeout=self.timeout)
        except requests.RequestException as error:
            return Failure("unavailable", f"{type(error).__name__}: {error}")
        if answer.status_code == requests.codes.not_modified and etag:
            return Unchanged()
        if not answer.ok:
            return _failure(answer)
        try:
            return Answer(Version(answer.json()["prompt_version"]), answer.headers.get("ETag"))
        except (ValueError, KeyError, TypeError) as error:
            return Failure("unavailable", f"the answer is no prompt: {error}", answer.status_code)

    def open_stream(self) -> requests.Response:
        """Raises requests.RequestException."""
        headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
        return self._get("stream", {}, headers, stream=True, timeout=(self.timeout, _SILENCE))


def _failure(answer: requests.Response) -> Failure:
    status, said = answer.status_code, _problem(answer)
    match status:
        case 404 | 410:
            return Failure("missing", said, status)
        case 401:
            remedy = "set LOOPTRACE_API_KEY to a key with the scope prompts:read"
            return Failure("refused", f"{said}: {remedy}", status)
        case 403:
            return Failure("refused", f"{said}: the key needs the scope prompts:read", status)
        case 408 | 429:
            return Failure("unavailable", said, status, retry_after(answer))
    kind: Literal["refused", "unavailable"] = "unavailable" if status >= 500 or status < 400 else "refused"
    return Failure(kind, said, status, retry_after(answer))


def _problem(answer: requests.Response) -> str:
    """Returns the status with the detail of the problem."""
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = answer.text
    return f"HTTP {answer.status_code} {detail[:500]}".rstrip()


def retry_after(answer: requests.Response) -> float:
    try:
        return min(max(float(answer.headers.get("Retry-After") or 0), 0.0), _MAX_RETRY_AFTER)
    except ValueError:
        return 0.0


def events(answer: requests.Response) -> Iterator[tuple[str, str] | None]:
    """Yields the name and data of each event, and None for each other line.

    Raises requests.RequestException when the connection breaks, and ValueError for a line without end."""
    name, data = "", ""
    for line in _lines(answer):
        field, _, value = line.partition(":")
        if line == "" and name:
            yield name, data
            name, data = "", ""
            continue
        if field == "event":
            name = value.strip()
        elif field == "data":
            data += value.strip()
        yield None


def _lines(answer: requests.Response) -> Iterator[str]:
    """Yields a line as soon as it has come. Response.iter_lines waits for more, or splits \\r\\n in two."""
    line = bytearray()
    for byte in answer.iter_content(chunk_size=1):
        if byte != b"\n":
            line += byte
            if len(line) > _MAX_LINE:
                raise ValueError("a line of the stream is too long")
            continue
        yield line.decode("utf-8", "replace").rstrip("\r")
        line.clear()


def event_of(data: str) -> tuple[str, str | None]:
    """Returns the name of the prompt and the alias of an event `alias`. No alias is the whole prompt.

    Raises ValueError."""
    try:
        event = json.loads(data)
        return str(event["name"]), event["alias"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"an event of the stream is not understood: {error}") from None
