import { describe, expect, it } from "vitest";
import type { Outline } from "@/api/types";
import { agentsOf, stepsOf, toolsOf } from "./steps";

const outline = {
  strings: ["", "invoke", "agent", "orders", "chat", "llm", "run find", "tool", "find"],
  spans: {
    span_id: ["a", "c", "b"],
    start_ms: [0, 20, 10],
    duration_ms: [30, -1, 5],
    status: ["ok", "error", "ok"],
    name: [1, 6, 4],
    kind: [2, 7, 5],
    model: [0, 0, 0],
    tool: [0, 8, 0],
    agent: [3, 0, 0],
  },
} as unknown as Outline;

describe("stepsOf", () => {
  const steps = stepsOf(outline);
  it("counts in start order", () =>
    expect(steps.map(({ n, id }) => [n, id])).toEqual([
      [1, "a"],
      [2, "b"],
      [3, "c"],
    ]));
  it("calls tools by their own names, and doesn't take an open end for 0", () =>
    expect(steps[2]).toMatchObject({ name: "find", duration: null, isFailed: true }));
  it("names tools and agents", () => {
    expect(toolsOf(steps)).toEqual(["find"]);
    expect(agentsOf(steps)).toEqual(["orders"]);
  });
});
