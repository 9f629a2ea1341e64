"""Scores for recorded runs, written with the REST API."""

from __future__ import annotations

import time
import uuid
from typing import Any

import requests
from opentelemetry.instrumentation.utils import suppress_instrumentation

from . import _keys
from ._config import Config, resolve
from ._content import redacting
from ._json import cut
from ._log import failed
from ._state import state

_MAX_COMMENT = 4000
_CUT_NOTE = 64
_MAX_PAUSE = 2.0
# Retryable status codes. The API returns 404 until the run is stored.
_RETRYABLE = frozenset({404, 429, 502, 503, 504})


class ScoreError(Exception):
    """A score could not be written. status is the HTTP status, or None without a response."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def score_run(
    run_id: str,
    name: str,
    value: float | bool | str | None = None,
    *,
    comment: str | None = None,
    span_id: str | None = None,
    score_id: str | None = None,
    timeout: float | None = None,
    raises: bool = False,
) -> str | None:
    """Adds a score to a recorded run or one of its spans, and waits until it is stored.

    Without init, it reads LOOPTRACE_ENDPOINT and LOOPTRACE_API_KEY. The key needs the scope runs:write. It retries
    while the run is not stored yet or the service is not available.

    Args:
        run_id: The run's id, as returned by current_run_id.
        name: The name of the score.
        value: A number, a bool or the name of a category. Optional if there is a comment.
        comment: An explanation. It is truncated to 4,000 characters.
        span_id: The scored span, as 16 hexadecimal digits. Default: the whole run.
        score_id: A UUID for the score. Using it again replaces the score. Default: a new one.
        timeout: The total time limit in seconds. Default: the timeout of init.
        raises: True raises ScoreError on failure. By default, failures are logged and the result is None.

    Returns:
        The score's id, or None on failure.
    """
    try:
        config = resolve() if state.running is None else state.running.config
        score_id = str(uuid.uuid4() if score_id is None else uuid.UUID(score_id))
        body = {"id": score_id, "span_id": span_id, **_redacted(config, name, value, comment)}
        with suppress_instrumentation():
            _post(config, str(uuid.UUID(run_id)), body, config.timeout if timeout is None else timeout)
    except Exception as error:
        if raises:
            raise error if isinstance(error, ScoreError) else ScoreError(f"{type(error).__name__}: {error}") from error
        failed("score a run", error)
        return None
    return score_id


def _redacted(config: Config, name: str, value: float | bool | str | None, comment: str | None) -> dict[str, Any]:
    """Returns the fields of the score after redact, which gets the attribute keys that spans use."""
    if value is not None and not isinstance(value, bool | str):
        value = float(value)
    if comment is not None and len(comment) > _MAX_COMMENT:
        comment = cut(comment, _MAX_COMMENT - _CUT_NOTE)
    rule = (lambda _key, value: value) if config.redact is None else redacting(config.redact)
    value_key = _keys.EVALUATION_LABEL if isinstance(value, str) else _keys.EVALUATION_VALUE
    fields = {
        "name": (_keys.EVALUATION_NAME, name),
        "value": (value_key, value),
        "comment": (_keys.EVALUATION_EXPLANATION, comment),
    }
    return {part: None if given is None else rule(key, given) for part, (key, given) in fields.items()}


def _post(config: Config, run_id: str, body: dict[str, Any], timeout: float) -> None:
    """Posts the score and retries until it is stored, permanently rejected, or the timeout expires."""
    if config.web_url is None:
        raise ScoreError("the URL of Looptrace is not known: set LOOPTRACE_ENDPOINT")
    url = f"{config.web_url}/v1/runs/{run_id}/scores"
    headers = {"Authorization": f"Bearer {config.api_key}"} if config.api_key else {}
    end, pause = time.monotonic() + timeout, 0.1
    while True:
        status, asked = None, 0.0
        try:
            left = max(end - time.monotonic(), 0.001)
            answer = requests.post(url, json=body, headers=headers, timeout=left)
        except (requests.ConnectionError, requests.Timeout) as error:
            problem = f"{type(error).__name__}: {error}"
        else:
            if answer.ok:
                return
            status, problem = answer.status_code, f"HTTP {answer.status_code} {answer.text[:500]}"
            seconds = answer.headers.get("Retry-After", "")
            asked = float(seconds) if seconds.isdecimal() else 0.0
        pause = max(pause, asked)
        if (status is not None and status not in _RETRYABLE) or time.monotonic() + pause >= end:
            raise ScoreError(problem, status)
        time.sleep(pause)
        pause = min(pause * 2, _MAX_PAUSE)
