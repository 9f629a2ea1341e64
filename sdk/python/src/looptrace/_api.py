"""Requests of the API that are repeated while Looptrace is away or busy, and done once."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import requests
from opentelemetry.instrumentation.utils import suppress_instrumentation
from urllib3.exceptions import NewConnectionError

from ._config import Config
from ._prompt_api import retry_after

# How long a request is repeated by default, and how long its answer may take. The service works on a write for at most
# 50 seconds.
_PATIENCE = 30.0
_SILENCE = 60.0
_MAX_PAUSE = 2.0
_MAX_NAMED = 10
RETRYABLE = frozenset({429, 502, 503, 504})
# The first attempt of a repeated write is still running.
_UNDER_WAY = "request_under_way"


class ApiError(Exception):
    """status is the HTTP status, or None without a response. code is that of the API."""

    def __init__(self, message: str, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Api:
    """A subclass says which errors it raises, which scopes a key needs by the method, and what a write may have done
    whose answers were lost."""

    error: ClassVar[type[ApiError]]
    not_found: ClassVar[type[ApiError]]
    scopes: ClassVar[Mapping[str, str]]
    uncertain: ClassVar[str]

    def __init__(self, config: Config) -> None:
        if config.web_url is None:
            raise self.error("the URL of Looptrace is not known: set LOOPTRACE_ENDPOINT")
        self.url, self._key = config.web_url, config.api_key
        self.project = config.project
        # How long a request is repeated.
        self.patience = _PATIENCE
        # requests refuses 0.
        self._timeout = (max(config.timeout, 0.001), max(config.timeout, _SILENCE))

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        return self._request("GET", path, {name: value for name, value in query.items() if value is not None}, None, ())

    def post(self, path: str, body: bytes, keys: Sequence[str | None] = ()) -> dict[str, Any]:
        """Posts once, however often the request is repeated. keys are those of the items, for messages."""
        return self._request("POST", path, {}, body, keys)

    def project_id(self) -> str:
        """Returns the project of the settings, or that of the key."""
        if self.project is None:
            projects = self.get("/v1/me")["projects"]
            if len(projects) != 1:
                raise self.error(f"the key is for {len(projects)} projects: set LOOPTRACE_PROJECT to the id of one")
            self.project = str(projects[0]["id"])
        return self.project

    def scopes_of(self, method: str, path: str) -> str:  # noqa: ARG002 - a subclass uses it
        """Returns what a key needs for a request."""
        return self.scopes[method]

    def _request(
        self, method: str, path: str, query: dict[str, Any], body: bytes | None, keys: Sequence[str | None]
    ) -> dict[str, Any]:
        headers = {} if body is None else {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        end, pause, perhaps_written = time.monotonic() + self.patience, 0.1, False
        while True:
            asked = 0.0
            try:
                with suppress_instrumentation():
                    answer = requests.request(
                        method, self.url + path, params=query, data=body, headers=headers, timeout=self._timeout
                    )
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
                perhaps_written = perhaps_written or (body is not None and not _is_unconnected(error))
                failure = self.error(f"{type(error).__name__}: {error}")
            except requests.RequestException as error:
                raise self.error(f"{type(error).__name__}: {error}") from error
            else:
                if answer.ok:
                    return self._json(answer)
                failure = self._failure(answer, self.scopes_of(method, path), keys)
                if answer.status_code not in RETRYABLE and failure.code != _UNDER_WAY:
                    raise failure
                asked = retry_after(answer)
            pause = max(pause, asked)
            if time.monotonic() + pause >= end:
                if perhaps_written:
                    failure.args = (f"{failure}; {self.uncertain}",)
                raise failure
            time.sleep(pause)
            pause = min(pause * 2, _MAX_PAUSE)

    def _json(self, answer: requests.Response) -> dict[str, Any]:
        try:
            body = answer.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise self.error("the answer is not that of Looptrace: check LOOPTRACE_ENDPOINT", answer.status_code)
        return body

    def _failure(self, answer: requests.Response, scopes: str, keys: Sequence[str | None]) -> ApiError:
        status = answer.status_code
        try:
            problem = answer.json()
            code, fields = problem.get("code"), problem.get("errors") or []
            parts = [str(problem.get("detail") or problem["title"])]
            parts += [f"{_place(str(field['location']), keys)}: {field['message']}" for field in fields[:_MAX_NAMED]]
            if len(fields) > _MAX_NAMED:
                parts.append(f"and {len(fields) - _MAX_NAMED} more")
            said = "; ".join(part.rstrip(".") for part in parts)
        except (ValueError, KeyError, TypeError, AttributeError):
            code, said = None, answer.text[:500]
        remedies = {
            401: f": set LOOPTRACE_API_KEY to a key with {scopes}",
            403: f": the key needs {scopes}",
        }
        kind = self.not_found if status == requests.codes.not_found else self.error
        return kind(f"HTTP {status} {said}".rstrip() + remedies.get(status, ""), status, code)


def _is_unconnected(error: requests.RequestException) -> bool:
    """Reports whether the request cannot have reached the service."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(error, requests.ConnectTimeout) or isinstance(reason, NewConnectionError)


def _place(location: str, keys: Sequence[str | None]) -> str:
    """Returns the location of an error in a request, with the key of the item."""
    location = location.removeprefix("body.")
    found = re.match(r"items\[(\d+)\]", location)
    if found is None or int(found[1]) >= len(keys) or (key := keys[int(found[1])]) is None:
        return location
    return f"{location} (key {key})"


def encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
