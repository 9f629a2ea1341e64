import { expect, it } from "vitest";
import type { RunAgent } from "@/api/types";
import { figureText, partLabel, textChanges } from "./releases";

const agent = (instructions: string | null, ...tools: unknown[]): RunAgent => ({
  run_id: "r",
  agent_release: null,
  missing: null,
  parts: {},
  span_id: null,
  instructions,
  tool_definitions: tools,
});

it("shows a figure with its interval, and never an unknown one as 0", () => {
  const format = (value: number) => `${value} s`;
  expect(figureText({ value: 2, ci: [1, 3], count: 9 }, format)).toBe("2 s (1 s to 3 s)");
  expect(figureText({ value: 2, ci: null, count: 3 }, format)).toBe("2 s");
  expect(figureText({ value: null, ci: null, count: 0 }, format)).toBe("unknown");
});

it("names parts in words", () => {
  expect(["model", "tool:a:b", "parameter:top_p"].map(partLabel)).toEqual([
    "model",
    "tool a:b",
    "parameter top_p",
  ]);
});

it("finds the texts of what changed", () => {
  const [search, changed] = [
    { name: "search", description: "a" },
    { name: "search", description: "b" },
  ];
  const buy = { type: "function", function: { name: "buy" } };
  expect(
    textChanges(
      ["instructions", "model", "tool:buy", "tool:search"],
      agent(null, search),
      agent("Be brief.", changed, buy),
    ),
  ).toEqual([
    { path: "instructions", change: "added", after: "Be brief." },
    { path: "tool buy", change: "added", after: buy },
    { path: "tool search", change: "changed", before: search, after: changed },
  ]);
});
