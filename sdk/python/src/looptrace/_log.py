"""The package's logger, and the boundary at which its own failures end."""

from __future__ import annotations

import logging
import threading

logger = logging.getLogger("looptrace")

_told: set[tuple[str, type[BaseException]]] = set()
_lock = threading.Lock()


def failed(what: str, error: BaseException) -> None:
    """Logs a failure of this package, each kind once: user code goes on without what failed."""
    with _lock:
        if (key := (what, type(error))) in _told:
            return
        _told.add(key)
    logger.warning("could not %s: %s: %s (told once)", what, type(error).__name__, error)
