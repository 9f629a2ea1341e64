"""An OTLP/HTTP receiver that keeps what it is sent as OTLP JSON, without what tells of the recording machine."""

import base64
import getpass
import gzip
import json
import os
import re
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from wire import read_body

REQUESTS = {"/v1/traces": ExportTraceServiceRequest, "/v1/logs": ExportLogsServiceRequest}
MACHINE_ATTRIBUTES = re.compile(r"^(host|process|os|container|k8s|cloud|faas|vcs)\.|^service\.instance\.id$|^code\.(file|line)")


class Receiver:
    def __init__(self, folders):
        """folders are replaced by "." wherever a payload names them."""
        self.received = {"/v1/traces": [], "/v1/logs": []}
        self.folders = sorted({os.path.realpath(f) for f in folders} | set(folders), key=len, reverse=True)
        self.lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = read_body(self)
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                # Some SDKs put a path of their own before /v1.
                path = "/v1/" + self.path.split("?")[0].rstrip("/").rsplit("/", 1)[-1]
                if path in REQUESTS:
                    if "json" in self.headers.get("Content-Type", ""):
                        value = json.loads(body)
                    else:
                        value = with_hex_ids(MessageToDict(REQUESTS[path].FromString(body), use_integers_for_enums=True))
                    with receiver.lock:
                        receiver.received[path].append(value)
                self.send_response(200)
                self.send_header("Content-Type", self.headers.get("Content-Type", "application/x-protobuf"))
                self.send_header("Content-Length", "0")
                self.end_headers()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def merged(self, path, member, replace):
        """All requests as one, with the texts of replace replaced; None where nothing came."""
        resources = [r for request in self.received[path] for r in request.get(member, [])]
        if not resources:
            return None
        merged = {}
        for resource in resources:
            scrub_resource(resource)
            scopes = "scopeSpans" if member == "resourceSpans" else "scopeLogs"
            key = json.dumps(resource.get("resource", {}), sort_keys=True)
            target = merged.setdefault(key, {**resource, scopes: []})
            for scope in resource.get(scopes, []):
                records = "spans" if scopes == "scopeSpans" else "logRecords"
                same = [s for s in target[scopes] if s.get("scope") == scope.get("scope") and s.get("schemaUrl") == scope.get("schemaUrl")]
                if same:
                    same[0][records] += scope[records]
                else:
                    target[scopes].append(scope)
        text = json.dumps({member: list(merged.values())}, ensure_ascii=False)
        for old, new in replace.items():
            text = text.replace(old, new)
        return json.loads(scrub(text, self.folders))


def with_hex_ids(value):
    if isinstance(value, dict):
        for key, member in value.items():
            if key in ("traceId", "spanId", "parentSpanId") and isinstance(member, str):
                value[key] = base64.b64decode(member).hex()
            else:
                with_hex_ids(member)
    elif isinstance(value, list):
        for member in value:
            with_hex_ids(member)
    return value


def scrub_resource(resource):
    attributes = resource.get("resource", {}).get("attributes", [])
    attributes[:] = [a for a in attributes if not MACHINE_ATTRIBUTES.match(a["key"])]
    for scope in resource.get("scopeSpans", []) + resource.get("scopeLogs", []):
        for span in scope.get("spans", []) + scope.get("logRecords", []):
            spans = span.get("attributes", [])
            spans[:] = [a for a in spans if not re.match(r"^(host\.|process\.|code\.(file|line)|thread\.|server\.port$|net(work)?\.peer)", a["key"])]
            for event in span.get("events", []):
                for attribute in event.get("attributes", []):
                    if attribute["key"] == "exception.stacktrace":
                        # The frames are of libraries; the last line says what went wrong.
                        lines = attribute["value"].get("stringValue", "").strip().splitlines()
                        attribute["value"] = {"stringValue": "\n".join(lines[:1] + lines[-1:])}


def scrub(text, folders):
    text = re.sub(r"(/[\w.+-]+)+/(site-packages|node_modules|lib/python3\.\d+)/", r"\2/", text)
    for folder in folders:
        text = text.replace(folder, ".")
    text = re.sub(r"127\.0\.0\.1:\d+|localhost:\d+", "127.0.0.1:8080", text)
    for name in (socket.gethostname(), os.path.expanduser("~")):
        if len(name) > 3:
            text = text.replace(name, "machine")
    user = getpass.getuser()
    if f'"{user}"' in text:
        print(f"warning: the payload says {user!r}, which is the name of the user", file=sys.stderr)
    return text
