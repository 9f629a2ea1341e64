import type { EvalRun, RankedDifference, RankingSelection } from "@/api/types";
import { whyNotComparable } from "./evalRuns";

/** How many eval-runs are compared at once. */
export const MOST_RANKED = 6;

/** Why the selected eval-runs can't be compared; null if they can. */
export function whyNotRanked(selected: readonly EvalRun[]): string | null {
  const [first, ...others] = selected;
  if (!first || others.length === 0) return `Select more, up to ${MOST_RANKED}, to compare them.`;
  for (const other of others) {
    const why = whyNotComparable(first, other);
    if (why !== null) return why;
  }
  return null;
}

/** The page that compares eval-runs. The first one is side A. */
export function rankingPath(projectId: string, runs: readonly Pick<EvalRun, "id">[]): string {
  return `/p/${projectId}/eval-runs/compare?${new URLSearchParams(runs.map(({ id }) => ["run", id]))}`;
}

/** What an address compares. */
export function readRanking(params: URLSearchParams): RankingSelection {
  return {
    eval_run_id: [...new Set(params.getAll("run"))].slice(0, MOST_RANKED),
    metric: params.get("metric") || undefined,
    group_by: params.get("group_by") || undefined,
  };
}

/** Which side is better: "B better". */
export function verdictText({ a, b, verdict }: Pick<RankedDifference, "a" | "b" | "verdict">): string {
  if (verdict === "inconclusive") return "can't tell";
  return `${verdict === "b_better" ? b : a} better`;
}

/** The metrics of an eval-run that can be compared, scores first. */
export function rankedMetrics({ summary }: Pick<EvalRun, "summary">): string[] {
  return (
    summary?.scores.flatMap(({ kind, name, categories }) =>
      kind === "duration" || categories !== null ? [] : [name],
    ) ?? []
  );
}
