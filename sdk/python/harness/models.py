"""A scripted model server that speaks the protocols of OpenAI (chat completions, responses, embeddings) and Anthropic
(messages), streamed or not. It holds no state: what it answers follows from the request.

- A request with tools and without a tool's result gets a call of the first tool, every text argument "Paris".
- Any other gets ANSWER; where a tool named final_answer is offered, as a call of it.
- A message that holds "fail with N" gets status N.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER = "It is raining in Paris."
INPUT, CACHED, OUTPUT, REASONING = 42, 10, 7, 3
MODEL_SUFFIX = "-2026-01-01"  # the response names a more specific model than the request

Json = dict[str, Any]


class Models:
    """The server, running between start and stop."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Json]] = []
        server = self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self.requests))
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, name="models", daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def environment(self) -> dict[str, str]:
        """Returns the environment variables that make clients call this server."""
        return {
            "OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": self.url + "/v1", "OPENAI_API_BASE": self.url + "/v1",
            "ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": self.url,
        }  # fmt: skip


def _handler(log: list[tuple[str, Json]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body: Json = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            log.append((self.path, body))
            if wanted := re.search(r"fail with (\d{3})", json.dumps(body)):
                problem = {"message": "scripted failure", "type": "server_error", "code": None}
                self._json(int(wanted[1]), {"type": "error", "error": problem})
                return
            answer = _ROUTES.get(self.path.partition("?")[0].removeprefix("/v1"))
            if answer is None:
                self._json(404, {"error": {"message": f"no route {self.path}"}})
                return
            events = answer(body)
            if body.get("stream"):
                self._stream(events)
            else:
                self._json(200, next(events)[1])

        def _json(self, status: int, value: Json) -> None:
            raw = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def _stream(self, events: Iterator[tuple[str | None, Json | str]]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for name, value in events:
                text = value if isinstance(value, str) else json.dumps(value)
                self.wfile.write((f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode())
                self.wfile.flush()
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    return Handler


def _arguments(schema: Json) -> Json:
    """Returns arguments for a tool's schema."""
    samples: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    properties: dict[str, Json] = (schema or {}).get("properties") or {}
    return {name: samples.get(str(about.get("type")), "Paris") for name, about in properties.items()}


def _plan(tools: list[tuple[str, Json]], has_result: bool) -> tuple[str, Json] | None:
    """Returns the tool to call and its arguments, or None to answer with text."""
    by_name = dict(tools)
    if not has_result:
        name = next((name for name, _ in tools if name != "final_answer"), None)
        return None if name is None else (name, _arguments(by_name[name]))
    return ("final_answer", {"answer": ANSWER}) if "final_answer" in by_name else None


def _words(body: Json) -> str:
    """Returns the answer in the requested format: DSPy fields, a CrewAI final answer, or plain text."""
    asked = json.dumps(body.get("messages") or body.get("input") or "")
    if "[[ ## completed ## ]]" in asked:
        fields = re.findall(r"\[\[ ## (\w+) ## \]\]", asked)
        name = next((field for field in reversed(fields) if field != "completed"), "answer")
        reasoning = "[[ ## reasoning ## ]]\nThe sky.\n\n" if "reasoning" in fields and name != "reasoning" else ""
        return f"{reasoning}[[ ## {name} ## ]]\n{ANSWER}\n\n[[ ## completed ## ]]"
    if "Final Answer:" in asked:
        return f"Thought: I now can give a great answer\nFinal Answer: {ANSWER}"
    return ANSWER


def _pieces(text: str) -> list[str]:
    middle = len(text) // 2
    return [text[:middle], text[middle:]]


# OpenAI, chat completions.


def _chat(body: Json) -> Iterator[tuple[str | None, Any]]:
    tools = [(tool["function"]["name"], tool["function"].get("parameters") or {}) for tool in body.get("tools") or []]
    # smolagents sends a tool's result as a user message.
    has_result = any(
        message.get("role") == "tool" or "Observation:" in json.dumps(message.get("content"))
        for message in body["messages"]
        if message.get("role") != "system"
    )
    call = _plan(tools, has_result) if body.get("tool_choice") != "none" else None
    model = body["model"] + MODEL_SUFFIX
    # LangGraph takes messages of one id for one.
    frame = {
        "id": f"chatcmpl-{len(body['messages'])}",
        "created": 1767225600,
        "model": model,
        "system_fingerprint": "fp_1",
    }
    usage = {
        "prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT,
        "prompt_tokens_details": {"cached_tokens": CACHED},
        "completion_tokens_details": {"reasoning_tokens": REASONING},
    }  # fmt: skip
    finish = "tool_calls" if call else "stop"
    if not body.get("stream"):
        message: Json = {"role": "assistant", "content": None if call else _words(body)}
        if call:
            message["tool_calls"] = [_function("call_1", *call)]
        choice = {"index": 0, "message": message, "finish_reason": finish}
        yield None, {**frame, "object": "chat.completion", "choices": [choice], "usage": usage}
        return
    frame["object"] = "chat.completion.chunk"

    def chunk(delta: Json, reason: str | None = None) -> tuple[None, Json]:
        return None, {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": None if call else ""})
    if call:
        yield chunk({"tool_calls": [{"index": 0, **_function("call_1", *call)}]})
    else:
        for piece in _pieces(_words(body)):
            yield chunk({"content": piece})
    yield chunk({}, finish)
    if (body.get("stream_options") or {}).get("include_usage"):
        yield None, {**frame, "choices": [], "usage": usage}
    yield None, "[DONE]"


def _function(call_id: str, name: str, arguments: Json) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


# OpenAI, responses.


def _responses(body: Json) -> Iterator[tuple[str | None, Any]]:
    tools = [(tool["name"], tool.get("parameters") or {}) for tool in body.get("tools") or [] if tool.get("name")]
    given = body["input"] if isinstance(body["input"], list) else []
    call = _plan(tools, any(item.get("type") == "function_call_output" for item in given))
    if call:
        item: Json = {
            "type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed",
            "name": call[0], "arguments": json.dumps(call[1]),
        }  # fmt: skip
    else:
        text = {"type": "output_text", "text": _words(body), "annotations": [], "logprobs": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    whole: Json = {
        "id": "resp_1", "object": "response", "created_at": 1767225600, "status": "completed",
        "model": body["model"] + MODEL_SUFFIX, "output": [item], "error": None, "incomplete_details": None,
        "instructions": body.get("instructions"), "metadata": {}, "parallel_tool_calls": True, "temperature": 1.0,
        "tool_choice": "auto", "tools": body.get("tools") or [], "top_p": 1.0,
        "usage": {
            "input_tokens": INPUT, "output_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT,
            "input_tokens_details": {"cached_tokens": CACHED, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": REASONING},
        },
    }  # fmt: skip
    if not body.get("stream"):
        yield None, whole
        return
    number = iter(range(100))

    def event(kind: str, **fields: Any) -> tuple[str, Json]:
        return kind, {"type": kind, "sequence_number": next(number), **fields}

    yield event("response.created", response={**whole, "status": "in_progress", "output": [], "usage": None})
    yield event("response.output_item.added", output_index=0, item={**item, "status": "in_progress"})
    if call:
        yield event(
            "response.function_call_arguments.done",
            item_id="fc_1",
            output_index=0,
            name=call[0],
            arguments=item["arguments"],
        )
    else:
        for piece in _pieces(item["content"][0]["text"]):
            yield event(
                "response.output_text.delta", item_id="msg_1", output_index=0, content_index=0, delta=piece, logprobs=[]
            )
    yield event("response.output_item.done", output_index=0, item=item)
    yield event("response.completed", response=whole)


# OpenAI, embeddings.


def _embeddings(body: Json) -> Iterator[tuple[str | None, Any]]:
    given = body["input"] if isinstance(body["input"], list) else [body["input"]]
    data = [{"object": "embedding", "index": index, "embedding": [0.1, 0.2, 0.3]} for index in range(len(given))]
    usage = {"prompt_tokens": INPUT, "total_tokens": INPUT}
    yield None, {"object": "list", "data": data, "model": body["model"], "usage": usage}


# Anthropic, messages. Its input_tokens do not include cached tokens.


def _messages(body: Json) -> Iterator[tuple[str | None, Any]]:
    tools = [(tool["name"], tool.get("input_schema") or {}) for tool in body.get("tools") or []]
    blocks = [
        block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]  # fmt: skip
    call = _plan(tools, any(block.get("type") == "tool_result" for block in blocks))
    block: Json
    if call:
        block = {"type": "tool_use", "id": "toolu_1", "name": call[0], "input": call[1]}
    else:
        block = {"type": "text", "text": _words(body)}
    reason = "tool_use" if call else "end_turn"
    usage = {
        "input_tokens": INPUT - CACHED,
        "output_tokens": OUTPUT,
        "cache_read_input_tokens": CACHED,
        "cache_creation_input_tokens": 0,
    }
    whole: Json = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [block],
        "stop_reason": reason, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    if not body.get("stream"):
        yield None, whole
        return

    def event(kind: str, **fields: Any) -> tuple[str, Json]:
        return kind, {"type": kind, **fields}

    yield event(
        "message_start", message={**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    )
    empty = {**block, "input": {}} if call else {"type": "text", "text": ""}
    yield event("content_block_start", index=0, content_block=empty)
    if call:
        yield event(
            "content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        )
    else:
        for piece in _pieces(block["text"]):
            yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
    yield event("content_block_stop", index=0)
    yield event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": OUTPUT})
    yield event("message_stop")


_ROUTES = {
    "/chat/completions": _chat, "/responses": _responses, "/embeddings": _embeddings, "/messages": _messages,
}  # fmt: skip
