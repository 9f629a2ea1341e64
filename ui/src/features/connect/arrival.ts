import type { Run } from "@/api/types";

/** The newest run that arrived since the page opened. */
export function arrivedRun(before: ReadonlySet<string>, runs: readonly Run[]): Run | undefined {
  return runs.find((run) => !before.has(run.run_id));
}
