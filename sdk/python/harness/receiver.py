"""An OTLP/HTTP endpoint that stores received spans and can delay or reject requests."""

from __future__ import annotations

import gzip
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass
class Received:
    """A received span."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    status: int
    message: str
    resource: dict[str, Any]
    scope: str
    links: list[dict[str, Any]] = field(default_factory=list)


class Receiver:
    """Responds with status and headers after delay seconds. Spans are stored if status is 200."""

    def __init__(self) -> None:
        self.spans: list[Received] = []
        self.requests: list[dict[str, str]] = []
        self.status, self.delay, self.headers = 200, 0.0, dict[str, str]()
        self.largest_batch = 1 << 30
        # The status of the next requests, whatever the others say.
        self.answers: list[int] = []
        server = self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign] # a client that left
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        # It looks that often whether it is to stop, which each test waits for.
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def named(self, name: str) -> Received:
        found = [span for span in self.spans if span.name == name]
        assert len(found) == 1, f"{len(found)} spans named {name} among {[span.name for span in self.spans]}"
        return found[0]

    def _handler(receiver) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - self is the handler's
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                spans = spans_of(body)
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.requests.append({"path": self.path, "spans": str(len(spans)), **headers})
                time.sleep(receiver.delay)
                status = receiver.status if len(spans) <= receiver.largest_batch else 413
                if receiver.answers:
                    status = receiver.answers.pop(0)
                if status == 200:
                    receiver.spans.extend(spans)
                self.send_response(status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        return Handler


def spans_of(body: bytes) -> list[Received]:
    request = ExportTraceServiceRequest()
    request.ParseFromString(body)
    return [
        Received(
            name=span.name,
            trace_id=span.trace_id.hex(),
            span_id=span.span_id.hex(),
            parent_id=span.parent_span_id.hex(),
            attributes=_plain(span.attributes),
            events=[(event.name, _plain(event.attributes)) for event in span.events],
            status=span.status.code,
            message=span.status.message,
            resource=_plain(resource.resource.attributes),
            scope=scope.scope.name,
            links=[_plain(link.attributes) for link in span.links],
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _plain(attributes: Any) -> dict[str, Any]:
    def value(given: Any) -> Any:
        kind = given.WhichOneof("value")
        if kind == "array_value":
            return [value(item) for item in given.array_value.values]
        return getattr(given, kind)

    return {attribute.key: value(attribute.value) for attribute in attributes}
