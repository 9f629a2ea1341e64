import type { Outcome, Replayability, RunFilter, RunSourceFilter, Signal, Status, Traces } from "@/api/types";
import { formatDuration, formatTokens } from "@/components/format";
import { REPLAYABILITY } from "@/components/replayability";
import { SIGNALS } from "@/components/signals";

export const STATUSES: Status[] = ["running", "ok", "error", "cancelled"];
export const OUTCOMES: Outcome[] = ["running", "succeeded", "recovered", "failed"];

/** Which traces to show, by whether they have GenAI spans. The first is the default, which the address leaves out. */
export const TRACES: readonly { value: Traces; label: string }[] = [
  { value: "genai", label: "with GenAI spans" },
  { value: "other", label: "without" },
  { value: "all", label: "all" },
];

/** What made the runs to show. The first is the default, which the address leaves out. */
export const SOURCES: readonly { value: RunSourceFilter; label: string }[] = [
  { value: "user", label: "your application" },
  { value: "playground", label: "playground" },
  { value: "evaluation", label: "evaluations" },
  { value: "replay", label: "replays" },
  { value: "all", label: "all" },
];

/** Time ranges by name, in seconds. */
export const RANGES = {
  "1h": 3_600,
  "24h": 86_400,
  "7d": 604_800,
  "30d": 2_592_000,
  "90d": 7_776_000,
} as const;
export type Range = keyof typeof RANGES;
/** The range of a list whose address has none. */
export const DEFAULT_RANGE: Range = "24h";
/** The range in an address that means all time. */
const ALL_TIME = "all";
/** The parameters of a time range. */
export const TIME_PARAMS = ["range", "start_after", "start_before"] as const;

/** Filters that compare text. The address uses the API's names. */
export const TEXT_FIELDS = [
  { name: "name", label: "Name" },
  { name: "agent_name", label: "Agent" },
  { name: "model", label: "Model" },
  { name: "error_type", label: "Error type" },
  { name: "environment", label: "Environment" },
  { name: "release", label: "Version" },
  { name: "agent_release", label: "Agent release" },
  { name: "tag", label: "Tag" },
  { name: "user_id", label: "User" },
  { name: "session_id", label: "Session" },
  { name: "conversation_id", label: "Conversation" },
  { name: "prompt_name", label: "Prompt" },
  { name: "prompt_version", label: "Prompt version" },
  { name: "prompt_id", label: "Prompt ID" },
  { name: "fingerprint", label: "Failure" },
] as const;
type TextField = (typeof TEXT_FIELDS)[number]["name"];

/** Filters that set a lower bound. */
export const NUMBER_FIELDS = [
  { name: "min_duration_ms", label: "Duration", unit: "ms" },
  { name: "min_cost_usd", label: "Cost", unit: "$" },
  { name: "min_tokens", label: "Tokens", unit: "tokens" },
] as const;
type NumberField = (typeof NUMBER_FIELDS)[number]["name"];

/** The filters in an address. */
export interface Filters {
  traces: Traces;
  source: RunSourceFilter;
  outcome: Outcome[];
  status: Status[];
  kind: string[];
  replayability: Replayability[];
  signal: Signal[];
  search: string;
  /** Null for all time or a custom range. */
  range: Range | null;
  start_after: string | null;
  start_before: string | null;
  text: Partial<Record<TextField, string>>;
  number: Partial<Record<NumberField, number>>;
  /** Only runs with scores, or only runs without. */
  has_score: boolean | null;
  /** By key. The address has `metadata[KEY]`. */
  metadata: Record<string, string>;
}

/** An active filter. */
export interface Chip {
  param: string;
  /** The value to remove if the parameter can be repeated. */
  value?: string;
  label: string;
}

/** Reads the filters of an address. Ignores invalid ones. Without a time it has the range `otherwise`; null for all time. */
export function readFilters(params: URLSearchParams, otherwise: Range | null = DEFAULT_RANGE): Filters {
  const [after, before] = [readTime(params.get("start_after")), readTime(params.get("start_before"))];
  const filters: Filters = {
    traces: TRACES.find(({ value }) => value === params.get("traces"))?.value ?? "genai",
    source: SOURCES.find(({ value }) => value === params.get("source"))?.value ?? "user",
    outcome: OUTCOMES.filter((outcome) => params.getAll("outcome").includes(outcome)),
    status: STATUSES.filter((status) => params.getAll("status").includes(status)),
    kind: [...new Set(params.getAll("kind"))].filter((kind) => /^[a-z][a-z0-9_.-]{0,63}$/.test(kind)),
    replayability: REPLAYABILITY.map(({ value }) => value).filter((value) =>
      params.getAll("replayability").includes(value),
    ),
    signal: SIGNALS.map(({ value }) => value).filter((value) => params.getAll("signal").includes(value)),
    search: params.get("search") ?? "",
    range: readRange(params.get("range"), after === null && before === null ? otherwise : null),
    start_after: after,
    start_before: before,
    text: {},
    number: {},
    has_score: readBoolean(params.get("has_score")),
    metadata: {},
  };
  for (const { name } of TEXT_FIELDS) {
    const value = params.get(name);
    if (value) filters.text[name] = value;
  }
  for (const { name } of NUMBER_FIELDS) {
    const value = params.get(name);
    if (value && Number.isFinite(Number(value)) && Number(value) >= 0) filters.number[name] = Number(value);
  }
  for (const [name, value] of params) {
    const key = metadataKey(name);
    if (key !== null && value !== "") filters.metadata[key] = value;
  }
  return filters;
}

/** The parameter of a metadata key. */
function metadataParam(key: string): string {
  return `metadata[${key}]`;
}

/** The metadata key of a parameter; null for other parameters. */
function metadataKey(param: string): string | null {
  return /^metadata\[(.+)\]$/.exec(param)?.[1] ?? null;
}

/** The orders of a list. "-" means largest first. */
const ORDERS = [
  "start_time",
  "-duration_ms",
  "duration_ms",
  "-cost_usd",
  "cost_usd",
  "-total_tokens",
  "total_tokens",
] as const;
export type Order = (typeof ORDERS)[number];

/** The order in an address. Null means newest first. */
export function readOrder(params: URLSearchParams): Order | null {
  return ORDERS.find((order) => order === params.get("order")) ?? null;
}

/** The next order after a click on a column: largest first, then smallest first, then the default. */
export function nextOrder(order: Order | null, key: string): Order | null {
  const [largest, smallest] = [`-${key}`, key];
  const next = order === largest ? smallest : order === smallest ? null : largest;
  return (
    ORDERS.find((known) => known === next) ?? (key === "start_time" && order === null ? "start_time" : null)
  );
}

/** The filters as API parameters. */
export function toQuery(projectId: string, filters: Filters): RunFilter {
  const query: RunFilter = { project_id: projectId, ...filters.text, ...filters.number };
  if (filters.traces !== "genai") query.traces = filters.traces;
  if (filters.source !== "user") query.source = filters.source;
  if (filters.outcome.length > 0) query.outcome = filters.outcome;
  if (filters.status.length > 0) query.status = filters.status;
  if (filters.kind.length > 0) query.kind = filters.kind;
  if (filters.replayability.length > 0) query.replayability = filters.replayability;
  if (filters.signal.length > 0) query.signal = filters.signal;
  if (filters.search.trim() !== "") query.search = filters.search.trim();
  if (filters.range) query.window_seconds = RANGES[filters.range];
  if (filters.has_score !== null) query.has_score = filters.has_score;
  if (filters.start_after) query.start_after = filters.start_after;
  if (filters.start_before) query.start_before = filters.start_before;
  if (Object.keys(filters.metadata).length > 0) query.metadata = filters.metadata;
  return query;
}

/** The active filters, without the search and without a range until now. */
export function chips(filters: Filters): Chip[] {
  const out: Chip[] = [];
  if (filters.traces === "other") out.push({ param: "traces", label: "without GenAI spans" });
  if (filters.traces === "all") out.push({ param: "traces", label: "all traces" });
  if (filters.source === "all") out.push({ param: "source", label: "all sources" });
  else if (filters.source !== "user") out.push({ param: "source", label: `source: ${filters.source}` });
  for (const outcome of filters.outcome) out.push({ param: "outcome", value: outcome, label: outcome });
  for (const status of filters.status)
    out.push({ param: "status", value: status, label: `status: ${status}` });
  for (const kind of filters.kind) out.push({ param: "kind", value: kind, label: `kind: ${kind}` });
  for (const { value, label } of REPLAYABILITY)
    if (filters.replayability.includes(value))
      out.push({ param: "replayability", value, label: `replayable: ${label}` });
  for (const { value, label } of SIGNALS)
    if (filters.signal.includes(value))
      out.push({ param: "signal", value, label: `signal: ${label.toLowerCase()}` });
  if (filters.start_after)
    out.push({ param: "start_after", label: `from ${shortTime(filters.start_after)}` });
  if (filters.start_before)
    out.push({ param: "start_before", label: `until ${shortTime(filters.start_before)}` });
  for (const { name, label } of TEXT_FIELDS) {
    const value = filters.text[name];
    if (value !== undefined) out.push({ param: name, label: `${label.toLowerCase()}: ${value}` });
  }
  if (filters.has_score !== null)
    out.push({ param: "has_score", label: `has scores: ${filters.has_score ? "yes" : "no"}` });
  for (const [key, value] of Object.entries(filters.metadata))
    out.push({ param: metadataParam(key), label: `${key}: ${value}` });
  for (const { name, label } of NUMBER_FIELDS) {
    const value = filters.number[name];
    if (value !== undefined)
      out.push({ param: name, label: `${label.toLowerCase()} ≥ ${formatBound(name, value)}` });
  }
  return out;
}

/** Whether the filters leave out runs by their time. */
export function areTimed({ range, start_after, start_before }: Filters): boolean {
  return range !== null || start_after !== null || start_before !== null;
}

/** Whether a filter or a search is active, other than a range until now. */
export function areFiltering(filters: Filters): boolean {
  return chips(filters).length > 0 || filters.search.trim() !== "";
}

/** Sets a parameter; null removes it. */
export function withParam(params: URLSearchParams, name: string, value: string | null): URLSearchParams {
  const next = new URLSearchParams(params);
  if (value === null || value === "") next.delete(name);
  else next.set(name, value);
  return next;
}

/** Removes the parameters of some filters. */
export function withoutParams(params: URLSearchParams, dropped: Chip[]): URLSearchParams {
  const next = new URLSearchParams(params);
  for (const { param } of dropped) next.delete(param);
  return next;
}

/** Removes filters and search. A range until now stays, and what else the page has in its address. */
export function withoutFilters(params: URLSearchParams): URLSearchParams {
  return withParam(withoutParams(params, chips(readFilters(params))), "search", null);
}

/** Only the parameters that every list of runs, threads or failures knows. */
export function sharedParams(params: URLSearchParams): URLSearchParams {
  const filters = readFilters(params);
  const known = new Set<string>([...TIME_PARAMS, "search", ...chips(filters).map(({ param }) => param)]);
  // The fingerprint of a failure is that of its own page.
  known.delete("fingerprint");
  return new URLSearchParams([...params].filter(([name]) => known.has(name)));
}

/** Chooses which traces to show. */
export function withTraces(params: URLSearchParams, traces: Traces): URLSearchParams {
  return withParam(params, "traces", traces === "genai" ? null : traces);
}

/** Chooses by source which runs to show. */
export function withSource(params: URLSearchParams, source: RunSourceFilter): URLSearchParams {
  return withParam(params, "source", source === "user" ? null : source);
}

/** Adds or removes one value of a repeatable parameter. */
export function toggleParam(params: URLSearchParams, name: string, value: string): URLSearchParams {
  const values = params.getAll(name);
  const next = new URLSearchParams(params);
  next.delete(name);
  const kept = values.includes(value) ? values.filter((item) => item !== value) : [...values, value];
  for (const item of kept) next.append(name, item);
  return next;
}

/** Sets a preset, a custom time range, or all time. */
export function withTimeRange(
  params: URLSearchParams,
  range: { preset: Range | null; after?: string | null; before?: string | null },
): URLSearchParams {
  const isCustom = Boolean(range.after ?? range.before);
  let next = withParam(params, "range", range.preset ?? (isCustom ? null : ALL_TIME));
  next = withParam(next, "start_after", range.after ?? null);
  return withParam(next, "start_before", range.before ?? null);
}

/** A custom time range between two times in seconds since 1970. */
export function betweenSeconds(from: number, until: number) {
  return {
    preset: null,
    after: new Date(from * 1000).toISOString(),
    before: new Date(until * 1000).toISOString(),
  };
}

/** Shows only failed runs, or all runs again. */
export function toggleOnlyFailed(params: URLSearchParams): URLSearchParams {
  const outcome = params.getAll("outcome");
  const next = withParam(params, "outcome", null);
  if (!(outcome.length === 1 && outcome[0] === "failed")) next.set("outcome", "failed");
  return next;
}

function formatBound(field: NumberField, value: number): string {
  if (field === "min_duration_ms") return formatDuration(value);
  // A bound is exact.
  return field === "min_cost_usd" ? `$${value}` : formatTokens(value);
}

function readRange(value: string | null, otherwise: Range | null): Range | null {
  if (value === ALL_TIME) return null;
  return value !== null && value in RANGES ? (value as Range) : otherwise;
}

function readTime(value: string | null): string | null {
  if (!value) return null;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

function readBoolean(value: string | null): boolean | null {
  return value === "true" ? true : value === "false" ? false : null;
}

function shortTime(time: string): string {
  return new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** The query of a saved view: the address's parameters sorted by name. It always has a time range, so that it keeps its meaning. */
export function viewQuery(params: URLSearchParams): string {
  const sorted = hasTime(params)
    ? new URLSearchParams(params)
    : withTimeRange(params, { preset: DEFAULT_RANGE });
  sorted.sort();
  return sorted.toString();
}

/** The parameters of a saved view. One without a time range was saved when lists had no default range: it shows all time. */
export function viewParams(query: string): URLSearchParams {
  const params = new URLSearchParams(query);
  return hasTime(params) ? params : withTimeRange(params, { preset: null });
}

/** Whether a saved view has the address's filters. */
export function isSameQuery(query: string, params: URLSearchParams): boolean {
  return viewQuery(viewParams(query)) === viewQuery(params);
}

function hasTime(params: URLSearchParams): boolean {
  return TIME_PARAMS.some((name) => params.has(name));
}
