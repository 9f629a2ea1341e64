import type { PromptVersionUsage, TimeWindow } from "@/api/types";
import { type Filters, RANGES } from "@/components/filters/filters";

/** v3, or the version as the runs name it. */
export function versionLabel({ version }: Pick<PromptVersionUsage, "version">): string {
  if (version === null) return "no version";
  return /^\d+$/.test(version) ? `v${version}` : version;
}

/** The time window of the filters in an address. Without one the server takes 30 days. */
export function windowOf(filters: Filters, now: number): TimeWindow {
  const window: TimeWindow = {};
  if (filters.range) window.start_after = new Date(now - RANGES[filters.range] * 1000).toISOString();
  if (filters.start_after) window.start_after = filters.start_after;
  if (filters.start_before) window.start_before = filters.start_before;
  return window;
}
