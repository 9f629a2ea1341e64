import { describe, expect, it } from "vitest";
import type { RunStats, RunTotals } from "@/api/types";
import { chartsOf, groupsOf, readGrouping, withGroup } from "./charts";

const totals = (count: number, more: Partial<RunTotals> = {}): RunTotals => ({
  count,
  ended_count: count,
  error_count: 0,
  error_rate: count > 0 ? 0 : null,
  duration_ms: null,
  usage: null,
  no_usage_count: count,
  cost_usd: null,
  no_cost_count: count,
  sampled_count: 0,
  sample_share: null,
  ...more,
});
const start = "2026-01-01T00:00:00Z";
const stats = (more: Partial<RunStats>): RunStats => ({
  start,
  end: start,
  bucket_seconds: 60,
  total: totals(3),
  series: [{ start, totals: totals(3, { error_count: 1, error_rate: 1 / 3, cost_usd: 0.5 }) }],
  group_by: null,
  groups: [],
  other: null,
  partial: false,
  ...more,
});
const chart = (of: RunStats, id: string) => chartsOf(of).find((one) => one.id === id);

describe("chartsOf", () => {
  it("splits runs into failed and others", () => {
    expect(chart(stats({}), "runs")?.series.map(({ label, values }) => [label, ...values])).toEqual([
      ["failed", 1],
      ["others", 2],
    ]);
  });
  it("leaves gaps for unknown values, and counts them", () => {
    expect(chart(stats({}), "tokens")?.series[0]?.values).toEqual([null]);
    expect(chart(stats({}), "cost")?.note).toBe("unknown for all 3 runs");
    expect(chart(stats({ total: totals(3, { no_cost_count: 1 }) }), "cost")?.note).toBe(
      "excludes 1 run of unknown cost",
    );
    expect(chart(stats({ total: totals(3, { no_cost_count: 0 }) }), "cost")?.note).toBeUndefined();
  });
  it("includes groups without a value and the remaining groups", () => {
    const grouped = stats({
      group_by: "model",
      groups: [
        { value: "m", totals: totals(2), series: [{ start, totals: totals(2) }] },
        { value: "", totals: totals(1), series: [{ start, totals: totals(1) }] },
      ],
      other: { groups: 4, totals: totals(1), series: [{ start, totals: totals(1) }] },
    });
    expect(groupsOf(grouped).map(({ label, value }) => [label, value])).toEqual([
      ["m", "m"],
      ["none", ""],
      ["4 others", null],
    ]);
    expect(chart(grouped, "runs")?.series.map(({ values }) => values[0])).toEqual([2, 1, 1]);
  });
});

describe("readGrouping", () => {
  it.each([
    ["group_by=model", "model"],
    ["group_by=nonsense", null],
    ["", null],
  ])("%s", (query, want) => expect(readGrouping(new URLSearchParams(query))).toBe(want));
});

describe("groups by prompt version", () => {
  it("name the prompt, so that versions of two prompts are apart", () => {
    const grouped = stats({
      group_by: "prompt_version",
      groups: ["triage@3", "answer@3", "@7", ""].map((value) => ({ value, totals: totals(1), series: [] })),
    });
    expect(groupsOf(grouped).map(({ label }) => label)).toEqual(["triage v3", "answer v3", "v7", "none"]);
  });
  it("lead to the runs of the prompt and version", () => {
    const from = new URLSearchParams("group_by=prompt_version&prompt_name=other&environment=prod");
    expect(withGroup(from, "prompt_version", "triage@3").toString()).toBe(
      "prompt_name=triage&environment=prod&prompt_version=3",
    );
    expect(withGroup(from, "prompt_version", "@7").toString()).toBe("environment=prod&prompt_version=7");
    expect(withGroup(from, "model", "m").toString()).toBe("prompt_name=other&environment=prod&model=m");
  });
});
