"""The package's logger. Failures of the package are logged and not raised into user code."""

from __future__ import annotations

import contextlib
import logging
import threading

from ._json import text_of

logger = logging.getLogger("looptrace")

_logged: set[tuple[str, type[BaseException]]] = set()
_lock = threading.Lock()


def failed(what: str, error: BaseException) -> None:
    """Logs a failure of this package. Each operation and exception type is logged once."""
    with _lock:
        if (key := (what, type(error))) in _logged:
            return
        _logged.add(key)
    warn("could not %s: %s: %s (logged once)", what, type(error).__name__, text_of(error))


def warn(message: str, *values: object) -> None:
    """Logs a warning. A filter of the program may raise, which must not reach the code that is recorded."""
    with contextlib.suppress(Exception):
        logger.warning(message, *values)
