import { describe, expect, it } from "vitest";
import { activityText, budgetOf } from "./activity";

const now = Date.parse("2026-11-26T12:00:00Z");
const idle = { concurrency_limit: 50, running: 14, last_limited_at: null, paused_until: null };

describe("activityText", () => {
  it("tells the calls under way, the last refusal and the pause", () => {
    expect(activityText({ activity: idle }, now)).toBe("now 14 of 50");
    const limited = { ...idle, last_limited_at: "2026-11-26T11:59:48Z" };
    expect(activityText({ activity: limited }, now)).toBe("now 14 of 50, last 429 12 s ago");
    const paused = { ...limited, paused_until: "2026-11-26T12:00:02.5Z" };
    expect(activityText({ activity: paused }, now)).toBe("now 14 of 50, last 429 12 s ago, waits 3 s");
    expect(activityText({ activity: { ...idle, paused_until: "2026-11-26T11:00:00Z" } }, now)).toBe(
      "now 14 of 50",
    );
  });
});

describe("budgetOf", () => {
  const month = (spent_usd: number, reserved_usd = 0) => ({
    start: "2026-11-01T00:00:00Z",
    spent_usd,
    reserved_usd,
  });

  it("has no bar without a budget", () => {
    expect(budgetOf({ month: month(0.5), monthly_budget_usd: null })).toEqual({
      text: "$0.500 this month",
      spent: null,
      reserved: null,
    });
  });

  it.each([
    [10, 2, 50, 0.2, 0.04],
    [49, 2, 50, 0.98, 0.02],
    [60, 2, 50, 1, 0],
    [0, 0, 0, 1, 0],
  ])("$%d spent and $%d reserved of $%d", (spent, reserved, budget, spentShare, reservedShare) => {
    const shown = budgetOf({ month: month(spent, reserved), monthly_budget_usd: budget });
    expect(shown.spent).toBeCloseTo(spentShare);
    expect(shown.reserved).toBeCloseTo(reservedShare);
  });
});
