import { describe, expect, it } from "vitest";
import { credibleFilter, misdatedFilters, reachesTooFar } from "./clocks";

const now = Date.parse("2026-11-26T16:00:00Z");
const all = { project_id: "p" };
const [first, last] = ["2016-11-28T00:00:00.000Z", "2026-11-28T00:00:00.000Z"];

describe("runs of wrong clocks", () => {
  it("are those before and after credible times", () => {
    expect(misdatedFilters(all, now)).toEqual({
      past: { ...all, start_before: first },
      future: { ...all, start_after: last },
    });
    expect(credibleFilter(all, now)).toEqual({ ...all, start_after: first, start_before: last });
  });
  it("can only be ahead of a range until now", () => {
    const day = { ...all, window_seconds: 86_400 };
    expect(misdatedFilters(day, now)).toEqual({ past: null, future: { ...day, start_after: last } });
    expect(credibleFilter(day, now)).toEqual({ ...day, start_before: last });
  });
  it.each([
    ["asked for: past", { ...all, start_before: first }],
    ["asked for: future", { ...all, start_after: last }],
    [
      "outside of a custom range",
      { ...all, start_after: "2026-01-01T00:00:00Z", start_before: "2026-02-01T00:00:00Z" },
    ],
  ])("are none if %s", (_, filter) =>
    expect(misdatedFilters(filter, now)).toEqual({ past: null, future: null }),
  );
});

describe("reachesTooFar", () => {
  const today = "2026-11-26T15:00:00Z";
  it.each([
    ["1971-01-01T00:00:00Z", today, true],
    [today, "2031-01-01T00:00:00Z", true],
    ["2025-01-01T00:00:00Z", today, false],
    ["1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", false],
  ])("%s to %s: %s", (start, end, want) => expect(reachesTooFar(all, { start, end }, now)).toBe(want));
});
