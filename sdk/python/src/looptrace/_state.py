"""What init has made, for the rest of the package. Before init, and when it failed, nothing is recorded."""

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
        # What was dropped is told after shutdown, too.
        self.processor: QueueProcessor | None = None
        # The span of a framework that does not put its spans into the context, where one is open.
        self.framework_span: Callable[[], Span | None] | None = None


state = State()
