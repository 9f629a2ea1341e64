import { describe, expect, it } from "vitest";
import { readSchema, readViolation, schemaText } from "./schemaText";

describe("readSchema", () => {
  it.each([
    ["", null, null],
    [" \n", null, null],
    ['{"type": "object"}', { type: "object" }, null],
    ["[]", null, "A schema is a JSON object."],
    ["null", null, "A schema is a JSON object."],
  ])("%s", (text, value, error) => expect(readSchema(text)).toEqual({ value, error }));
  it("names what is wrong with the JSON", () => expect(readSchema("{").error).toMatch(/not valid JSON: /));
});

it("schemaText is read back", () => {
  const schema = { type: "object", required: ["question"] };
  expect(readSchema(schemaText(schema)).value).toEqual(schema);
  expect(schemaText(null)).toBe("");
});

describe("readViolation", () => {
  it.each([
    [
      'does not fit the item "capital \\"fr\\"": type: "x" has type "string"',
      { item: 'capital "fr"', hasKey: true, reason: 'type: "x" has type "string"' },
    ],
    ['does not fit the item "a\\x00b": no', { item: "a\\x00b", hasKey: true, reason: "no" }],
    [
      "does not fit the item 01985f6e-0000-7000-8000-000000000001: no\nmore",
      { item: "01985f6e-0000-7000-8000-000000000001", hasKey: false, reason: "no\nmore" },
    ],
    ["is no JSON Schema: x", null],
  ])("%s", (message, want) => expect(readViolation(message)).toEqual(want));
});
