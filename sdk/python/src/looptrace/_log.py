"""The package's logger. Failures of the package are logged and not raised into user code."""

from __future__ import annotations

import logging
import threading

logger = logging.getLogger("looptrace")

_logged: set[tuple[str, type[BaseException]]] = set()
_lock = threading.Lock()


def failed(what: str, error: BaseException) -> None:
    """Logs a failure of this package. Each operation and exception type is logged once."""
    with _lock:
        if (key := (what, type(error))) in _logged:
            return
        _logged.add(key)
    logger.warning("could not %s: %s: %s (logged once)", what, type(error).__name__, error)
