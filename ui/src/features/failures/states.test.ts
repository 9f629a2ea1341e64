import { describe, expect, it } from "vitest";
import type { FailureState } from "@/api/types";
import { countOf, decisionFor, leftOut, MUTES, readState, revisionOf, stateText } from "./states";

const now = Date.parse("2026-11-26T12:00:00Z");
const made = {
  note: null,
  until: null,
  more_runs: null,
  runs_since: 3,
  created_by: { email: "ann@example.com", key: null },
  created_at: "2026-11-26T10:00:00Z",
  revision: 2,
};
const open: FailureState = { state: "open", decision: null, regression: null };
const resolved: FailureState = {
  state: "resolved",
  decision: { ...made, state: "resolved", note: "fixed" },
  regression: null,
};
const muted: FailureState = {
  state: "muted",
  decision: { ...made, state: "muted", more_runs: 10 },
  regression: null,
};
const regressed: FailureState = {
  ...resolved,
  state: "open",
  regression: { run_id: "r", start_time: "2026-11-26T11:00:00Z" },
};

describe("readState", () => {
  it.each([
    ["state=muted", "muted"],
    ["state=gone", "open"],
    ["", "open"],
  ])("%s", (query, want) => expect(readState(new URLSearchParams(query))).toBe(want));
});

describe("counts", () => {
  it.each([
    [{ open: 1, resolved: 5, muted: 2 }, "2 muted, 5 resolved", 8],
    [{ open: 1, resolved: 0, muted: 1 }, "1 muted", 2],
    [{ open: 1, resolved: 0, muted: 0 }, "", 1],
  ])("%o", (counts, text, all) => {
    expect(leftOut(counts)).toBe(text);
    expect(countOf(counts, "all")).toBe(all);
  });
});

describe("stateText", () => {
  it.each([
    [open, null],
    [resolved, "Resolved by ann@example.com 2 h ago."],
    [muted, "Muted by ann@example.com 2 h ago, until 10 more runs (3 so far)."],
    [{ ...muted, state: "open" as const }, "Muted by ann@example.com 2 h ago. The mute has ended."],
    [regressed, "Failed again 1 h ago. Resolved by ann@example.com 2 h ago."],
  ])("%o", (state, want) => expect(stateText(state, now)).toBe(want));
});

describe("decisionFor", () => {
  it.each([
    [open, { state: "open" }],
    [regressed, { state: "open" }],
    [resolved, { state: "resolved", note: "fixed", until: null, more_runs: null }],
    [muted, { state: "muted", note: null, until: null, more_runs: 7 }],
  ])("%o", (state, want) => expect(decisionFor(state)).toEqual(want));
});

describe("revisionOf", () => {
  it("is 0 without a decision", () => expect([revisionOf(open), revisionOf(regressed)]).toEqual([0, 2]));
});

describe("MUTES", () => {
  it("has ends that the API takes", () => {
    const ends = MUTES.map(({ decision }) => decision(now));
    expect(ends.map(({ until }) => until)).toContain("2026-11-27T12:00:00.000Z");
    expect(ends.every(({ until, more_runs }) => !until || !more_runs)).toBe(true);
  });
});
