import { queryText } from "./query";
import type { RunFilter } from "./runs";

export type ExportFormat = "ndjson" | "parquet";

/** The address of GET /v1/runs/export; the browser saves what comes from it. */
export function exportAddress(filter: RunFilter, format: ExportFormat, withSpans: boolean): string {
  const { order: _, ...selected } = filter;
  const query = { ...selected, format, ...(withSpans && { include: "spans" }) };
  return `/v1/runs/export?${queryText(query)}`;
}
