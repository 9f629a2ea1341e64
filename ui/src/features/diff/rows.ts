import type { RunDiffStep } from "@/api/types";

/** What stands in one line of the comparison. */
export type Row =
  | { kind: "step"; key: string; step: RunDiffStep }
  | { kind: "fold"; key: string; step: RunDiffStep };

/** The lines of the steps, with folded ones that were opened in their place. */
export function rowsOf(
  steps: readonly RunDiffStep[],
  opened: ReadonlyMap<number, readonly RunDiffStep[]>,
): Row[] {
  return steps.flatMap((step): Row[] => {
    const inner = step.folded > 0 ? opened.get(step.n) : undefined;
    if (inner) return inner.map((item) => ({ kind: "step", key: `step ${item.n}`, step: item }));
    return step.folded > 1
      ? [{ kind: "fold", key: `fold ${step.n}`, step }]
      : [{ kind: "step", key: `step ${step.n}`, step }];
  });
}

/** The line of the next (step 1) or last (step -1) difference from a line, around the end; -1 for none. */
export function nextDifference(rows: readonly Row[], from: number, step: 1 | -1): number {
  for (let count = 1; count <= rows.length; count++) {
    const at = (((from + step * count) % rows.length) + rows.length) % rows.length;
    const row = rows[at];
    if (row?.kind === "step" && row.step.state !== "same") return at;
  }
  return -1;
}

/** The signs of the states: a difference is told by more than its colour. */
export const SIGNS: Record<RunDiffStep["state"], string> = {
  same: "=",
  changed: "±",
  added: "+",
  removed: "−",
  moved: "↕",
};
