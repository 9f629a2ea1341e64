import { describe, expect, it } from "vitest";
import { LongNumber, parseJson, writeJson } from "./json";

describe("parseJson", () => {
  it.each([
    "1234567890123456789",
    "-9007199254740993",
    "0.1234567890123456789",
    "3.1400000000000001",
    "1e400",
    "5e-400",
    "12345678901234567890e-3",
  ])("keeps %s as it is", (number) => {
    expect(parseJson(`{"n": [${number}]}`)).toEqual({ n: [new LongNumber(number)] });
    expect(writeJson(parseJson(`{"n":[${number}]}`))).toBe(`{"n":[${number}]}`);
  });
  it.each([
    "0",
    "-0.0",
    "12.50",
    "1e3",
    "1234567890123456",
    "10000000000000000000000",
    "0.30000000000000004",
    "1.7976931348623157e308",
    "1700000000000000000",
  ])("reads %s as a number", (number) => expect(parseJson(number)).toBe(Number(number)));
  it("doesn't change strings", () => {
    const value = {
      "1234567890123456789": 'a "1234567890123456789" \\',
      b: "\\",
      c: '\\"1234567890123456789',
      __proto__: "1e400",
    };
    expect(parseJson(JSON.stringify(value))).toEqual(value);
  });
  it("rejects invalid JSON", () => {
    for (const text of [
      "01234567890123456789",
      "[1234567890123456789",
      '{"a": 1e400 "',
      "1234567890123456789.",
      "",
    ])
      expect(() => parseJson(text)).toThrow(SyntaxError);
  });
  it("parses a long string of escaped quotes in linear time", () => {
    const value = ['\\"'.repeat(200_000), "1234567890123456789"];
    expect(parseJson(JSON.stringify(value))).toEqual(value);
  });
});

describe("writeJson", () => {
  it("writes long numbers", () =>
    expect(writeJson(parseJson('{"id":1234567890123456789,"of":[1,"2"]}'), 2)).toBe(
      '{\n  "id": 1234567890123456789,\n  "of": [\n    1,\n    "2"\n  ]\n}',
    ));
});
