import { describe, expect, it } from "vitest";
import type { PromptUsage, PromptVersionUsage } from "@/api/types";
import { readFilters } from "@/components/filters/filters";
import { bucketTimes, shownVersions, usageCharts, versionColor, versionLabel, windowOf } from "./usage";

function version(name: string | null, runs: number, buckets: PromptVersionUsage["buckets"] = []) {
  return {
    version: name,
    exists: true,
    runs,
    linked_by_content: 0,
    error_count: 0,
    error_rate: 0,
    duration_p50_ms: 1,
    duration_p95_ms: 2,
    total_tokens: null,
    cost_usd: null,
    unpriced_call_count: 0,
    calls: {
      count: 0,
      error_count: null,
      duration_p50_ms: null,
      duration_p95_ms: null,
      total_tokens: null,
      cost_usd: null,
    },
    scores: [],
    first_seen: "2026-11-01T00:00:00Z",
    last_seen: "2026-11-01T00:00:00Z",
    buckets,
  } satisfies PromptVersionUsage;
}

const bucket = (start: string, runs: number, error_count: number) => ({
  start,
  runs,
  error_count,
  duration_p95_ms: 20,
  cost_usd: null,
});

const usage: PromptUsage = {
  start: "2026-11-01T00:30:00Z",
  end: "2026-11-01T03:00:00Z",
  partial: false,
  bucket_seconds: 3600,
  versions: [
    version("2", 4, [bucket("2026-11-01T02:00:00Z", 4, 1)]),
    version("1", 2, [bucket("2026-11-01T00:00:00Z", 2, 0)]),
  ],
};

describe("usageCharts", () => {
  it("has a bucket for each step of the window", () => {
    expect(bucketTimes(usage).map((time) => new Date(time * 1000).getUTCHours())).toEqual([0, 1, 2]);
  });
  it("has no runs in an empty bucket, and nothing to say about them", () => {
    const [runs, errors, duration, cost] = usageCharts(usage);
    expect(runs?.series.map(({ label, values }) => [label, values])).toEqual([
      ["v2", [0, 0, 4]],
      ["v1", [2, 0, 0]],
    ]);
    expect(errors?.series[0]?.values).toEqual([null, null, 0.25]);
    expect(duration?.series[1]?.values).toEqual([20, null, null]);
    expect(cost?.series[0]?.values).toEqual([null, null, null]);
  });
  it("shows the versions with the most runs, the newest first", () => {
    const versions = Array.from({ length: 12 }, (_, index) => version(String(12 - index), index));
    const many = { ...usage, versions };
    expect(shownVersions(many).map(({ version: name }) => name)).toEqual([
      "8",
      "7",
      "6",
      "5",
      "4",
      "3",
      "2",
      "1",
    ]);
    expect(versionColor(many, versions[11] as PromptVersionUsage)).toBe("--lt-series-1");
    expect(versionColor(many, versions[0] as PromptVersionUsage)).toBe("--lt-series-other");
  });
});

describe("versionLabel", () => {
  it.each([
    ["3", "v3"],
    ["2026-11", "2026-11"],
    [null, "no version"],
  ])("%s", (name, want) => expect(versionLabel(version(name, 0))).toBe(want));
});

describe("windowOf", () => {
  const now = Date.parse("2026-11-02T00:00:00Z");
  it.each([
    ["", {}],
    ["range=24h", { start_after: "2026-11-01T00:00:00.000Z" }],
    ["start_after=2026-10-01T00:00:00Z", { start_after: "2026-10-01T00:00:00.000Z" }],
  ])("%s", (query, want) => expect(windowOf(readFilters(new URLSearchParams(query)), now)).toEqual(want));
});
