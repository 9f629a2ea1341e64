import { describe, expect, it } from "vitest";
import { newVariable } from "./draft";
import { previewOf, valuesOf } from "./preview";

describe("valuesOf", () => {
  it("takes what was typed, then the example", () => {
    const variables = [
      { ...newVariable("a"), example: "1" },
      { ...newVariable("b"), type: "string" as const, example: "x" },
      newVariable("c"),
      { ...newVariable("d"), type: "integer" as const },
    ];
    const { values, errors } = valuesOf(variables, { b: "12", d: "many" }, ["history", "more"], {
      history: '[{"role":"user"}]',
      more: "{}",
    });
    expect(values).toEqual({ variables: { a: 1, b: "12" }, placeholders: { history: [{ role: "user" }] } });
    expect(Object.keys(errors)).toEqual(["d", "more"]);
  });
});

describe("previewOf", () => {
  const content = {
    messages: [
      { role: "system", content: "{{a}} and {{b}}" },
      { type: "placeholder", name: "history" },
    ],
  };
  it("renders", () => {
    const values = { variables: { a: 1, b: "{{a}}" }, placeholders: { history: [] } };
    expect(previewOf(content, values)).toEqual({
      messages: [{ role: "system", content: "1 and {{a}}" }],
      problems: [],
      hasSyntaxError: false,
    });
  });
  it("keeps what has no value, and names it", () => {
    expect(previewOf(content, { variables: { a: 1 }, placeholders: {} })).toEqual({
      messages: [{ role: "system", content: "1 and {{b}}" }, content.messages[1]],
      problems: ["No value for b.", "No messages for history."],
      hasSyntaxError: false,
    });
  });
  it("shows a text with a syntax error as it is", () => {
    const broken = { messages: [{ role: "user", content: "{{#a}}" }] };
    expect(previewOf(broken, { variables: {}, placeholders: {} })).toEqual({
      messages: broken.messages,
      problems: [],
      hasSyntaxError: true,
    });
  });
});
