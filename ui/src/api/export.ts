import { download } from "./download";
import { queryText } from "./query";
import type { RunFilter } from "./types";

const FILES = { ndjson: "runs.ndjson", parquet: "runs.parquet", otlp_json: "runs.otlp.jsonl" };

export interface RunsExport {
  format: keyof typeof FILES;
  withSpans: boolean;
}

/** GET /v1/runs/export: saves the runs of a filter as a file. */
export function exportRuns(
  filter: RunFilter,
  { format, withSpans }: RunsExport,
  signal: AbortSignal,
): Promise<void> {
  const { order: _, ...selected } = filter;
  const query = { ...selected, format, ...(withSpans && { include: "spans" }) };
  return download(`/v1/runs/export?${queryText(query)}`, FILES[format], signal);
}
