import { describe, expect, it } from "vitest";
import type { SpendingTotals } from "@/api/types";
import { costText, daysOf, leftOut, readView, windowOf } from "./spending";

const now = Date.parse("2026-11-26T12:30:00Z");
const totals: SpendingTotals = {
  call_count: 3,
  failed_count: 0,
  running_count: 0,
  cost_usd: 0.25,
  bounded_usd: 0,
  bounded_count: 0,
  unpriced_count: 0,
  reserved_usd: 0,
};

describe("the window", () => {
  const of = (query: string) => windowOf(readView(new URLSearchParams(query), now), now);

  it.each([
    ["", {}],
    ["range=30d", { start: "2026-10-28T00:00:00Z" }],
    [
      "range=custom&from=2026-11-02&until=2026-11-30",
      { start: "2026-11-02T00:00:00Z", end: "2026-12-01T00:00:00Z" },
    ],
    ["range=custom&from=x&until=2026-13-40", { start: "2026-11-01T00:00:00Z", end: "2026-11-27T00:00:00Z" }],
  ])("of %s", (query, want) => expect(of(query)).toEqual(want));

  it("has a group", () => {
    expect(readView(new URLSearchParams("group_by=model"), now).groupBy).toBe("model");
    expect(readView(new URLSearchParams("group_by=x"), now).groupBy).toBe("provider");
  });
});

it("has a bar for each day", () => {
  const rows = [{ key: "2026-11-25", label: "2026-11-25", totals: { ...totals, bounded_usd: 1 } }];
  const { times, cost, bounded } = daysOf(rows, "2026-11-24T00:00:00Z", "2026-11-26T12:30:00Z");
  expect(times.map((time) => new Date(time * 1000).toISOString().slice(0, 10))).toEqual([
    "2026-11-24",
    "2026-11-25",
    "2026-11-26",
  ]);
  expect(cost).toEqual([0, 0.25, 0]);
  expect(bounded).toEqual([0, 1, 0]);
});

it("says what the cost leaves out", () => {
  expect(leftOut(totals)).toEqual([]);
  expect(costText(totals)).toBe("$0.250");
  const partial = {
    ...totals,
    bounded_count: 1,
    bounded_usd: 2,
    unpriced_count: 2,
    running_count: 1,
    reserved_usd: 3,
  };
  expect(leftOut(partial)).toEqual([
    "1 call of unknown cost, at most $2.00. Budgets count that.",
    "2 calls to models without a price, not included in any figure.",
    "1 call under way, at most $3.00.",
  ]);
  expect(costText(partial)).toBe("$0.250 +");
  expect(costText({ ...partial, cost_usd: 0 })).toBe("unknown");
  expect(costText({ ...totals, cost_usd: 0 })).toBe("$0");
});
