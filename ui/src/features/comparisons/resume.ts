import type { Comparison } from "@/api/types";
import { hasWork, type MissingWork, mayGoOn } from "@/components/evaluation/resume";
import { failedVotes } from "@/components/evaluation/votes";

/** What a comparison still has to make, and what failed. An output that failed in an eval-run isn't made again here. */
export function missingWork({ accounting, a, b }: Pick<Comparison, "accounting" | "a" | "b">): MissingWork {
  const { outputs_pending: pending, outputs_failed: failed, votes } = accounting;
  const isMade = a.eval_run_id === null || b.eval_run_id === null;
  return {
    outputs: pending,
    failedOutputs: isMade ? failed : 0,
    votes: votes?.pending ?? 0,
    failedVotes: votes ? failedVotes(votes) : 0,
  };
}

/** Whether a comparison that ended can be resumed. */
export function isResumable(
  comparison: Pick<Comparison, "accounting" | "a" | "b" | "stop_reason" | "error">,
): boolean {
  return comparison.stop_reason !== "decided" && mayGoOn(comparison) && hasWork(missingWork(comparison));
}
