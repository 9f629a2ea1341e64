import { describe, expect, it } from "vitest";
import { changesBetween } from "./changes";

describe("changesBetween", () => {
  const before = {
    messages: [
      { role: "system", content: "a" },
      { role: "user", content: "b" },
    ],
    tools: [{ type: "function", function: { name: "search" } }],
    model_config: { model: "m", temperature: 0 },
    variables: { x: { type: "any" as const, required: true } },
    template_format: "mustache" as const,
    missing: "error" as const,
  };
  it("finds nothing in equal contents", () => expect(changesBetween(before, before)).toEqual([]));
  it("names each changed member", () => {
    const after = {
      ...before,
      messages: [{ role: "system", content: "A" }],
      tools: [],
      response_format: { type: "json_object" },
      model_config: { model: "m", top_p: 1 },
      variables: {},
      missing: "keep" as const,
    };
    expect(changesBetween(before, after).map(({ path, change }) => `${path} ${change}`)).toEqual([
      "messages[0].content changed",
      "messages[1] removed",
      "tools[search] removed",
      "response_format added",
      "model_config.temperature removed",
      "model_config.top_p added",
      "variables.x removed",
      "missing changed",
    ]);
  });
});
