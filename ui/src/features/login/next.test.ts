import { describe, expect, it } from "vitest";
import { safeNext } from "./next";

describe("safeNext", () => {
  it.each([
    [null, "/"],
    ["", "/"],
    ["/p/1/runs?status=error", "/p/1/runs?status=error"],
    ["//evil.example", "/"],
    ["/\\evil.example", "/"],
    ["https://evil.example", "/"],
    ["javascript:alert(1)", "/"],
  ])("%s → %s", (next, want) => expect(safeNext(next)).toBe(want));
});
