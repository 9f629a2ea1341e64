import { describe, expect, it } from "vitest";
import { LongNumber } from "@/api/json";
import { isBranch, parseStructured, summarize } from "./json";

describe("parseStructured", () => {
  it.each([
    ['{"a":1}', { a: 1 }],
    [" [1,2]", [1, 2]],
    ['{"order_id": 1234567890123456789}', { order_id: new LongNumber("1234567890123456789") }],
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
    [new LongNumber("1234567890123456789"), "1234567890123456789"],
  ])("%j → %s", (value, want) => expect(summarize(value)).toBe(want));
});

describe("isBranch", () => {
  it.each([
    [[], true],
    [{}, true],
    [null, false],
    ["[]", false],
    [new LongNumber("1e400"), false],
  ])("%j: %s", (value, want) => expect(isBranch(value)).toBe(want));
});
