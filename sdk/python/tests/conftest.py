from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from product import child_environment
from receiver import Receiver

import looptrace
from looptrace._log import _logged

_PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    started = Receiver()
    yield started
    started.stop()


@pytest.fixture
def started(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., looptrace.InitResult]]:
    """Calls init with the receiver as endpoint, and shuts down after the test."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    _logged.clear()

    def start(**settings: Any) -> looptrace.InitResult:
        result = looptrace.init(**{"endpoint": receiver.url, "api_key": "k", "instrument": False, **settings})
        assert result.enabled
        return result

    yield start
    looptrace.shutdown(2)


@pytest.fixture
def recorded(receiver: Receiver, started: Callable[..., looptrace.InitResult]) -> Callable[[], list[Any]]:
    """Starts recording. Calling it flushes and returns the received spans."""
    started()

    def flush() -> list[Any]:
        assert looptrace.flush(5)
        return receiver.spans

    return flush


Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def program() -> Program:
    """Runs a file of the folder programs or source text in a new process with these environment variables."""

    def run(source: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [_PROGRAMS / source] if source.endswith(".py") else ["-c", source]
        done = subprocess.run(
            [sys.executable, *command], env=child_environment(**environment), capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run
