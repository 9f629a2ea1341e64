import { describe, expect, it } from "vitest";
import type { PromptUsage, RunTotals } from "@/api/types";
import { readFilters } from "@/components/filters/filters";
import { bucketTimes, usageCharts, versionColor, versionLabel, windowOf } from "./usage";

const none: RunTotals = {
  count: 0,
  ended_count: 0,
  error_count: 0,
  error_rate: null,
  duration_ms: null,
  usage: null,
  no_usage_count: 0,
  cost_usd: null,
  no_cost_count: 0,
  sampled_count: 0,
  sample_share: null,
};

const some: RunTotals = {
  ...none,
  count: 4,
  ended_count: 4,
  error_count: 1,
  error_rate: 0.25,
  duration_ms: { p50: 10, p95: 20, p99: 30 },
};

function version(name: string | null, ...points: RunTotals[]): PromptUsage["versions"][number] {
  return {
    version: name,
    exists: true,
    totals: some,
    series: points.map((totals, hour) => ({ start: `2026-11-01T0${hour}:00:00Z`, totals })),
    linked_by_content: 0,
    unpriced_call_count: 0,
    unpriced_run_count: 0,
    calls: {
      count: 0,
      error_count: 0,
      duration_ms: null,
      input_tokens: null,
      output_tokens: null,
      no_usage_count: 0,
      cost_usd: null,
      no_cost_count: 0,
    },
    scores: [],
    first_seen: "2026-11-01T00:00:00Z",
    last_seen: "2026-11-01T00:00:00Z",
  };
}

const usage: PromptUsage = {
  start: "2026-11-01T00:00:00Z",
  end: "2026-11-01T02:00:00Z",
  partial: false,
  bucket_seconds: 3600,
  total: some,
  versions: [version("2", none, some), version("1", some, none)],
  other: null,
};

describe("usageCharts", () => {
  it("has a series for each version, with gaps where nothing is known", () => {
    expect(bucketTimes(usage).map((time) => new Date(time * 1000).getUTCHours())).toEqual([0, 1]);
    expect(usageCharts(usage).map(({ id, series }) => [id, series.map(({ values }) => values)])).toEqual([
      [
        "runs",
        [
          [0, 4],
          [4, 0],
        ],
      ],
      [
        "errors",
        [
          [null, 0.25],
          [0.25, null],
        ],
      ],
      [
        "duration",
        [
          [null, 20],
          [20, null],
        ],
      ],
      [
        "cost",
        [
          [null, null],
          [null, null],
        ],
      ],
    ]);
  });
  it("draws the eight versions with the most runs", () => {
    const versions = Array.from({ length: 12 }, (_, index) => version(String(index), some));
    expect(usageCharts({ ...usage, versions })[0]?.series).toHaveLength(8);
    expect([versionColor(0), versionColor(8)]).toEqual(["--lt-series-1", "--lt-series-other"]);
  });
});

describe("versionLabel", () => {
  it.each([
    ["3", "v3"],
    ["2026-11", "2026-11"],
    [null, "no version"],
  ])("%s", (name, want) => expect(versionLabel({ version: name })).toBe(want));
});

describe("windowOf", () => {
  const now = Date.parse("2026-11-02T00:00:00Z");
  it.each([
    ["", {}],
    ["range=24h", { start_after: "2026-11-01T00:00:00.000Z" }],
    ["start_after=2026-10-01T00:00:00Z", { start_after: "2026-10-01T00:00:00.000Z" }],
  ])("%s", (query, want) =>
    expect(windowOf(readFilters(new URLSearchParams(query), null), now)).toEqual(want),
  );
});
