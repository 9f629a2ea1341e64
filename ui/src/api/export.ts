import { queryText } from "./query";
import type { RunFilter } from "./types";

export type ExportFormat = "ndjson" | "parquet" | "otlp_json";

/** The URL of GET /v1/runs/export. The browser saves the response as a file. */
export function exportUrl(filter: RunFilter, format: ExportFormat, withSpans: boolean): string {
  const { order: _, ...selected } = filter;
  const query = { ...selected, format, ...(withSpans && { include: "spans" }) };
  return `/v1/runs/export?${queryText(query)}`;
}
