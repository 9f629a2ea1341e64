import { describe, expect, it } from "vitest";
import type { Span } from "@/api/types";
import { availableTabs, chooseTab } from "./tabs";

const plain = { tool: null } as Span;
const llm = {
  tool: null,
  output_messages: [{ role: "assistant", parts: [] }],
  events: [{}],
} as unknown as Span;
const tool = { tool: { name: "search" } } as Span;

describe("tabs", () => {
  it.each([
    ["plain", plain, ["io", "attributes", "scores", "raw"]],
    ["llm", llm, ["messages", "io", "attributes", "events", "scores", "raw"]],
    ["tool", tool, ["tool", "io", "attributes", "scores", "raw"]],
  ])("%s", (_, span, want) => expect(availableTabs(span)).toEqual(want));

  it.each([
    [llm, null, "messages"],
    [llm, "raw", "raw"],
    [plain, "messages", "io"],
    [tool, "nonsense", "tool"],
  ])("%#", (span, wanted, want) => expect(chooseTab(span, wanted)).toBe(want));
});
