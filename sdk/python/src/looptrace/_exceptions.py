"""What a span tells of an exception that ends it."""

from __future__ import annotations

import asyncio
import builtins
from typing import Literal

# Python 3.10 has no groups.
_GROUP: type[BaseException] | tuple[()] = getattr(builtins, "BaseExceptionGroup", ())


def ending(error: BaseException) -> Literal["failed", "cancelled", "done"]:
    """Tells what the exception means for the span. A person who interrupts a program cancels it. A program that exits
    with code 0, and a reader that closes a generator early, are done."""
    if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
        return "cancelled"
    if isinstance(error, GeneratorExit):
        return "done"
    if isinstance(error, SystemExit):
        # Python exits with 0 for None and for this integer, and with 1 for any other object.
        return "done" if error.code is None or (isinstance(error.code, int) and error.code == 0) else "failed"
    if isinstance(error, _GROUP):
        members = {ending(member) for member in getattr(error, "exceptions", ())}
        return "failed" if "failed" in members else "cancelled" if "cancelled" in members else "done"
    return "failed"
