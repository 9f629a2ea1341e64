"""The state that init creates. Nothing is recorded before init or if init failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from opentelemetry.trace import Span, Tracer

from ._config import Config
from ._processor import QueueProcessor


@dataclass(frozen=True)
class Running:
    config: Config
    tracer: Tracer
    processor: QueueProcessor


class State:
    def __init__(self) -> None:
        self.running: Running | None = None
        # Kept after shutdown for looptrace.dropped().
        self.processor: QueueProcessor | None = None
        # Returns the open span of a framework that does not store spans in the context.
        self.framework_span: Callable[[], Span | None] | None = None


state = State()
