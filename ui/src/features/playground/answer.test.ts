import { describe, expect, it } from "vitest";
import type { CompletionEvent } from "@/api/playground";
import type { Completion, PromptMessage } from "@/api/types";
import { type Answer, beginning, continued, grow, lastText, pendingCalls, reduce, textOf } from "./answer";

const completion = (changed: Partial<Completion>): Completion =>
  ({
    run_id: "run-1",
    message: { role: "assistant", content: "Hello" },
    added_messages: [{ role: "assistant", content: "Hello" }],
    stop_reason: "finished",
    ...changed,
  }) as Completion;

const delta = (data: Extract<CompletionEvent, { type: "delta" }>["data"]): CompletionEvent => ({
  type: "delta",
  data,
});

const call = { id: "c1", type: "function", function: { name: "search", arguments: '{"q":"x"}' } };

describe("reduce", () => {
  it("collects reasoning and text, one event at a time or all at once", () => {
    const events: CompletionEvent[] = [
      { type: "start", data: { run_id: "run-1" } },
      delta({ reasoning: "Think" }),
      delta({ reasoning: "ing" }),
      delta({ text: "Hel" }),
      delta({ text: "lo" }),
      { type: "message", data: { role: "assistant", content: "Hello", reasoning_content: "Thinking" } },
      { type: "done", data: completion({}) },
    ];
    const want: Partial<Answer> = {
      status: "done",
      runId: "run-1",
      turns: [{ kind: "model", reasoning: ["Thinking"], text: ["Hello"], calls: [], isDone: true }],
      following: [{ role: "assistant", content: "Hello" }],
    };
    expect(reduce(beginning(), events)).toMatchObject(want);
    expect(events.reduce((answer, event) => reduce(answer, [event]), beginning())).toMatchObject(want);
  });

  it("ends with results where a further round could cost too much", () => {
    const message = { role: "assistant", content: null, tool_calls: [call] } as unknown as PromptMessage;
    const result = { role: "tool", tool_call_id: "c1", content: "found" };
    const { turns } = reduce(beginning(), [
      { type: "message", data: message },
      { type: "tool_result", data: { tool_call_id: "c1", name: "search", content: "found" } },
      {
        type: "done",
        data: completion({ message, added_messages: [message, result], stop_reason: "max_cost" }),
      },
    ]);
    expect(turns.map(({ kind }) => kind)).toEqual(["model", "tool"]);
  });

  it("keeps text before a tool call, and builds parallel calls from pieces", () => {
    const answer = reduce(beginning(), [
      delta({ text: "Let me look." }),
      delta({ tool_call: { index: 0, id: "c1", name: "search", arguments: '{"q"' } }),
      delta({ tool_call: { index: 1, id: "c2", name: "read" } }),
      delta({ tool_call: { index: 0, arguments: ':"x"}' } }),
    ]);
    expect(answer.turns).toEqual([
      {
        kind: "model",
        reasoning: [],
        text: ["Let me look."],
        calls: [
          { id: "c1", name: "search", arguments: '{"q":"x"}' },
          { id: "c2", name: "read", arguments: "" },
        ],
        isDone: false,
      },
    ]);
  });

  it("has rounds with results of tools", () => {
    const answer = reduce(beginning(), [
      { type: "message", data: { role: "assistant", content: null, tool_calls: [call] } as never },
      { type: "tool_result", data: { tool_call_id: "c1", name: "search", content: "found" } },
      delta({ text: "Done" }),
      { type: "message", data: { role: "assistant", content: "Done" } },
    ]);
    expect(answer.turns.map(({ kind }) => kind)).toEqual(["model", "tool", "model"]);
    expect(lastText(answer)).toBe("Done");
  });

  it("takes the message of the end if none came before", () => {
    const answer = reduce(beginning(), [{ type: "done", data: completion({}) }]);
    expect(lastText(answer)).toBe("Hello");
  });
});

describe("calls that wait", () => {
  const waiting = reduce(beginning(), [
    { type: "message", data: { role: "assistant", content: null, tool_calls: [call] } as never },
    {
      type: "done",
      data: completion({
        stop_reason: "tool_calls",
        added_messages: [{ role: "assistant", content: null, tool_calls: [call] } as never],
      }),
    },
  ]);

  it("are those of the last message", () => {
    expect(pendingCalls(waiting)).toEqual([{ id: "c1", name: "search", arguments: '{"q":"x"}' }]);
    expect(pendingCalls({ ...waiting, status: "running" })).toEqual([]);
    expect(pendingCalls(reduce(beginning(), [{ type: "done", data: completion({}) }]))).toEqual([]);
  });

  it("are followed by their results in the next request", () => {
    const next = continued(waiting, [{ kind: "tool", callId: "c1", name: "search", content: "found" }]);
    expect(next).toMatchObject({ status: "running", completion: null, runId: null });
    expect(next.following).toEqual([
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "found" },
    ]);
    const done = reduce(next, [delta({ text: "So" }), { type: "done", data: completion({}) }]);
    expect(done.following).toHaveLength(3);
    expect(lastText(done)).toBe("Hello");
  });
});

describe("grow", () => {
  it("keeps the text, and earlier pieces as they are", () => {
    let pieces: string[] = [];
    let text = "";
    for (let index = 0; index < 3_000; index += 1) {
      const word = index % 17 === 0 ? `word ${index}\n` : `word ${index} `;
      const before = pieces;
      pieces = grow(pieces, word);
      text += word;
      for (let piece = 0; piece < before.length - 1; piece += 1) expect(pieces[piece]).toBe(before[piece]);
    }
    expect(pieces.join("")).toBe(text);
    expect(pieces.length).toBeGreaterThan(10);
    expect(pieces.slice(0, -1).every((piece) => piece.endsWith("\n"))).toBe(true);
  });

  it("splits a text without line breaks", () => {
    const pieces = grow([], "x".repeat(50_000));
    expect(pieces.join("")).toHaveLength(50_000);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(8_000);
  });
});

it("reads the text of a message", () => {
  expect(textOf({ content: "a" })).toBe("a");
  expect(textOf({ content: [{ type: "text", text: "a" }, { type: "x" }, { type: "text", text: "b" }] })).toBe(
    "a\nb",
  );
  expect(textOf({ content: null, refusal: "No." })).toBe("No.");
  expect(textOf({})).toBe("");
});
