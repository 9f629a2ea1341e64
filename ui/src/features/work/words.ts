import type { Work, WorkKind } from "@/api/types";
import { formatCount, formatCountOf } from "@/components/format";

export const KINDS: Record<WorkKind, string> = {
  import: "Import",
  near_duplicate_check: "Near-duplicates",
  comparison: "Comparison",
  eval_run: "Eval-run",
  replay: "Replay",
  replay_batch: "Batch of replays",
  diagnosis: "Diagnosis",
};

export const STATES = { open: "Waiting and running", ended: "Ended" } as const;

const UNITS: Record<Exclude<Work["progress"]["unit"], "outputs_and_votes">, string> = {
  rows: "row",
  items: "item",
  outputs: "output",
  attempts: "attempt",
  calls: "call",
};

/** The page of the work, below its project. */
export function pathOf({ id, kind, dataset_id }: Pick<Work, "id" | "kind" | "dataset_id">): string {
  switch (kind) {
    case "import":
      return `datasets/${dataset_id}/imports/${id}`;
    case "near_duplicate_check":
      return `datasets/${dataset_id}?tab=duplicates`;
    case "comparison":
      return `comparisons/${id}`;
    case "eval_run":
      return `eval-runs/${id}`;
    case "replay":
      return `replays/${id}`;
    case "replay_batch":
      return `replay-batches/${id}`;
    case "diagnosis":
      return `diagnoses/${id}`;
  }
}

/** What is done: "120 of 240 outputs". */
export function progressText({ progress: { unit, done, total } }: Pick<Work, "progress">): string {
  if (unit === "outputs_and_votes") {
    return `${formatCount(done)} of ${formatCount(total ?? done)} outputs and votes`;
  }
  if (total === null) return formatCountOf(done, UNITS[unit]);
  return `${formatCount(done)} of ${formatCountOf(total, UNITS[unit])}`;
}

/** Why work does not go on now. The time of the next try follows. */
export function waitText(waits: NonNullable<Work["waits"]>): string {
  const { running, ahead } = waits;
  if (waits.for === "retry") return "The last try failed. The next one is";
  if (waits.for === "later") return "Goes on";
  if (waits.for === "provider") return "The provider takes no calls now. Goes on";
  const before = ahead > 0 ? `, after ${formatCount(ahead)} older` : "";
  return running > 0
    ? `Waits for its turn${before}: ${formatCount(running)} of this project ${running === 1 ? "runs" : "run"}`
    : `Waits for a place${before}`;
}
