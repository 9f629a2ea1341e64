import type { Import, ImportStatus } from "@/api/types";
import { formatBytes, formatCount, formatCountOf } from "@/components/format";

export const statusLabels: Record<ImportStatus, string> = {
  uploading: "Uploading",
  queued: "Waiting",
  running: "Running",
  succeeded: "Done",
  failed: "Failed",
  cancelled: "Cancelled",
};

/** What a write mode does, in a few words. */
export const modeLabels: Record<Import["mode"], string> = {
  append: "Append",
  upsert: "Upsert",
  replace: "Replace",
};

/** How much of the file was read, from 0 to 1; null while that says nothing. */
export function readShare({ status, phase, bytes_read: read, size_bytes: size }: Import): number | null {
  if (status !== "running") return null;
  if (phase === "writing") return 1;
  return size > 0 ? Math.min(1, read / size) : null;
}

/** What an import does now: "12.1 MB of 100 MB read, 120,000 rows, 3 rejected". */
export function progressText(state: Import): string {
  const { status, phase, bytes_read: read, size_bytes: size, processed, rejected } = state;
  if (status === "uploading") return `${formatBytes(size)} received`;
  if (status === "queued") return "Waiting for a free worker";
  const parts = [
    phase === "writing" ? "Writing the revision" : `${formatBytes(read)} of ${formatBytes(size)} read`,
  ];
  parts.push(formatRows(processed));
  if (rejected > 0) parts.push(`${formatCount(rejected)} rejected`);
  return parts.join(", ");
}

/** 1 row, 2,000 rows. */
export function formatRows(count: number): string {
  return formatCountOf(count, "row");
}

/** An estimate says nothing before this time and this share of the file. */
const MIN_MS = 2_000;
const MIN_SHARE = 0.02;

/** How many milliseconds the rest of the file takes at the speed so far; null if that can't be said yet. */
export function timeLeft(state: Import, now: number): number | null {
  const share = readShare(state);
  if (share === null || state.phase !== "reading" || !state.started_at || share < MIN_SHARE) return null;
  const elapsed = now - Date.parse(state.started_at);
  return elapsed < MIN_MS ? null : (elapsed * (1 - share)) / share;
}

/** What an import that has ended did: "990 added, 10 rejected". */
export function resultText({ added, updated, removed, unchanged, rejected }: Import): string {
  const parts = [
    [added, "added"],
    [updated, "updated"],
    [removed, "removed"],
    [unchanged, "unchanged"],
    [rejected, "rejected"],
  ] as const;
  const shown = parts.filter(([count]) => count !== null && count > 0);
  if (shown.length === 0) return "Nothing to import";
  return shown.map(([count, word]) => `${formatCount(count ?? 0)} ${word}`).join(", ");
}

/** Why an import failed. */
export function failureText({ error, rejected, total }: Import): string {
  if (error?.code !== "rows_rejected") return error?.detail ?? "The import failed";
  return `${formatCount(rejected)} of ${total === null ? "the rows" : formatRows(total)} can't be imported`;
}
