import type { Run } from "@/api/types";

export interface LiveRows {
  /** The rows on the screen, each as it is now, in the order they had. */
  rows: Run[];
  /** Runs that came since and are not shown yet. */
  fresh: number;
}

/** Brings the newest page into the rows on the screen without moving any of them. */
export function mergeHead(loaded: readonly Run[], head: readonly Run[] | undefined): LiveRows {
  if (!head) return { rows: [...loaded], fresh: 0 };
  const byId = new Map(head.map((run) => [run.run_id, run]));
  const rows = loaded.map((run) => {
    const current = byId.get(run.run_id);
    byId.delete(run.run_id);
    return current ?? run;
  });
  return { rows, fresh: byId.size };
}

/** Drops runs that two pages both hold: a run that moved between them while paging. */
export function uniqueRuns(runs: readonly Run[]): Run[] {
  return [...new Map(runs.map((run) => [run.run_id, run])).values()];
}
