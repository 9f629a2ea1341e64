import type { Run } from "@/api/types";
import { formatCount, formatRuns } from "@/components/format";

/** At most so many runs can be selected one by one: a dataset takes no more at once. */
export const MAX_SELECTED = 10_000;

/** The selected runs. */
export interface Selection {
  runs: ReadonlyMap<string, Run>;
  /** Whether they were chosen one by one, are all that were loaded, or are all that match the filter, loaded or not. */
  of: "chosen" | "loaded" | "all";
}

export const NO_SELECTION: Selection = { runs: new Map(), of: "chosen" };

export function isSelected({ runs, of }: Selection, run: Run): boolean {
  return of === "all" || runs.has(run.run_id);
}

/** Adds or removes runs. Removing some of all that match leaves the loaded ones. */
export function withSelected({ runs }: Selection, changed: readonly Run[], isOn: boolean): Selection {
  const next = new Map(runs);
  for (const run of changed) {
    if (!isOn) next.delete(run.run_id);
    else if (next.size < MAX_SELECTED) next.set(run.run_id, run);
  }
  return { runs: next, of: "chosen" };
}

/** The loaded runs, as far as so many can be selected. */
export function selectionOfLoaded(loaded: readonly Run[]): Selection {
  return { ...withSelected(NO_SELECTION, loaded, true), of: "loaded" };
}

/** How many of the loaded runs are selected. */
export function shareOf({ runs, of }: Selection, loaded: () => readonly Run[]): "none" | "some" | "all" {
  if (of === "all") return "all";
  if (runs.size === 0) return "none";
  const rows = loaded().slice(0, MAX_SELECTED);
  return rows.length > 0 && rows.every((run) => runs.has(run.run_id)) ? "all" : "some";
}

/** Says what the selection covers. `matching` is how many runs match the filter; null if unknown. */
export function selectionText({ runs, of }: Selection, matching: number | null, hasMore: boolean): string {
  if (of === "all")
    return `All ${matching === null ? "" : `${formatCount(matching)} `}matching runs selected`;
  const limit = runs.size >= MAX_SELECTED ? ", the most at once" : "";
  if (of === "chosen") return `${formatCount(runs.size)} selected${limit}`;
  if (!hasMore) return `All ${formatRuns(runs.size)} selected`;
  return `${formatCount(runs.size)} loaded ${runs.size === 1 ? "run" : "runs"} selected${limit}`;
}
