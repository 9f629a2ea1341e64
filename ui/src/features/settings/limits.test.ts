import { describe, expect, it } from "vitest";
import { fieldsOf, limitsOf, mistakeIn, sameFields } from "./limits";

describe("limits", () => {
  it("round-trips values, including zeros", () => {
    const limits = {
      key: { requests: { rate: 0 } },
      project: { bytes: { rate: 0.5, burst: 10 }, spans: { rate: 100 } },
    };
    const fields = fieldsOf(limits);
    expect(fields).toEqual({
      "key.requests.rate": "0",
      "project.bytes.rate": "0.5",
      "project.bytes.burst": "10",
      "project.spans.rate": "100",
    });
    expect(limitsOf(fields)).toEqual(limits);
  });

  it("sends nothing for empty fields", () => {
    expect(fieldsOf({})).toEqual({});
    expect(limitsOf({})).toEqual({});
    expect(limitsOf({ "key.spans.burst": "5" })).toEqual({ key: { spans: { burst: 5 } } });
  });

  it.each([
    ["project.spans.rate", "-5", "must not be negative"],
    ["project.spans.rate", "-", "must be a number"],
    ["project.spans.rate", "0.5", undefined],
    ["project.spans.burst", "1.5", "must be a whole number"],
    ["project.spans.burst", "0", undefined],
    ["project.spans.burst", undefined, undefined],
  ] as const)("finds mistakes: %s %s", (field, value, want) => expect(mistakeIn(field, value)).toBe(want));

  it("detects changes", () => {
    expect(sameFields({}, {})).toBe(true);
    expect(sameFields({ "key.spans.rate": "1" }, { "key.spans.rate": "1.0" })).toBe(true);
    expect(sameFields({ "key.spans.rate": "1" }, {})).toBe(false);
    expect(sameFields({}, { "key.spans.rate": "0" })).toBe(false);
  });
});
