import type { DiagnosisDropped, ReplayEdit } from "@/api/types";
import { formatCountOf } from "@/components/format";

const REASONS: Record<DiagnosisDropped["reason"], string> = {
  run_not_sent: "about a run the model didn't see",
  step_not_found: "about a step its run doesn't have",
  no_quotes: "without a quote",
  quote_not_found: "with quotes that aren't in the step",
  malformed: "not in the form asked for",
  too_many: "beyond five",
};

/** How many claims were dropped, and why: "3 claims dropped: 2 with quotes that aren't in the step, 1 without a quote". Null if none was. */
export function droppedText(dropped: readonly DiagnosisDropped[]): string | null {
  const total = dropped.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return null;
  const parts = dropped.map(({ reason, count }) => `${count} ${REASONS[reason]}`);
  return `${formatCountOf(total, "claim")} dropped: ${parts.join(", ")}.`;
}

/** What an edit changes where: "timeout_ms of calls of cancel_order", and the value that it sets. */
export function editText({ target, set }: ReplayEdit): { what: string; value: string } {
  const [[name, value] = ["nothing", null]] = Object.entries(set);
  return {
    what: `${name.replaceAll("_", " ")} of ${targetText(target)}`,
    value: typeof value === "string" ? value : JSON.stringify(value),
  };
}

function targetText(target: ReplayEdit["target"]): string {
  if (target === "all") return "all model calls";
  if ("span_id" in target) return "one step";
  const calls = target.kind === "tool" ? "calls of" : "model calls of";
  return target.name ? `${calls} ${target.name}` : `all ${target.kind} calls`;
}

/** Whether an edit fits other runs, too: it names no single step. */
export function isShared({ target }: ReplayEdit): boolean {
  return target === "all" || !("span_id" in target);
}
