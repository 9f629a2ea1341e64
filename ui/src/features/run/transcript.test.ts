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
    const calls = turn.calls.map((name) => `→ ${name}`);
    return `${turn.role}: ${[...words, ...calls].join(" | ")}${turn.error ? ` ! ${turn.error}` : ""}`;
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
      "assistant: → search",
      'tool: {"q":"x"} | found',
      "assistant: done",
      "tool: unrecorded",
    ]);
  });

  describe("a tool's arguments", () => {
    const calling = (id: string | undefined, q: string): Message => ({
      role: "assistant",
      parts: [
        { type: "text", content: "look" },
        { type: "tool_call", ...(id && { id }), name: "search", arguments: `{"q": "${q}"}` },
      ],
    });
    const tool = (id: string, call_id: string | null, q: string) =>
      span(id, "tool", { tool: { name: "search", call_id, arguments: `{"q":"${q}"}`, result: "found" } });
    const asks = (id: string, message: Message) =>
      span(id, "llm", { input_messages: [hi], output_messages: [message] });

    it("are shown where it ran, also without an id", () =>
      expect(tell([asks("a", calling(undefined, "x")), tool("t", null, "x"), tool("u", null, "y")])).toEqual([
        "user: hi",
        "assistant: look | → search",
        'tool: {"q":"x"} | found',
        'tool: {"q":"y"} | found',
      ]));
    it("are shown once if it ran on a later page", () => {
      const shown = nothingShown();
      expect(tell([asks("a", calling("c1", "x"))], shown)).toEqual([
        "user: hi",
        'assistant: look | {"q": "x"}',
      ]);
      expect(tell([tool("t", "c1", "x")], shown)).toEqual(["tool: found"]);
      expect(tell([tool("u", "c1", "x")], shown)).toEqual(['tool: {"q":"x"} | found']);
    });
    it("are shown in the message if it never ran, or ran without them", () =>
      expect(
        tell([
          asks("a", calling("c1", "x")),
          span("t", "tool", { tool: { name: "search", call_id: "c1", arguments: null, result: "found" } }),
        ]),
      ).toEqual(["user: hi", 'assistant: look | {"q": "x"}', "tool: found"]));
    it("are shown for each of two equal calls", () =>
      expect(
        tell([
          asks("a", {
            role: "assistant",
            parts: [...calling(undefined, "x").parts, ...calling(undefined, "x").parts],
          }),
          tool("t", null, "x"),
        ]),
      ).toEqual(["user: hi", 'assistant: look | look | {"q": "x"} | → search', 'tool: {"q":"x"} | found']));
  });

  it("says what each model call used, at its last turn", () => {
    const turns = transcribe(
      [
        span("a", "llm", {
          input_messages: [hi],
          output_messages: [hello],
          usage: {
            input_tokens: 12,
            output_tokens: 3,
            total_tokens: 15,
            cache_read_input_tokens: null,
            cache_write_input_tokens: null,
            reasoning_output_tokens: null,
            other_tokens: null,
          },
          cost_usd: 0.5,
          usage_counted: true,
        }),
        span("b", "llm", { inputs: "in", outputs: "out", usage: null, cost_usd: null, usage_counted: true }),
        span("t", "tool"),
      ],
      nothingShown(),
      startedAt,
    );
    expect(turns.map(({ usage }) => usage)).toEqual([
      null,
      { input: 12, output: 3, cost: 0.5, counted: true },
      null,
      { input: null, output: null, cost: null, counted: true },
      null,
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
