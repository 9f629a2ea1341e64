import type { ForecastGoal } from "@/api/comparisons";

/** What the API takes for a margin in points. What it wouldn't take is left out. */
export function goalOf(margin: string): ForecastGoal {
  const value = Number((Number(margin) / 100).toPrecision(12));
  return { margin: margin.trim() !== "" && value >= 0.0001 && value <= 1 ? value : undefined };
}
