import { describe, expect, it } from "vitest";
import type { ReplayBatchPlan } from "@/api/types";
import {
  chosenText,
  differenceText,
  endsText,
  findable,
  intervalText,
  missingOf,
  outcomeCounts,
  planDuration,
  plannedParts,
} from "./batches";

describe("a part of the result", () => {
  it("counts attempts that end well", () => {
    expect(endsText({ attempts: 25, sum: 18 })).toBe("18 of 25");
    expect(endsText({ attempts: 0, sum: 0 })).toBe("unknown");
  });
  it("shows the mean of outcomes between 0 and 1", () =>
    expect(endsText({ attempts: 4, sum: 2.5 })).toBe("mean 63\u00a0%, n = 4"));
  it("never shows a difference without an interval or its absence", () => {
    expect(differenceText({ difference: 0.6 })).toBe("+60 points");
    expect(differenceText({ difference: null })).toBe("unknown");
    expect(intervalText({ ci: [-0.04, 0.78], confidence: 0.96 })).toBe("96\u00a0% interval −4 to +78 points");
    expect(intervalText({ ci: null, confidence: 0.96 })).toBe("no interval");
  });
});

describe("outcomeCounts", () => {
  it("adds up both parts and leaves out what no run is", () => {
    const counts = outcomeCounts({
      chosen: { runs: { repaired: 10, unknown: 2, not_replayable: 1 } },
      good: { runs: { kept: 5, unknown: 1, broken: 0 } },
    });
    expect(counts).toEqual([
      { outcome: "repaired", count: 10 },
      { outcome: "kept", count: 5 },
      { outcome: "unknown", count: 3 },
      { outcome: "not_replayable", count: 1 },
    ]);
    expect(outcomeCounts({ chosen: { runs: {} }, good: null })).toEqual([]);
  });
});

describe("chosenText", () => {
  const sized = { run_filter: null, matched_runs: 3, chosen_runs: 3, good_runs: 0, not_replayable_runs: 1 };
  it("says how the runs were chosen", () => {
    expect(chosenText(sized)).toBe("3 runs");
    expect(chosenText({ ...sized, run_filter: "agent_name=a", good_runs: 1 })).toBe(
      "3 runs with agent: a, and 1 good run",
    );
    const failure = { ...sized, run_filter: "fingerprint=4f0c&window_seconds=60", matched_runs: 212 };
    expect(chosenText({ ...failure, good_runs: 20 })).toBe(
      "3 of 212 runs of one failure, drawn by chance, and 20 good runs",
    );
  });
});

it("counts attempts that failed as missing", () =>
  expect(missingOf({ progress: { total: 10, done: 8, failed: 3 } })).toBe(5));

describe("a plan", () => {
  const run = (part: "chosen" | "good", code?: string): ReplayBatchPlan["runs"][number] => ({
    run_id: "",
    run_name: "",
    part,
    calls: 0,
    not_replayable: code === undefined ? null : { code, detail: `It is ${code}.` },
  });
  it("says how many runs can't be replayed, and why", () => {
    const runs = [run("chosen"), run("chosen", "a"), run("chosen", "b"), run("chosen", "b"), run("good")];
    expect(plannedParts({ runs })).toEqual([
      {
        part: "chosen",
        runs: 4,
        replayable: 1,
        reasons: [
          { code: "b", detail: "It is b.", runs: 2 },
          { code: "a", detail: "It is a.", runs: 1 },
        ],
      },
      { part: "good", runs: 1, replayable: 1, reasons: [] },
    ]);
  });
  it("says what can be found", () => {
    expect(findable({ attainable_p: null, detectable: null }, true).canTell).toBe(false);
    expect(findable({ attainable_p: 0.3, detectable: 0.9 }, true).text).toContain("p can't go below 0.30");
    expect(findable({ attainable_p: 0.001, detectable: null }, false).canTell).toBe(false);
    expect(findable({ attainable_p: 0.001, detectable: 0.331 }, true)).toEqual({
      canTell: true,
      text: "A difference of 34 points in how many attempts end well is found in 80 % of cases.",
    });
  });
  it("doesn't invent a duration", () => {
    expect(planDuration({ calls: 0, duration_ms: null })).toContain("No model is called");
    expect(planDuration({ calls: 5, duration_ms: null })).toContain("unknown");
    expect(planDuration({ calls: 5, duration_ms: 200_000 })).toContain("About 3 m 20 s");
  });
});
