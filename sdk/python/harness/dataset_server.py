"""A server that answers requests as a test scripts them, and keeps them and the spans that it gets. The real one is in
the tests of the product."""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from receiver import Received, spans_of

Json = dict[str, Any]


class DatasetServer:
    def __init__(self) -> None:
        # The answers by method and path, in their order; the last one is used again. Status 0 breaks the connection.
        self.answers: dict[tuple[str, str], list[tuple[int, Json]]] = {}
        self.headers: dict[str, str] = {}
        # The requests: method, path, query, body and headers.
        self.requests: list[tuple[str, str, dict[str, str], Json | None, dict[str, str]]] = []
        # Those of recorded runs.
        self.spans: list[Received] = []
        server = self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def script(self, method: str, path: str, *answers: tuple[int, Json]) -> None:
        self.answers[method, path] = list(answers)

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - self is the handler's
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(None)

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/v1/traces":
                    server.spans += spans_of(gzip.decompress(raw))
                    self.send_response(200)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self._answer(json.loads(raw))

            def _answer(self, body: Json | None) -> None:
                url = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                server.requests.append((self.command, url.path, query, body, dict(self.headers)))
                answers = server.answers.get((self.command, url.path), [(404, {"title": "Not Found"})])
                status, content = answers.pop(0) if len(answers) > 1 else answers[0]
                if status == 0:
                    self.close_connection = True
                    return
                raw = json.dumps(content).encode()
                self.send_response(status)
                for name, value in server.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        return Handler
