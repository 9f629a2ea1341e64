import { describe, expect, it } from "vitest";
import type { FailureCandidates } from "@/api/types";
import { comparedText } from "./Candidates";

const found: FailureCandidates = {
  now: "2026-11-29T12:00:00Z",
  start: "2026-11-22T12:00:00Z",
  failed: { read: 12, matched: 12, too_large: 0 },
  good: { read: 100, matched: 2314, too_large: 1 },
  tested: 43,
  candidates: [],
  first_failed: { run_id: "a", start_time: "2026-11-28T12:00:00Z" },
  last_good: null,
  differences: [],
};

describe("what was compared", () => {
  it("says that nothing separates the runs", () => {
    expect(comparedText(found)).toBe(
      "Compared 12 failed runs and the newest 100 of 2,314 good runs. Nothing separates them beyond chance. 1 run too large to read.",
    );
  });
  it("says that there are no good runs", () => {
    expect(comparedText({ ...found, good: { read: 0, matched: 0, too_large: 0 } })).toMatch(/^No good run/);
  });
  it("says that too little differs", () => {
    expect(comparedText({ ...found, tested: 0 })).toContain("Too few differ");
  });
});
