import type { Comparison, ComparisonMetric } from "@/api/types";

/** The primary metric of a comparison; undefined until it has ended, and without a grader. */
export function primaryOf({ summary }: Pick<Comparison, "summary">): ComparisonMetric | undefined {
  return summary?.metrics.find(({ name, kind }) => kind === "score" && name === summary.primary_metric);
}
