import { describe, expect, it } from "vitest";
import { droppedText, editText, isShared } from "./words";

describe("droppedText", () => {
  it("says how many claims were dropped, and why", () => {
    expect(droppedText([])).toBeNull();
    expect(droppedText([{ reason: "no_quotes", count: 1 }])).toBe("1 claim dropped: 1 without a quote.");
    expect(
      droppedText([
        { reason: "quote_not_found", count: 2 },
        { reason: "run_not_sent", count: 1 },
      ]),
    ).toBe("3 claims dropped: 2 with quotes that aren't in the step, 1 about a run the model didn't see.");
  });
});

describe("editText", () => {
  it("says what is changed where", () => {
    expect(editText({ target: "all", set: { system_prompt: "Be brief." } })).toEqual({
      what: "system prompt of all model calls",
      value: "Be brief.",
    });
    expect(editText({ target: { kind: "tool", name: "find" }, set: { timeout_ms: 500 } })).toEqual({
      what: "timeout ms of calls of find",
      value: "500",
    });
    expect(editText({ target: { kind: "tool" }, set: { tool_error: { type: "Down" } } })).toEqual({
      what: "tool error of all tool calls",
      value: '{"type":"Down"}',
    });
  });
  it("knows which edits fit other runs", () => {
    expect(isShared({ target: "all", set: { model: "m" } })).toBe(true);
    expect(isShared({ target: { span_id: "00000000000000a1" }, set: { model: "m" } })).toBe(false);
  });
});
