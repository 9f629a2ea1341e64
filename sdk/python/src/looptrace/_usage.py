"""The tokens and models of the model calls of a run, from its spans."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from . import _keys
from ._content import is_model_call

# By OpenTelemetry, by its older conventions, and by OpenInference.
_INPUT = (_keys.INPUT_TOKENS, "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_OUTPUT = (_keys.OUTPUT_TOKENS, "gen_ai.usage.completion_tokens", "llm.token_count.completion")
_MAX_MODEL = 500
_MODEL = (_keys.RESPONSE_MODEL, _keys.REQUEST_MODEL, "llm.model_name")


class Usage:
    """What the model calls of one run used. A call that does not say what it used makes the sum unknown."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._input: list[int] = []
        self._output: list[int] = []
        self._models: set[str] = set()

    def add(self, attributes: Mapping[str, Any] | None) -> None:
        """Adds a span that has ended, if it is a model call."""
        if attributes is None or not is_model_call(attributes):
            return
        with self._lock:
            self._calls += 1
            for keys, counts in ((_INPUT, self._input), (_OUTPUT, self._output)):
                count = _first(attributes, keys)
                if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
                    counts.append(count)
            if isinstance(model := _first(attributes, _MODEL), str):
                self._models.add(model[:_MAX_MODEL])

    @property
    def tokens(self) -> dict[str, int] | None:
        """The sums, as the API takes them. None if they are not known."""
        if not self._calls or not len(self._input) == len(self._output) == self._calls:
            return None
        return {"input_tokens": sum(self._input), "output_tokens": sum(self._output)}

    @property
    def model(self) -> str | None:
        """The model, if all calls have the same."""
        return next(iter(self._models)) if len(self._models) == 1 else None


def _first(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((attributes[key] for key in keys if attributes.get(key) is not None), None)
