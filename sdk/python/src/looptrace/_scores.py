"""Scores of runs that are over, written over REST."""

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

_LONGEST_COMMENT = 4000
_CUT_NOTE = 64
_LONGEST_PAUSE = 2.0
# Answers after which the same request may succeed: 404 until the run is stored.
_AGAIN = frozenset({404, 429, 502, 503, 504})


class ScoreError(Exception):
    """A score was not written. status is the answer's, None where there was none."""

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
    """Judges a run that was recorded before, or one of its spans, and waits until that is stored.

    It needs no init: without one it reads LOOPTRACE_ENDPOINT and LOOPTRACE_API_KEY. The key needs the scope runs:write.
    A run that is not stored yet is waited for, and a service that is away.

    Args:
        run_id: As current_run_id tells it, and the product shows it.
        name: What is judged.
        value: A number, a truth value, or the name of a category. A comment will do instead.
        comment: Why, at most 4,000 characters.
        span_id: The span that is judged, 16 hexadecimal digits; without it the run as a whole.
        score_id: A UUID of your own. The same one again replaces what it wrote.
        timeout: Seconds in all, init's without it.
        raises: Whether a failure raises ScoreError. Without it, it is logged and the result is None.

    Returns:
        The score's id.
    """
    try:
        config = resolve() if state.running is None else state.running.config
        score_id = str(uuid.uuid4() if score_id is None else uuid.UUID(score_id))
        body = {"id": score_id, "span_id": span_id, **_judgement(config, name, value, comment)}
        with suppress_instrumentation():
            _post(config, str(uuid.UUID(run_id)), body, config.timeout if timeout is None else timeout)
    except Exception as error:
        if raises:
            raise error if isinstance(error, ScoreError) else ScoreError(f"{type(error).__name__}: {error}") from error
        failed("score a run", error)
        return None
    return score_id


def _judgement(config: Config, name: str, value: float | bool | str | None, comment: str | None) -> dict[str, Any]:
    """What is said, after redact, to which its parts have the keys that they have in spans."""
    if value is not None and not isinstance(value, bool | str):
        value = float(value)
    if comment is not None and len(comment) > _LONGEST_COMMENT:
        comment = cut(comment, _LONGEST_COMMENT - _CUT_NOTE)
    rule = (lambda _key, said: said) if config.redact is None else redacting(config.redact)
    value_key = _keys.EVALUATION_LABEL if isinstance(value, str) else _keys.EVALUATION_VALUE
    said = {
        "name": (_keys.EVALUATION_NAME, name),
        "value": (value_key, value),
        "comment": (_keys.EVALUATION_EXPLANATION, comment),
    }
    return {part: None if given is None else rule(key, given) for part, (key, given) in said.items()}


def _post(config: Config, run_id: str, body: dict[str, Any], timeout: float) -> None:
    """Tries until the product has it, says that it never will, or the time is over."""
    if config.web_url is None:
        raise ScoreError("the product's own address is not known: set LOOPTRACE_ENDPOINT")
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
        if (status is not None and status not in _AGAIN) or time.monotonic() + pause >= end:
            raise ScoreError(problem, status)
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
