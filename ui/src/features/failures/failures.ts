import type { FailureFilter } from "@/api/failures";
import type { FailedRunGroup, FailureParts, FailureWeights } from "@/api/types";
import { type Filters, readFilters, toQuery } from "@/components/filters/filters";
import { formatCount } from "@/components/format";

/** The windows to choose from, in seconds. */
export const WINDOWS = [
  { value: "24h", label: "Last 24 h", seconds: 86_400 },
  { value: "7d", label: "Last 7 d", seconds: 604_800 },
  { value: "30d", label: "Last 30 d", seconds: 2_592_000 },
  { value: "90d", label: "Last 90 d", seconds: 7_776_000 },
] as const;

/** The window of an address; a week without one. */
export function readWindow(params: URLSearchParams): (typeof WINDOWS)[number] {
  return WINDOWS.find(({ value }) => value === params.get("range")) ?? WINDOWS[1];
}

/** The filters of an address but for the time, which is the window, and for the fingerprint: each group has its own. */
export function readFailureFilters(params: URLSearchParams): Filters {
  const filters = readFilters(params);
  const { fingerprint: _, ...text } = filters.text;
  return { ...filters, range: null, start_after: null, start_before: null, text };
}

/** The API's parameters for an address. */
export function failureQuery(projectId: string, params: URLSearchParams): FailureFilter {
  return { ...toQuery(projectId, readFailureFilters(params)), window_seconds: readWindow(params).seconds };
}

const PART_LABELS: Record<keyof FailureParts, string> = {
  recency: "how recent",
  spike: "sudden rise",
  impact: "users and share of runs",
  severity: "severity",
  novelty: "how new",
  lift: "something in common",
  waste: "money spent",
};

export interface Part {
  name: keyof FailureParts;
  label: string;
  /** From 0 to 1; null where it is not known. */
  value: number | null;
  /** What it adds to the rank: the known parts share the weight of all. */
  adds: number | null;
}

/** The parts of a rank, those that add most first, the unknown last. */
export function partsOf(parts: FailureParts, weights: FailureWeights): Part[] {
  const names = Object.keys(PART_LABELS) as (keyof FailureParts)[];
  const known = names.reduce((sum, name) => sum + (parts[name] === null ? 0 : weights[name]), 0);
  return names
    .map((name) => {
      const value = parts[name];
      const adds = value === null || known === 0 ? null : (value * weights[name]) / known;
      return { name, label: PART_LABELS[name], value, adds };
    })
    .sort((a, b) => (b.adds ?? -1) - (a.adds ?? -1));
}

/** What failed, in a line: the error's type, or what kind of failure it is. */
export function whatFailed(group: FailedRunGroup): string {
  if (group.step.error_type) return group.step.error_type;
  return {
    error: "Error",
    timeout: "Timeout",
    cancelled: "Cancelled",
    unrecovered: "Step failed, never recovered",
  }[group.class];
}

/** A contrast as a sentence: "release 2026.11.4: 12 of 13 failing runs, 40 of 210 others". */
export function contrastText(contrast: FailedRunGroup["contrasts"][number]): string {
  const { attribute, value, with: having, runs, others_with: othersHaving, others_runs: others } = contrast;
  const name = attribute.replace(/^metadata\./, "").replace(/_/g, " ");
  return `${name} ${value}: ${formatCount(having)} of ${formatCount(runs)} failing runs, ${formatCount(othersHaving)} of ${formatCount(others)} others`;
}
