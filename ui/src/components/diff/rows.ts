import type { RunDiff, RunDiffStep } from "@/api/types";
import { formatCount, formatCountOf } from "@/components/format";

/** A line of the comparison: a step, or a folded group of equal steps. */
export type Row =
  | { kind: "step"; key: string; step: RunDiffStep }
  | { kind: "fold"; key: string; step: RunDiffStep };

/** The lines of the comparison. Opened groups are replaced with their steps. */
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

/** The index of the next (step 1) or previous (step -1) difference, wrapping around; -1 if there is none. */
export function nextDifference(rows: readonly Row[], from: number, step: 1 | -1): number {
  for (let count = 1; count <= rows.length; count++) {
    const at = (((from + step * count) % rows.length) + rows.length) % rows.length;
    const row = rows[at];
    if (row?.kind === "step" && row.step.state !== "same") return at;
  }
  return -1;
}

/** A sign for each state, so that color isn't the only difference. */
export const SIGNS: Record<RunDiffStep["state"], string> = {
  same: "=",
  changed: "±",
  added: "+",
  removed: "−",
  moved: "↕",
};

/** The result of a comparison in one sentence. */
export function verdict(diff: RunDiff, differences: number): string {
  if (differences === 0) return "The runs have no differences";
  const count = formatCount(differences);
  const steps =
    differences >= diff.step_count
      ? `All ${count} steps`
      : `${count} of ${formatCountOf(diff.step_count, "step")}`;
  const start = diff.first_divergence ? `, starting at step ${diff.first_divergence.n + 1}` : "";
  const share = diff.distance < 0.005 ? "less than 1" : Math.round(diff.distance * 100);
  return `${steps} differ${start} (${share}\u00a0% different)`;
}

/** Why a comparison is incomplete. */
export const PARTIAL: Record<RunDiff["partial_because"][number], string> = {
  steps: "A run has more than 20,000 steps. Only the first ones were compared.",
  texts: "A run has more than 48 MB of text. The steps after that were compared without their texts.",
  alignment: "The runs differ so much that some steps may not be aligned in the best way.",
};
