import { describe, expect, it } from "vitest";
import {
  firstWords,
  formatAge,
  formatBytes,
  formatCost,
  formatCountOf,
  formatDuration,
  formatHidden,
  formatMoment,
  formatRunCost,
  formatRunTokens,
  formatTokens,
  parseTime,
  unpricedNote,
} from "./format";

it.each([
  [0, "0 items"],
  [1, "1 item"],
  [2000, "2,000 items"],
])("counts with their noun: %d", (count, want) => expect(formatCountOf(count, "item")).toBe(want));

describe("formatHidden", () => {
  it.each([
    [1, false, "1 trace without GenAI spans is hidden."],
    [1_200, false, "1,200 traces without GenAI spans are hidden."],
    [12, true, "At least 12 traces without GenAI spans are hidden."],
  ])("%d, %s", (count, partial, want) => expect(formatHidden({ count, partial })).toBe(want));
});

describe("formatDuration", () => {
  it.each([
    [null, "unknown"],
    [undefined, "unknown"],
    [0, "0 ms"],
    [0.4121, "412 µs"],
    [1, "1 ms"],
    [31.54, "31.5 ms"],
    [312.4, "312 ms"],
    [100, "100 ms"],
    [999.6, "1 s"],
    [12_420, "12.4 s"],
    [12_000, "12 s"],
    [20_000, "20 s"],
    [59_960, "1 m 00 s"],
    [184_000, "3 m 04 s"],
    [7_500_000, "2 h 05 m"],
    [90_000_000, "1 d 01 h"],
  ])("%s → %s", (ms, want) => expect(formatDuration(ms)).toBe(want));
});

describe("formatRunCost", () => {
  it.each([
    [null, 0, "—", undefined],
    [null, 2, "unknown", undefined],
    [0.5, 0, "$0.500", undefined],
    [0.5, 1, "$0.500 +", "Excludes 1 model call without a known price"],
    [0.000001, 1, "<$0.00001 +", "Excludes 1 model call without a known price"],
    [0, 2, "$0 +", "Excludes 2 model calls without a known price"],
  ])("%s without %s calls → %s", (cost_usd, unpriced_call_count, want, note) => {
    const run = { cost_usd, unpriced_call_count, llm_call_count: 0, usage: null };
    expect(formatRunCost(run)).toBe(want);
    expect(unpricedNote(run)).toBe(note);
  });
  it("is unknown with model calls, and a dash without", () => {
    const run = { cost_usd: null, unpriced_call_count: 0, usage: null };
    expect(formatRunCost({ ...run, llm_call_count: 1 })).toBe("unknown");
    expect(formatRunTokens({ ...run, llm_call_count: 1 })).toBe("unknown");
    expect(formatRunTokens({ ...run, llm_call_count: 0 })).toBe("—");
  });
});

describe("formatTokens", () => {
  it.each([
    [null, "unknown"],
    [0, "0"],
    [18_204, "18,204"],
    [999_999, "999,999"],
    [1_240_000, "1.24 M"],
  ])("%s → %s", (value, want) => expect(formatTokens(value)).toBe(want));
});

describe("formatCost", () => {
  it.each([
    [null, "unknown"],
    [0, "$0"],
    [1234.5, "$1,234.50"],
    [1, "$1.00"],
    [0.0812, "$0.0812"],
    [0.5, "$0.500"],
    [0.00123, "$0.0012"],
    [0.00001, "$0.000010"],
    [0.000016, "$0.000016"],
    [0.0000099, "<$0.00001"],
    [0.0000001, "<$0.00001"],
  ])("%s → %s", (value, want) => expect(formatCost(value)).toBe(want));
});

describe("formatBytes", () => {
  it.each([
    [812, "812 B"],
    [18_200, "18.2 kB"],
    [3_410_000, "3.41 MB"],
  ])("%s → %s", (value, want) => expect(formatBytes(value)).toBe(want));
});

describe("formatAge", () => {
  const now = Date.parse("2026-03-01T12:00:00Z");
  it.each([
    ["2026-03-01T12:00:30Z", "0 s"],
    ["2026-03-01T11:59:48Z", "12 s"],
    ["2026-03-01T11:55:30Z", "4 min"],
    ["2026-03-01T09:00:00Z", "3 h"],
    ["2026-02-27T12:00:00Z", "2 d"],
    ["2026-02-01T12:00:00Z", "4 wk"],
    ["2024-02-01T12:00:00Z", "2 y"],
  ])("%s → %s", (time, want) => expect(formatAge(time, now)).toBe(want));
});

describe("parseTime", () => {
  it("keeps fractions of a millisecond", () => {
    const base = Date.parse("2026-03-01T12:00:00.123Z");
    expect(parseTime("2026-03-01T12:00:00.123Z")).toBe(base);
    expect(parseTime("2026-03-01T12:00:00.123456789Z") - base).toBeCloseTo(0.456789, 3);
    expect(parseTime("2026-03-01T12:00:00Z")).toBe(Date.parse("2026-03-01T12:00:00Z"));
  });
});

describe("firstWords", () => {
  it("returns one line of limited length", () => {
    expect(firstWords("  a\n\n b\tc ")).toBe("a b c");
    expect(firstWords("x".repeat(1000), 10)).toHaveLength(10);
  });
});

describe("formatMoment", () => {
  const now = Date.parse("2026-11-26T12:00:00Z");
  it("has the day and the time", () => expect(formatMoment("2026-03-04T12:05:06Z", now)).toMatch(/4.*05.06/));
  it("has the year only if it isn't the present one", () => {
    expect(formatMoment("2026-03-04T12:05:06Z", now)).not.toContain("2026");
    expect(formatMoment("2025-03-04T12:05:06Z", now)).toContain("2025");
  });
  it("knows no moment in other texts", () => expect(formatMoment("soon", now)).toBe("unknown"));
});
