import { describe, expect, it } from "vitest";
import type { FailedRunGroup } from "@/api/types";
import { contrastText, failureQuery, partsOf, readWindow, runFilterText, whatFailed } from "./failures";

const weights = {
  recency: 0.2,
  spike: 0.2,
  impact: 0.2,
  severity: 0.1,
  novelty: 0.1,
  lift: 0.1,
  waste: 0.1,
  writes: 0.1,
};

describe("partsOf", () => {
  it("distributes the weight of unknown parts among the known ones", () => {
    const parts = partsOf(
      {
        recency: 1,
        spike: 0,
        impact: null,
        severity: 1,
        novelty: null,
        lift: null,
        waste: null,
        writes: null,
      },
      weights,
    );
    expect(parts.map(({ name }) => name).slice(0, 3)).toEqual(["recency", "severity", "spike"]);
    expect(parts[0]?.adds).toBeCloseTo(0.4);
    expect(parts[1]?.adds).toBeCloseTo(0.2);
    expect(parts[2]?.adds).toBe(0);
    expect(parts.slice(3).every(({ adds, value }) => adds === null && value === null)).toBe(true);
  });
});

describe("whatFailed", () => {
  it("names the score that fails runs", () => {
    const group = { class: "scored", step: { kind: "score", name: "reward", error_type: null } };
    expect(whatFailed(group as FailedRunGroup)).toBe("reward scored as failed");
  });
});

it("names the runs of a group as a batch takes them", () =>
  expect(runFilterText({ project_id: "p", window_seconds: 60, outcome: ["failed"] }, "f")).toBe(
    "window_seconds=60&outcome=failed&fingerprint=f",
  ));

describe("contrastText", () => {
  it("describes both sides", () => {
    const text = contrastText({
      attribute: "metadata.tier",
      value: "free",
      with: 12,
      runs: 13,
      others_with: 1040,
      others_runs: 2100,
      ochiai: 0.5,
    });
    expect(text).toBe("tier free: 12 of 13 of these runs, 1,040 of 2,100 others");
  });
});

describe("readWindow", () => {
  it.each([
    ["range=30d", 2_592_000],
    ["range=5y", 86_400],
    ["", 86_400],
    ["range=all", 7_776_000],
    ["start_after=2026-11-23T00:00:00Z&start_before=2026-11-24T00:00:00Z", 604_800],
    ["start_after=1971-01-01T00:00:00Z", 7_776_000],
  ])("%s", (query, want) =>
    expect(readWindow(new URLSearchParams(query), Date.parse("2026-11-26T00:00:00Z")).seconds).toBe(want),
  );
});

describe("failureQuery", () => {
  it("has the time range and all filters except time and fingerprint", () => {
    const params = new URLSearchParams(
      "range=30d&start_after=2026-01-01&fingerprint=fp:v1:0&environment=production&status=error&search=+seat+&metadata[tenant]=a",
    );
    expect(failureQuery("p1", params)).toEqual({
      project_id: "p1",
      window_seconds: 2_592_000,
      environment: "production",
      status: ["error"],
      search: "seat",
      metadata: { tenant: "a" },
    });
  });
});
