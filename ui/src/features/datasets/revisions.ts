import type { DatasetRevisionEntry } from "@/api/types";
import { formatCount, formatCountOf } from "@/components/format";

/** The revision in an address; undefined if there is none. */
export function readRevision(text: string | null): number | undefined {
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

/** The revisions in an address such as `3...5`; one or none if the reader has not chosen two. */
export function readComparison(text: string | null): number[] {
  if (text === null) return [];
  const revisions = text.split("...").map(readRevision);
  if (revisions.length > 2 || revisions.includes(undefined)) return [];
  return revisions[0] === revisions[1] ? [] : (revisions as number[]);
}

/** What made a revision. */
export const kindLabels: Record<DatasetRevisionEntry["kind"], string> = {
  append: "Items added",
  upsert: "Upsert",
  replace: "Replace",
  edit: "Item edited",
  delete: "Item removed",
  runs: "Added from runs",
  import: "Import",
};

/** What a write changed: "10 added, 2 changed". */
export function formatChanges(counts: { added: number; changed: number; removed: number }): string {
  const parts = [
    [counts.added, "added"],
    [counts.changed, "changed"],
    [counts.removed, "removed"],
  ] as const;
  const shown = parts.filter(([count]) => count > 0).map(([count, word]) => `${formatCount(count)} ${word}`);
  return shown.length === 0 ? "nothing changed" : shown.join(", ");
}

/** 1 item, 2,000 items. */
export function formatItems(count: number): string {
  return formatCountOf(count, "item");
}
