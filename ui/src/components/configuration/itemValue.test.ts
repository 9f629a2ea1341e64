import { describe, expect, it } from "vitest";
import { itemValue, pathsOf } from "./itemValue";

describe("the value of an item", () => {
  const item = {
    input: { question: "Why?", messages: [{ role: "user" }], "a.b": 1 },
    reference_output: "Because",
    metadata: { lang: "en", nested: { deep: 1 } },
  };
  it.each([
    ["question", "", "Why?"],
    ["missing", "", undefined],
    ["input", "", item.input],
    ["x", "reference_output", "Because"],
    ["x", "metadata.nested.deep", 1],
    ["x", "input.messages.role", undefined],
    ["x", "output.text", undefined],
    ["constructor", "", undefined],
  ])("%s from %j is %j", (name, path, want) => expect(itemValue(item, name, path)).toEqual(want));
  it("of a text input is nothing but input", () => {
    const text = { input: "Hello", reference_output: null, metadata: {} };
    expect(itemValue(text, "input", "")).toBe("Hello");
    expect(itemValue(text, "question", "")).toBeUndefined();
  });
  it("has paths to choose from", () => {
    expect(pathsOf([item])).toEqual([
      "input",
      "reference_output",
      "input.question",
      "input.messages",
      "metadata.lang",
      "metadata.nested",
      "metadata.nested.deep",
    ]);
  });
});
