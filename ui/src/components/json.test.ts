import { describe, expect, it } from "vitest";
import { parseStructured, summarize } from "./json";

describe("parseStructured", () => {
  it.each([
    ['{"a":1}', { a: 1 }],
    [" [1,2]", [1, 2]],
    ["12", undefined],
    ['"text"', undefined],
    ["{not json", undefined],
    ["", undefined],
  ])("%s", (text, want) => expect(parseStructured(text)).toEqual(want));
});

describe("summarize", () => {
  it.each([
    [{ a: 1 }, "{1 key}"],
    [{}, "{0 keys}"],
    [[1, 2], "[2 items]"],
    [null, "null"],
    ["hi", '"hi"'],
    [1.5, "1.5"],
  ])("%j → %s", (value, want) => expect(summarize(value)).toBe(want));
});
