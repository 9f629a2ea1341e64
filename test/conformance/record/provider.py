"""A model provider that answers from a script, in the protocols of OpenAI, Anthropic and Gemini.

It writes down what it was asked and what it answered in the words of the newest GenAI conventions, so that the
expectations of a scenario come from what was said and not from what an instrumentation or a mapping made of it.

A reply of the script: {"text", "reasoning", "tool_calls": [{"id", "name", "arguments"}], "usage": {"input", "output",
"cache_read", "cache_write", "reasoning"}, "finish"}, where input includes what was cached and output includes
reasoning; or {"status": 429, "message": "..."} for a refusal; or {"hang": 2} for no answer within so many seconds.
One with "repeat": true answers all further calls as well.
"""

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from wire import read_body

FIRST_CHUNK_DELAY = 0.05


def text_part(text):
    return {"type": "text", "content": text}


def tool_call_part(call_id, name, arguments):
    if isinstance(arguments, str):
        arguments = json.loads(arguments or "{}")
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def tool_response_part(call_id, response):
    return {"type": "tool_call_response", "id": call_id, "response": response}


def plain(content):
    """The text of OpenAI or Anthropic content that is a string or a list of text parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content


class OpenAIChat:
    path = re.compile(r"/chat/completions$")
    operation, provider = "chat", "openai"

    @staticmethod
    def read(body, _path):
        system, messages = [], []
        for message in body["messages"]:
            role, parts = message["role"], []
            if role in ("system", "developer"):
                system.append(plain(message["content"]))
                continue
            if role == "tool":
                parts.append(tool_response_part(message["tool_call_id"], plain(message["content"])))
            else:
                if plain(message.get("content")):
                    parts.append(text_part(plain(message["content"])))
                for call in message.get("tool_calls") or []:
                    function = call["function"]
                    parts.append(tool_call_part(call["id"], function["name"], function["arguments"]))
            messages.append({"role": role, "parts": parts})
        tools = [tool["function"] for tool in body.get("tools") or []]
        return {"request_model": body["model"], "stream": bool(body.get("stream")), "system": system,
                "messages": messages, "tools": [describe(t, t.get("parameters")) for t in tools]}

    @staticmethod
    def usage(usage):
        return {
            "prompt_tokens": usage["input"], "completion_tokens": usage["output"],
            "total_tokens": usage["input"] + usage["output"],
            "prompt_tokens_details": {"cached_tokens": usage.get("cache_read", 0), "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": usage.get("reasoning", 0), "audio_tokens": 0,
                                          "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
        }

    @classmethod
    def write(cls, reply, call):
        calls = [{"id": c["id"], "type": "function",
                  "function": {"name": c["name"], "arguments": json.dumps(c["arguments"])}}
                 for c in reply.get("tool_calls", [])]
        finish = reply.get("finish") or ("tool_calls" if calls else "stop")
        head = {"id": call["response_id"], "created": 1790000000, "model": call["response_model"],
                "system_fingerprint": "fp_1"}
        if not call["stream"]:
            message = {"role": "assistant", "content": reply.get("text"), "refusal": None}
            if calls:
                message["tool_calls"] = calls
            return {**head, "object": "chat.completion", "usage": cls.usage(reply["usage"]), "choices": [
                {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}]}
        def chunk(delta, finish=None):
            return (None, {**head, "object": "chat.completion.chunk", "choices": [
                {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]})
        chunks = [chunk({"role": "assistant", "content": ""})]
        chunks += [chunk({"content": piece}) for piece in pieces(reply.get("text"))]
        for index, c in enumerate(calls):
            arguments = c["function"]["arguments"]
            chunks.append(chunk({"tool_calls": [{**c, "index": index, "function": {"name": c["function"]["name"], "arguments": ""}}]}))
            chunks += [chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}) for piece in pieces(arguments)]
        chunks.append(chunk({}, finish))
        if call["usage_in_stream"]:
            chunks.append((None, {**head, "object": "chat.completion.chunk", "choices": [], "usage": cls.usage(reply["usage"])}))
        chunks.append((None, "[DONE]"))
        return chunks

    @staticmethod
    def refuse(status, message):
        kind = {400: "invalid_request_error", 429: "rate_limit_error"}.get(status, "server_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}


class OpenAIResponses:
    path = re.compile(r"/responses$")
    operation, provider = "chat", "openai"

    @staticmethod
    def read(body, _path):
        system, messages = [], []
        if body.get("instructions"):
            system.append(body["instructions"])
        items = body["input"]
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        def add(role, part):
            if messages and messages[-1]["role"] == role == "assistant":
                messages[-1]["parts"].append(part)
            else:
                messages.append({"role": role, "parts": [part]})
        for item in items:
            kind = item.get("type", "message")
            if kind == "function_call":
                add("assistant", tool_call_part(item["call_id"], item["name"], item["arguments"]))
            elif kind == "function_call_output":
                add("tool", tool_response_part(item["call_id"], plain(item["output"])))
            elif kind == "reasoning":
                for part in item.get("summary", []):
                    add("assistant", {"type": "reasoning", "content": part["text"]})
            elif item["role"] in ("system", "developer"):
                system.append(plain(item["content"]))
            else:
                add(item["role"], text_part(plain(item["content"])))
        return {"request_model": body["model"], "stream": bool(body.get("stream")), "system": system,
                "messages": messages,
                "tools": [describe(t, t.get("parameters")) for t in body.get("tools") or [] if t["type"] == "function"]}

    @staticmethod
    def write(reply, call):
        output, number = [], call["number"]
        if reply.get("reasoning"):
            output.append({"id": f"rs_{number}", "type": "reasoning",
                           "summary": [{"type": "summary_text", "text": reply["reasoning"]}]})
        for index, c in enumerate(reply.get("tool_calls", [])):
            output.append({"id": f"fc_{number}_{index}", "type": "function_call", "status": "completed",
                           "call_id": c["id"], "name": c["name"], "arguments": json.dumps(c["arguments"])})
        if reply.get("text"):
            output.append({"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed",
                           "content": [{"type": "output_text", "text": reply["text"], "annotations": [], "logprobs": []}]})
        usage = reply["usage"]
        response = {
            "id": call["response_id"], "object": "response", "created_at": 1790000000, "status": "completed",
            "error": None, "incomplete_details": None, "instructions": None, "max_output_tokens": None,
            "model": call["response_model"], "output": output, "parallel_tool_calls": True,
            "previous_response_id": None, "reasoning": {"effort": None, "summary": None}, "store": True,
            "temperature": 1.0, "text": {"format": {"type": "text"}}, "tool_choice": "auto",
            "tools": call["raw"].get("tools") or [],
            "top_p": 1.0, "truncation": "disabled", "user": None, "metadata": {},
            "usage": {"input_tokens": usage["input"], "output_tokens": usage["output"],
                      "total_tokens": usage["input"] + usage["output"],
                      "input_tokens_details": {"cached_tokens": usage.get("cache_read", 0)},
                      "output_tokens_details": {"reasoning_tokens": usage.get("reasoning", 0)}}}
        if not call["stream"]:
            return response
        started = {**response, "status": "in_progress", "output": [], "usage": None}
        events = [{"type": "response.created", "response": started}, {"type": "response.in_progress", "response": started}]
        for index, item in enumerate(output):
            at = {"item_id": item["id"], "output_index": index}
            if item["type"] == "message":
                part = item["content"][0]
                events.append({"type": "response.output_item.added", "output_index": index,
                               "item": {**item, "content": [], "status": "in_progress"}})
                events.append({"type": "response.content_part.added", **at, "content_index": 0, "part": {**part, "text": ""}})
                events += [{"type": "response.output_text.delta", **at, "content_index": 0, "delta": piece, "logprobs": []}
                           for piece in pieces(part["text"])]
                events.append({"type": "response.output_text.done", **at, "content_index": 0, "text": part["text"], "logprobs": []})
                events.append({"type": "response.content_part.done", **at, "content_index": 0, "part": part})
            elif item["type"] == "function_call":
                events.append({"type": "response.output_item.added", "output_index": index,
                               "item": {**item, "arguments": "", "status": "in_progress"}})
                events += [{"type": "response.function_call_arguments.delta", **at, "delta": piece}
                           for piece in pieces(item["arguments"])]
                events.append({"type": "response.function_call_arguments.done", **at, "name": item["name"],
                               "arguments": item["arguments"]})
            else:
                events.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "summary": []}})
                events.append({"type": "response.reasoning_summary_part.added", **at, "summary_index": 0,
                               "part": {"type": "summary_text", "text": ""}})
                events.append({"type": "response.reasoning_summary_text.delta", **at, "summary_index": 0, "delta": reply["reasoning"]})
                events.append({"type": "response.reasoning_summary_text.done", **at, "summary_index": 0, "text": reply["reasoning"]})
                events.append({"type": "response.reasoning_summary_part.done", **at, "summary_index": 0, "part": item["summary"][0]})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": response})
        return [(event["type"], {**event, "sequence_number": n}) for n, event in enumerate(events)]

    refuse = OpenAIChat.refuse


class OpenAIEmbeddings:
    path = re.compile(r"/embeddings$")
    operation, provider = "embeddings", "openai"

    @staticmethod
    def read(body, _path):
        return {"request_model": body["model"], "stream": False, "system": [], "messages": [], "tools": [],
                "embedded": body["input"]}

    @staticmethod
    def write(reply, call):
        texts = call["raw"]["input"]
        count = len(texts) if isinstance(texts, list) and not isinstance(texts[0], int) else 1
        vector = [0.25, -0.5, 0.75]
        if call["raw"].get("encoding_format") == "base64":
            import base64
            import struct
            vector = base64.b64encode(struct.pack("<3f", *vector)).decode()
        return {"object": "list", "model": call["response_model"],
                "data": [{"object": "embedding", "index": i, "embedding": vector} for i in range(count)],
                "usage": {"prompt_tokens": reply["usage"]["input"], "total_tokens": reply["usage"]["input"]}}

    refuse = OpenAIChat.refuse


class Anthropic:
    path = re.compile(r"/v1/messages$")
    operation, provider = "chat", "anthropic"

    @staticmethod
    def read(body, _path):
        system = [plain(body["system"])] if body.get("system") else []
        messages = []
        for message in body["messages"]:
            content = message["content"]
            if isinstance(content, str):
                content = [{"type": "text", "text": content}]
            parts, results = [], []
            for block in content:
                if block["type"] == "text":
                    parts.append(text_part(block["text"]))
                elif block["type"] == "thinking":
                    parts.append({"type": "reasoning", "content": block["thinking"]})
                elif block["type"] == "tool_use":
                    parts.append(tool_call_part(block["id"], block["name"], block["input"]))
                elif block["type"] == "tool_result":
                    results.append(tool_response_part(block["tool_use_id"], plain(block["content"])))
            # A tool's result is a message of the tool in the conventions, of the user in this protocol.
            if results:
                messages.append({"role": "tool", "parts": results})
            if parts:
                messages.append({"role": message["role"], "parts": parts})
        return {"request_model": body["model"], "stream": bool(body.get("stream")), "system": system,
                "messages": messages, "tools": [describe(t, t.get("input_schema")) for t in body.get("tools") or []]}

    @staticmethod
    def write(reply, call):
        usage, content = reply["usage"], []
        if reply.get("reasoning"):
            content.append({"type": "thinking", "thinking": reply["reasoning"], "signature": "c2ln"})
        if reply.get("text"):
            content.append({"type": "text", "text": reply["text"]})
        content += [{"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["arguments"]}
                    for c in reply.get("tool_calls", [])]
        # This protocol counts what was cached apart from input_tokens.
        read, written = usage.get("cache_read", 0), usage.get("cache_write", 0)
        counts = {"input_tokens": usage["input"] - read - written, "cache_read_input_tokens": read,
                  "cache_creation_input_tokens": written,
                  "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
                  "output_tokens": usage["output"], "service_tier": "standard"}
        stop = reply.get("finish") or ("tool_use" if reply.get("tool_calls") else "end_turn")
        message = {"id": call["response_id"], "type": "message", "role": "assistant", "model": call["response_model"],
                   "content": content, "stop_reason": stop, "stop_sequence": None, "usage": counts}
        if not call["stream"]:
            return message
        events = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None,
                                                        "usage": {**counts, "output_tokens": 1}}}]
        for index, block in enumerate(content):
            empty, deltas = {
                "text": lambda b: ({**b, "text": ""}, [{"type": "text_delta", "text": p} for p in pieces(b["text"])]),
                "thinking": lambda b: ({**b, "thinking": "", "signature": ""}, [
                    {"type": "thinking_delta", "thinking": b["thinking"]}, {"type": "signature_delta", "signature": b["signature"]}]),
                "tool_use": lambda b: ({**b, "input": {}}, [
                    {"type": "input_json_delta", "partial_json": p} for p in pieces(json.dumps(b["input"]))]),
            }[block["type"]](block)
            events.append({"type": "content_block_start", "index": index, "content_block": empty})
            events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            events.append({"type": "content_block_stop", "index": index})
        events.append({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                       "usage": {"output_tokens": usage["output"]}})
        events.append({"type": "message_stop"})
        return [(event["type"], event) for event in events]

    @staticmethod
    def refuse(status, message):
        kind = {400: "invalid_request_error", 429: "rate_limit_error"}.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


class Gemini:
    path = re.compile(r"/models/(?P<model>[^/:]+):(generateContent|streamGenerateContent)$")
    operation, provider = "generate_content", "gcp.gemini"

    @classmethod
    def read(cls, body, path):
        system, messages = [], []
        instruction = body.get("systemInstruction") or body.get("system_instruction")
        if instruction:
            system.append("".join(part["text"] for part in instruction["parts"]))
        for content in body["contents"]:
            role, parts = {"model": "assistant"}.get(content.get("role"), content.get("role", "user")), []
            for part in content["parts"]:
                call = part.get("functionCall") or part.get("function_call")
                answer = part.get("functionResponse") or part.get("function_response")
                if call:
                    parts.append(tool_call_part(call.get("id"), call["name"], call.get("args") or {}))
                elif answer:
                    role = "tool"
                    parts.append(tool_response_part(answer.get("id"), answer["response"]))
                elif part.get("thought"):
                    parts.append({"type": "reasoning", "content": part["text"]})
                elif "text" in part:
                    parts.append(text_part(part["text"]))
            messages.append({"role": role, "parts": parts})
        tools = [describe(f, f.get("parameters") or f.get("parametersJsonSchema") or f.get("parameters_json_schema"))
                 for tool in body.get("tools") or []
                 for f in tool.get("functionDeclarations") or tool.get("function_declarations") or []]
        return {"request_model": cls.path.search(path)["model"], "stream": "streamGenerateContent" in path,
                "system": system, "messages": messages, "tools": tools}

    @staticmethod
    def write(reply, call):
        usage, parts = reply["usage"], []
        if reply.get("reasoning"):
            parts.append({"text": reply["reasoning"], "thought": True})
        if reply.get("text"):
            parts.append({"text": reply["text"]})
        parts += [{"functionCall": {"id": c["id"], "name": c["name"], "args": c["arguments"]}}
                  for c in reply.get("tool_calls", [])]
        thoughts = usage.get("reasoning", 0)
        # This protocol counts thoughts apart from candidates.
        counts = {"promptTokenCount": usage["input"], "candidatesTokenCount": usage["output"] - thoughts,
                  "totalTokenCount": usage["input"] + usage["output"]}
        if thoughts:
            counts["thoughtsTokenCount"] = thoughts
        if usage.get("cache_read"):
            counts["cachedContentTokenCount"] = usage["cache_read"]
        def answer(parts, **more):
            return {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **more}],
                    "usageMetadata": counts, "modelVersion": call["response_model"], "responseId": call["response_id"]}
        if not call["stream"]:
            return answer(parts, finishReason=reply.get("finish", "STOP"))
        return [(None, answer([part])) for part in parts[:-1]] + [(None, answer(parts[-1:], finishReason="STOP"))]

    @staticmethod
    def refuse(status, message):
        name = {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED"}.get(status, "INTERNAL")
        return {"error": {"code": status, "message": message, "status": name}}


PROTOCOLS = [OpenAIChat, OpenAIResponses, OpenAIEmbeddings, Anthropic, Gemini]


def describe(tool, parameters):
    return {"name": tool["name"], "description": tool.get("description", ""), "parameters": parameters}


def pieces(text):
    """Text as it is streamed, in a few pieces."""
    if not text:
        return []
    half = max(1, len(text) // 2)
    return [text[:half], text[half:]] if len(text) > 1 else [text]


class Provider:
    """Serves the script on a port of its own and keeps the journal of what was asked and answered."""

    def __init__(self, script):
        self.script, self.calls, self.tools, self.context = list(script), [], [], {}
        self.lock = threading.Lock()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.answer(404, {"error": {"message": "not found", "type": "invalid_request_error"}})

            def do_POST(self):
                body = read_body(self)
                path = self.path.split("?")[0]
                if path.startswith("/journal/"):
                    with provider.lock:
                        provider.note(path.removeprefix("/journal/"), json.loads(body))
                    return self.answer(200, {})
                protocol = next((p for p in PROTOCOLS if p.path.search(path)), None)
                if not protocol:
                    return self.answer(404, {"error": {"message": "not found", "type": "invalid_request_error"}})
                status, answer, streamed = provider.reply(protocol, path, json.loads(body), self.headers)
                if status is None:
                    time.sleep(answer)
                    self.close_connection = True
                elif streamed:
                    self.stream(answer)
                else:
                    self.answer(status, answer)

            def answer(self, status, value):
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                if status == 429:
                    self.send_header("Retry-After", "0")
                self.end_headers()
                self.wfile.write(data)

            def stream(self, chunks):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                time.sleep(FIRST_CHUNK_DELAY)
                for event, value in chunks:
                    if event:
                        self.wfile.write(f"event: {event}\n".encode())
                    data = value if isinstance(value, str) else json.dumps(value)
                    self.wfile.write(f"data: {data}\n\n".encode())
                    self.wfile.flush()
                self.close_connection = True

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def note(self, what, value):
        if what == "tool":
            self.tools.append(value)
        else:
            self.context.update(value)

    def reply(self, protocol, path, body, headers):
        with self.lock:
            if not self.script:
                raise RuntimeError(f"the script has no more replies: {path} {json.dumps(body)[:500]}")
            reply, number = (self.script[0] if self.script[0].get("repeat") else self.script.pop(0)), len(self.calls) + 1
            call = protocol.read(body, path)
            call.update(operation=protocol.operation, provider=protocol.provider)
            # A client that tries again says so: both attempts are one call.
            retried = int(headers.get("x-stainless-retry-count") or 0) > 0
            if retried or reply.get("retry_of_previous"):
                call["attempts"] = self.calls.pop().get("attempts", 1) + 1
                number -= 1
            self.calls.append(call)
            if "hang" in reply:
                call["error"] = {}
                return None, reply["hang"], False
            if "status" in reply:
                call["error"] = {"status": reply["status"], "message": reply["message"]}
                return reply["status"], protocol.refuse(reply["status"], reply["message"]), False
            call["response_model"] = reply.get("model") or call["request_model"] + "-2026-09-01"
            call["response_id"] = f"resp_{number}"
            usage = call["usage"] = reply["usage"]
            if protocol.operation != "embeddings":
                parts = []
                if reply.get("reasoning") and protocol is not OpenAIChat:
                    parts.append({"type": "reasoning", "content": reply["reasoning"]})
                if reply.get("text"):
                    parts.append(text_part(reply["text"]))
                parts += [tool_call_part(c["id"], c["name"], c["arguments"]) for c in reply.get("tool_calls", [])]
                call["output"] = [{"role": "assistant", "parts": parts}]
                # Responses end with a status, and Gemini stops for a call as it does for an answer.
                asked = "stop" if protocol is Gemini else "tool_call"
                if protocol is not OpenAIResponses:
                    call["finish"] = reply.get("finish") or (asked if reply.get("tool_calls") else "stop")
            options = body.get("stream_options") or {}
            usage_in_stream = bool(options.get("include_usage"))
            if protocol is OpenAIChat and call["stream"] and not usage_in_stream:
                call["usage"] = None  # it was never sent
            answer = protocol.write({**reply, "usage": usage}, {**call, "number": number, "raw": body,
                                                                "usage_in_stream": usage_in_stream})
            return 200, answer, call["stream"]
