import type { ForecastGoal } from "@/api/comparisons";

/** What someone typed: a margin in points, and a power in per cent. */
export interface GoalDraft {
  margin: string;
  power: string;
}

export const NO_GOAL: GoalDraft = { margin: "", power: "80" };

/** What the API takes. What it wouldn't take is left out. */
export function goalOf({ margin, power }: GoalDraft): ForecastGoal {
  const part = (text: string, low: number, high: number) => {
    const value = Number((Number(text) / 100).toPrecision(12));
    return text.trim() !== "" && value >= low && value <= high ? value : undefined;
  };
  return { margin: part(margin, 0.0001, 1), power: part(power, 0.5, 0.99) };
}
