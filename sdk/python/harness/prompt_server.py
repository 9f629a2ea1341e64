"""A scripted server of prompts: /v1/prompts/resolve and /v1/prompts/stream. Tests move aliases, send events, and
make it fail. The real one is in the tests of the product."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
_END = ("", "")


class PromptServer:
    """Without streams, /v1/prompts/stream is not found."""

    def __init__(self, *, streams: bool = True) -> None:
        self.versions: dict[str, list[Json]] = {}
        self.aliases: dict[tuple[str, str], int] = {}
        # The queries of resolve with the ETag that came along, their headers, and the number of requests for streams.
        self.asked: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.stream_requests = 0
        self.streams = streams
        # What every request for a prompt gets, if it is not 200: a status, headers and a detail; and after how long.
        self.status, self.more, self.detail, self.delay = 200, dict[str, str](), "scripted", 0.0
        self._open: list[queue.Queue[tuple[str, str]]] = []
        self._lock = threading.Lock()
        self.start(0)

    def start(self, port: int) -> None:
        server = self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign] # a client that left
        self.port = server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.end_streams()

    def save(self, name: str, text: str, **more: Any) -> int:
        """Saves a version and returns its number."""
        versions = self.versions.setdefault(name, [])
        number = len(versions) + 1
        versions.append({
            "prompt_id": f"id-of-{name}", "name": name, "version": number, "content_hash": f"{number:064}",
            "messages": [{"role": "system", "content": text}], "tools": [], "response_format": None, "model_config": {},
            "variables": {}, "template_format": "mustache", "missing": "error", "note": "",
            "created_by": {"email": None, "key": None}, "created_at": "2026-01-01T00:00:00Z", **more,
        })  # fmt: skip
        return number

    def move(self, name: str, alias: str, version: int | None, *, told: bool = True) -> None:
        """Moves or deletes an alias, and tells the streams."""
        if version is None:
            del self.aliases[name, alias]
        else:
            self.aliases[name, alias] = version
        if told:
            self.send("alias", {"prompt_id": f"id-of-{name}", "name": name, "alias": alias, "version": version})

    def delete(self, name: str) -> None:
        del self.versions[name]
        self.aliases = {key: version for key, version in self.aliases.items() if key[0] != name}
        self.send("alias", {"prompt_id": f"id-of-{name}", "name": name, "alias": None, "version": None})

    @property
    def open_streams(self) -> int:
        return len(self._open)

    def send(self, event: str, data: Json) -> None:
        with self._lock:
            for stream in self._open:
                stream.put((event, json.dumps(data)))

    def end_streams(self) -> None:
        with self._lock:
            for stream in self._open:
                stream.put(_END)

    def _resolve(self, query: dict[str, str]) -> tuple[int, Json]:
        name, versions = query["name"], self.versions.get(query["name"], [])
        alias = None if "version" in query else query.get("alias", "latest")
        number = int(query["version"]) if alias is None else self.aliases.get((name, alias), 0)
        if alias == "latest":
            number = len(versions)
        if not 0 < number <= len(versions):
            return 404, {"detail": "no such prompt"}
        return 200, {"alias": alias, "prompt_version": versions[number - 1]}

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - self is the handler's
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                if url.path == "/v1/prompts/stream":
                    server.stream_requests += 1
                    if server.streams:
                        self._stream()
                    else:
                        self._answer(404, {"detail": "no stream"})
                    return
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                etag = self.headers.get("If-None-Match")
                server.asked.append({**query, "etag": etag})
                server.headers.append(dict(self.headers))
                status, body = server._resolve(query)  # before the delay, as a slow network does
                time.sleep(server.delay)
                if server.status != 200:
                    self._answer(server.status, {"detail": server.detail}, **server.more)
                    return
                tag = f'"{body["prompt_version"]["version"]}"' if status == 200 else ""
                if tag and tag == etag:
                    self._answer(304, None)
                else:
                    self._answer(status, body, ETag=tag)

            def _answer(self, status: int, body: Json | None, **headers: str) -> None:
                raw = b"" if body is None else json.dumps(body).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Type", "application/json")
                if body is not None:
                    self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def _stream(self) -> None:
                events: queue.Queue[tuple[str, str]] = queue.Queue()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                with server._lock:
                    server._open.append(events)
                events.put(("ready", "{}"))
                try:
                    while (event := self._next(events)) != _END:
                        name, data = event
                        self._chunk(f"event: {name}\ndata: {data}\n\n" if name else ": alive\n\n")
                    self._chunk("")
                except OSError:
                    pass
                finally:
                    with server._lock, contextlib.suppress(ValueError):
                        server._open.remove(events)
                self.close_connection = True

            def _next(self, events: queue.Queue[tuple[str, str]]) -> tuple[str, str]:
                try:
                    return events.get(timeout=0.2)
                except queue.Empty:
                    return "", "alive"

            def _chunk(self, text: str) -> None:
                self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())
                self.wfile.flush()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        return Handler
