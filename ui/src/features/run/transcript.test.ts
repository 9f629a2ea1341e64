import { describe, expect, it } from "vitest";
import type { Message, Span } from "@/api/types";
import { nothingShown, type Turn, transcribe, transcriber } from "./transcript";

const message = (role: string, content: string): Message => ({ role, parts: [{ type: "text", content }] });
const result = (id: string, response: string): Message => ({
  role: "tool",
  parts: [{ type: "tool_call_response", id, response }],
});

function span(id: string, kind: string, more: Partial<Span> = {}): Span {
  return {
    span_id: id,
    kind,
    name: id,
    status: "ok",
    start_time: "2026-03-01T00:00:01Z",
    duration_ms: 500,
    inputs: null,
    outputs: null,
    error: null,
    tool: null,
    agent_name: null,
    request_model: "m",
    response_model: null,
    ...more,
  } as Span;
}

const startedAt = Date.parse("2026-03-01T00:00:00Z");
const tell = (spans: Span[], shown = nothingShown()) =>
  transcribe(spans, shown, startedAt).map((turn) => {
    const words = turn.parts.map((part) => part.content ?? part.response ?? part.arguments ?? part.name);
    return `${turn.role}: ${words.join(" | ")}${turn.error ? ` ! ${turn.error}` : ""}`;
  });

const hi = message("user", "hi");
const hello = message("assistant", "hello");
const more = message("user", "more");
const done = message("assistant", "done");

describe("transcribe", () => {
  it("shows each message once", () =>
    expect(
      tell([
        span("a", "llm", { input_messages: [hi], output_messages: [hello] }),
        span("b", "llm", { input_messages: [hi, hello, more], output_messages: [done] }),
      ]),
    ).toEqual(["user: hi", "assistant: hello", "user: more", "assistant: done"]));

  it("shows repeated messages again", () =>
    expect(
      tell([
        span("a", "llm", { input_messages: [hi], output_messages: [hello] }),
        span("b", "llm", { input_messages: [hi, hello, hi], output_messages: [hello] }),
      ]),
    ).toEqual(["user: hi", "assistant: hello", "user: hi", "assistant: hello"]));

  it("separates parallel conversations", () => {
    const other = message("user", "other");
    expect(
      tell([
        span("a", "llm", { input_messages: [hi], output_messages: [hello] }),
        span("x", "llm", { input_messages: [other], output_messages: [hello] }),
        span("b", "llm", { input_messages: [hi, hello, more], output_messages: [done] }),
        span("y", "llm", { input_messages: [other, hello, more], output_messages: [done] }),
      ]),
    ).toEqual([
      "user: hi",
      "assistant: hello",
      "user: other",
      "assistant: hello",
      "user: more",
      "assistant: done",
      "user: more",
      "assistant: done",
    ]);
  });

  it("shows a tool's result where the tool ran", () => {
    const calls: Message = {
      role: "assistant",
      parts: [{ type: "tool_call", id: "c1", name: "search", arguments: { q: "x" } }],
    };
    expect(
      tell([
        span("a", "llm", { input_messages: [hi], output_messages: [calls] }),
        span("t", "tool", {
          tool: { name: "search", call_id: "c1", arguments: '{"q":"x"}', result: "found" },
        }),
        span("b", "llm", { input_messages: [hi, calls, result("c1", "found")], output_messages: [done] }),
        span("c", "llm", {
          input_messages: [hi, calls, result("c1", "found"), done, result("c2", "unrecorded")],
        }),
      ]),
    ).toEqual([
      "user: hi",
      "assistant: [object Object]",
      'tool: {"q":"x"} | found',
      "assistant: done",
      "tool: unrecorded",
    ]);
  });

  it("continues across pages", () => {
    const shown = nothingShown();
    tell([span("a", "llm", { input_messages: [hi], output_messages: [hello] })], shown);
    expect(tell([span("b", "llm", { input_messages: [hi, hello, more] })], shown)).toEqual(["user: more"]);
  });

  it("shows instructions once, agents, errors and spans without messages", () => {
    const system_instructions = [{ type: "text", content: "be brief" }];
    expect(
      tell([
        span("root", "agent", { agent_name: "planner" }),
        span("a", "llm", { system_instructions, input_messages: [hi], output_messages: [hello] }),
        span("b", "llm", { system_instructions, input_messages: [more], output_messages: [done] }),
        span("c", "llm", { inputs: "in", outputs: "out" }),
        span("r", "retriever", { inputs: "query", outputs: "documents" }),
        span("s", "span"),
        span("t", "tool", { status: "error", error: { type: "Timeout", message: "late", stack: "" } }),
      ]),
    ).toEqual([
      "agent: ",
      "system: be brief",
      "user: hi",
      "assistant: hello",
      "user: more",
      "assistant: done",
      "user: in",
      "assistant: out",
      "retriever: query",
      "retriever: documents",
      "tool:  ! Timeout: late",
    ]);
  });
});

describe("transcriber", () => {
  const first = [span("a", "llm", { input_messages: [hi], output_messages: [hello] })];
  const second = [span("b", "llm", { input_messages: [hi, hello, more], output_messages: [done] })];
  const whole = ["hi", "hello", "more", "done"];
  const said = (turns: Turn[]) => turns.flatMap(({ parts }) => parts.map(({ content }) => content));

  it("continues with the next page, and shows each message once", () => {
    const transcript = transcriber();
    const [begin] = transcript([first], startedAt);
    const turns = transcript([first, second], startedAt);
    expect(said(turns)).toEqual(whole);
    expect(turns[0]).toBe(begin);
    expect(said(transcript([first, second], startedAt))).toEqual(whole);
  });
  it("starts over if a page or the start time changes", () => {
    const transcript = transcriber();
    transcript([first, second], startedAt);
    expect(said(transcript([[...first], second], startedAt))).toEqual(whole);
    const later = transcript([first, second], startedAt - 1_000);
    expect(said(later)).toEqual(whole);
    expect(later[0]?.at).toBe(2_000);
  });
});
