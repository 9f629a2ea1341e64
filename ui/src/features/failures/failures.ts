import { queryText } from "@/api/query";
import type {
  FailedRunGroup,
  FailureFilter,
  FailureGroupFilter,
  FailureParts,
  FailureWeights,
} from "@/api/types";
import { type Filters, RANGES, readFilters, toQuery } from "@/components/filters/filters";
import { formatCount } from "@/components/format";
import { signalOf } from "@/components/signals";

/** The time ranges to choose from, in seconds, all until now. */
export const WINDOWS = [
  { value: "1h", label: "1 h", seconds: RANGES["1h"] },
  { value: "24h", label: "24 h", seconds: RANGES["24h"] },
  { value: "7d", label: "7 d", seconds: RANGES["7d"] },
  { value: "30d", label: "30 d", seconds: RANGES["30d"] },
  { value: "90d", label: "90 d", seconds: RANGES["90d"] },
] as const;

/** The longest time range. */
export const LONGEST = WINDOWS[4];

/** The time range of an address. Of a custom range, the shortest that contains its start; of all time, the longest. */
export function readWindow(params: URLSearchParams, now = Date.now()): (typeof WINDOWS)[number] {
  const { range, start_after: after } = readFilters(params);
  const seconds = range ? RANGES[range] : after ? (now - Date.parse(after)) / 1000 : Number.POSITIVE_INFINITY;
  return WINDOWS.find((window) => window.seconds >= seconds) ?? LONGEST;
}

/** The filters in an address, without the time range and without the fingerprint that every group sets itself. */
export function readFailureFilters(params: URLSearchParams): Filters {
  const filters = readFilters(params);
  const { fingerprint: _, ...text } = filters.text;
  return { ...filters, range: null, start_after: null, start_before: null, text };
}

/** The API parameters for an address. */
export function failureQuery(projectId: string, params: URLSearchParams): FailureFilter {
  return { ...toQuery(projectId, readFailureFilters(params)), window_seconds: readWindow(params).seconds };
}

/** The runs of a group as a batch of replays takes them: a query string without a project. */
export function runFilterText({ project_id: _, ...filter }: FailureFilter, fingerprint: string): string {
  return queryText({ ...filter, fingerprint });
}

const PART_LABELS: Record<keyof FailureParts, string> = {
  recency: "recency",
  spike: "sudden increase",
  impact: "affected users and runs",
  severity: "severity",
  novelty: "novelty",
  lift: "common attributes",
  waste: "cost",
  writes: "writing tool",
};

export interface Part {
  name: keyof FailureParts;
  label: string;
  /** From 0 to 1; null if unknown. */
  value: number | null;
  /** What it adds to the rank. The known parts share the total weight. */
  adds: number | null;
}

/** A group's rank from 0 to 100: how much it deserves attention. */
export function rankOf(group: FailedRunGroup): number {
  return Math.round(group.rank * 100);
}

/** The parts of a rank, largest first, unknown ones last. */
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

const CLASSES: Partial<Record<FailedRunGroup["class"], string>> = {
  error: "Error",
  timeout: "Timeout",
  cancelled: "Cancelled",
  unrecovered: "Step failed without recovery",
};

/** The groups to choose from. */
export const GROUPS: readonly { value: FailureGroupFilter; label: string }[] = [
  { value: "all", label: "All" },
  { value: "errors", label: "Errors" },
  { value: "signals", label: "Signals" },
];

/** The groups in an address. All by default. */
export function readGroups(params: URLSearchParams): FailureGroupFilter {
  return GROUPS.find(({ value }) => value === params.get("groups"))?.value ?? "all";
}

/** What failed: the signal, the error's type, or the kind of failure. */
export function whatFailed(group: FailedRunGroup): string {
  const signal = signalOf(group.class);
  if (signal) return signal.label;
  if (group.class === "scored") return `${group.step.name} scored as failed`;
  if (group.step.error_type) return group.step.error_type;
  return CLASSES[group.class] ?? group.class;
}

/** The message of a typical run of the group, or what its signal means. */
export function exampleMessage(group: FailedRunGroup): string {
  const signal = signalOf(group.class);
  if (signal) return [signal.meaning, group.representative.error?.message].filter(Boolean).join(" ");
  return group.representative.error?.message || "no message";
}

/** Describes a contrast: "release 2026.11.4: 12 of 13 failed runs, 40 of 210 others". */
export function contrastText(contrast: FailedRunGroup["contrasts"][number]): string {
  const { attribute, value, with: having, runs, others_with: othersHaving, others_runs: others } = contrast;
  const name = attribute.replace(/^metadata\./, "").replace(/_/g, " ");
  return `${name} ${value}: ${formatCount(having)} of ${formatCount(runs)} of these runs, ${formatCount(othersHaving)} of ${formatCount(others)} others`;
}
