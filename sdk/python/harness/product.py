"""An installation for tests: `looptrace up` from _build on free ports, with a user and a key."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import requests

T = TypeVar("T")

_READY_SECONDS = 120
_SCOPES = [
    "ingest:write", "runs:read", "runs:write", "prompts:read", "prompts:write", "datasets:read", "datasets:write",
    "evals:read", "evals:write", "replays:read",
]  # fmt: skip
_WEB, _API, _HEALTH = 7090, 7081, 7082
# Below those for outgoing connections.
_LOWEST, _HIGHEST = 10000, 32000
_PORTS = (4317, 4318, 7080, _API, _HEALTH, 7083, 7084, 7085, 7087, 7088, _WEB)


def checkout() -> Path:
    """Returns the root of the repository."""
    return Path(__file__).resolve().parents[3]


def wait(what: str, look: Callable[[], T | None], seconds: float = 30) -> T:
    """Calls look until it returns a value."""
    end = time.monotonic() + seconds
    while (found := look()) is None:
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.02)
    return found


class Product:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._offset = _free_offset()
        self.url = f"http://127.0.0.1:{_WEB + self._offset}"
        self.http = requests.Session()
        self.http.trust_env = False
        self._process: subprocess.Popen[bytes] | None = None
        self.project = self.key = ""
        self._browser: dict[str, str] = {}

    def start(self) -> None:
        """Starts it. After stop, the same installation again."""
        binary = checkout() / "_build" / "looptrace"
        if not binary.exists():
            raise FileNotFoundError(f"{binary} does not exist; run make build")
        with (self._folder / "launcher.log").open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603
                [binary, "up", "--data", self._folder / "data", "--port-offset", str(self._offset)],
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
                start_new_session=True,
            )
        wait("the product is ready", self._ready, _READY_SECONDS)
        if not self.key:
            self._set_up()

    def _ready(self) -> bool | None:
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError(f"the launcher ended:\n{(self._folder / 'launcher.log').read_text()}")
        try:
            urls = [f"http://127.0.0.1:{port + self._offset}/readyz" for port in (_HEALTH, _API, _WEB)]
            return all(self.http.get(url, timeout=5).ok for url in urls) or None
        except requests.RequestException:
            return None

    def _set_up(self) -> None:
        browser = {"Origin": self.url}
        answer = self.http.post(
            self.url + "/v1/setup",
            json={"email": "first@example.com", "password": "correct horse battery staple", "org_name": "Example"},
            headers=browser, timeout=30,
        )  # fmt: skip
        answer.raise_for_status()
        self.project = answer.json()["projects"][0]["id"]
        # Set explicitly, because requests does not send a Secure cookie over plain HTTP.
        browser["Cookie"] = answer.headers["Set-Cookie"].partition(";")[0]
        self._browser = browser
        self.key = self.create_key(*_SCOPES)

    def create_key(self, *scopes: str) -> str:
        answer = self.http.post(
            self.url + "/v1/keys", json={"project_id": self.project, "name": "sdk", "scopes": scopes},
            headers=self._browser, timeout=30,
        )  # fmt: skip
        answer.raise_for_status()
        self.http.cookies.clear()
        return str(answer.json()["key"])

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        if self._process.wait(60) != 0:
            raise RuntimeError(f"the launcher ended:\n{(self._folder / 'launcher.log').read_text()}")
        self._process = None

    def environment(self) -> dict[str, str]:
        """Returns the environment variables for a recorded program."""
        return {"LOOPTRACE_ENDPOINT": self.url, "LOOPTRACE_API_KEY": self.key, "LOOPTRACE_PROJECT": self.project}

    def get(self, path: str) -> Any | None:
        """Returns a response of the API, or None if there is none."""
        answer = self.http.get(self.url + path, headers={"Authorization": f"Bearer {self.key}"}, timeout=30)
        if answer.status_code == requests.codes.not_found:
            return None
        answer.raise_for_status()
        return json.loads(answer.text)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        headers = {"Authorization": f"Bearer {self.key}"}
        answer = self.http.post(self.url + path, json=body, headers=headers, timeout=30)
        assert answer.ok, answer.text
        return answer.json()

    def run(self, run_id: str, spans: int = 1) -> dict[str, Any]:
        """Waits for a run that has ended and has that many spans."""

        def look() -> dict[str, Any] | None:
            run: dict[str, Any] | None = self.get(f"/v1/runs/{run_id}")
            return run if run is not None and run["span_count"] >= spans and run["status"] != "running" else None

        return wait(f"run {run_id} with {spans} spans", look)

    def spans(self, run_id: str) -> list[dict[str, Any]]:
        """Returns the complete spans of a run in start order."""
        listed = self.get(f"/v1/runs/{run_id}/spans?limit=500") or {"data": []}
        return [self.get(f"/v1/runs/{run_id}/spans/{span['span_id']}") or {} for span in listed["data"]]

    def runs(self, **filters: str) -> list[dict[str, Any]]:
        query = "&".join(
            f"{key}={value}"
            for key, value in {"project_id": self.project, "limit": "500", "traces": "all", **filters}.items()
        )
        answer: dict[str, list[dict[str, Any]]] = self.get(f"/v1/runs?{query}") or {"data": []}
        return answer["data"]


def _die_with_parent() -> None:
    """Makes the launcher end with the tests, even if these are killed. Linux only."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _free_offset() -> int:
    """Returns an offset of free ports, and reserves them while this process lives, as test/freeport does."""
    folder = Path(tempfile.gettempdir()) / "looptrace-test-ports"
    folder.mkdir(mode=0o777, exist_ok=True)
    for _ in range(100):
        offset = random.randint(_LOWEST - min(_PORTS), _HIGHEST - max(_PORTS))  # noqa: S311
        held = []
        try:
            for port in _PORTS:
                held.append(os.open(folder / str(port + offset), os.O_CREAT | os.O_RDWR, 0o666))
                fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port + offset))
        except OSError:
            for lock in held:
                os.close(lock)
            continue
        return offset
    raise RuntimeError("no free ports")


def child_environment(**more: str) -> dict[str, str]:
    """Returns this environment without variables that configure recording, for programs of tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOOPTRACE_", "OTEL_"))}
    return {**kept, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", **more}
