import type { ReplayEdit } from "@/api/types";

/** The address of the form of a replay of a run. It starts with an edit of the span, if there is one. */
export function newReplayPath(projectId: string, runId: string, spanId?: string): string {
  const query = new URLSearchParams({ run: runId });
  if (spanId !== undefined) query.set("span", spanId);
  return `/p/${projectId}/replays/new?${query}`;
}

/** Kinds of spans that an edit can change. */
const EDITABLE = ["llm", "tool", "embedding"];

/** Whether a replay can begin at a span: a call of a model or of a tool. */
export function isReplayable(kind: string): boolean {
  return EDITABLE.includes(kind);
}

/** What the form of a batch of replays is called, where it is offered, too. */
export const BATCH_TITLE = "Test an edit";

/** Which runs a batch replays: those of a filter, as a query string, or those that are named. */
export type BatchRunChoice = { run_filter: string } | { run_ids: string[] };

/** The address of the form of a batch. `typical` is the run whose recorded values are shown; of named runs it is the first. */
export function newBatchPath(projectId: string, runs: BatchRunChoice, typical?: string): string {
  const query = new URLSearchParams();
  if ("run_filter" in runs) query.set("runs", runs.run_filter);
  else for (const id of runs.run_ids) query.append("run", id);
  if (typical !== undefined) query.set("typical", typical);
  return `/p/${projectId}/replay-batches/new?${query}`;
}

/** What the history keeps beside the address of a form: edits to start with, which may be too long for an address. */
export interface StartState {
  edits: ReplayEdit[];
}

/** The edits to start a form with; none if the page was opened by its address alone. */
export function readStartEdits(state: unknown): ReplayEdit[] {
  return (state as Partial<StartState> | null)?.edits ?? [];
}

/** The runs in the address of the form; null if it names none. */
export function readBatchStart(params: URLSearchParams): { runs: BatchRunChoice; typical: string } | null {
  const ids = params.getAll("run");
  const filter = params.get("runs");
  const typical = params.get("typical") ?? ids[0];
  if (typical === undefined || (ids.length === 0 && filter === null)) return null;
  return { runs: ids.length > 0 ? { run_ids: ids } : { run_filter: filter ?? "" }, typical };
}
