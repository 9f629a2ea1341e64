import type { Run } from "@/api/types";

/** The newest run that was not there when the wait began. */
export function arrivedRun(before: ReadonlySet<string>, runs: readonly Run[]): Run | undefined {
  return runs.find((run) => !before.has(run.run_id));
}
