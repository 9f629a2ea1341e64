import { describe, expect, it } from "vitest";
import { readValue } from "./scoreValue";

describe("readValue", () => {
  it.each([
    ["", undefined],
    ["  ", undefined],
    ["0.8", 0.8],
    ["-1", -1],
    [".5", 0.5],
    ["1e3", 1000],
    ["true", true],
    ["false", false],
    ["good", "good"],
    ["4 of 5", "4 of 5"],
    ["Infinity", "Infinity"],
    ["0x10", "0x10"],
  ])("%j → %j", (text, want) => expect(readValue(text)).toBe(want));
});
