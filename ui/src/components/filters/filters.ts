import type { RunFilter } from "@/api/runs";
import type { Status } from "@/api/types";
import { formatCost, formatDuration, formatTokens } from "@/components/format";

export const STATUSES: Status[] = ["running", "ok", "error", "cancelled"];

/** Time ranges by name, in seconds. */
export const RANGES = { "1h": 3_600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000 } as const;
export type Range = keyof typeof RANGES;

/** Filters that compare one text; the address uses the API's names. */
export const TEXT_FIELDS = [
  { name: "name", label: "Name" },
  { name: "agent_name", label: "Agent" },
  { name: "model", label: "Model" },
  { name: "error_type", label: "Error type" },
  { name: "environment", label: "Environment" },
  { name: "release", label: "Version" },
  { name: "tag", label: "Tag" },
  { name: "user_id", label: "User" },
  { name: "session_id", label: "Session" },
  { name: "conversation_id", label: "Conversation" },
  { name: "prompt_id", label: "Prompt" },
  { name: "prompt_version", label: "Prompt version" },
  { name: "fingerprint", label: "Failure" },
] as const;
export type TextField = (typeof TEXT_FIELDS)[number]["name"];

/** Filters that set a lower bound. */
export const NUMBER_FIELDS = [
  { name: "min_duration_ms", label: "Duration", unit: "ms" },
  { name: "min_cost_usd", label: "Cost", unit: "$" },
  { name: "min_tokens", label: "Tokens", unit: "tokens" },
] as const;
export type NumberField = (typeof NUMBER_FIELDS)[number]["name"];

/** What an address selects. */
export interface Filters {
  status: Status[];
  kind: string[];
  search: string;
  range: Range | null;
  start_after: string | null;
  start_before: string | null;
  text: Partial<Record<TextField, string>>;
  number: Partial<Record<NumberField, number>>;
  /** Only runs that have scores, or only those that have none. */
  has_score: boolean | null;
  /** By key; the address has them as `metadata[KEY]`. */
  metadata: Record<string, string>;
}

/** One filter that is set, as a chip shows it. */
export interface Chip {
  param: string;
  /** The one value to drop where the parameter may stand several times. */
  value?: string;
  label: string;
}

/** Reads the filters of an address; what makes no sense is left out. */
export function readFilters(params: URLSearchParams): Filters {
  const range = params.get("range");
  const filters: Filters = {
    status: STATUSES.filter((status) => params.getAll("status").includes(status)),
    kind: [...new Set(params.getAll("kind"))].filter((kind) => /^[a-z][a-z0-9_.-]{0,63}$/.test(kind)),
    search: params.get("search") ?? "",
    range: range !== null && range in RANGES ? (range as Range) : null,
    start_after: readTime(params.get("start_after")),
    start_before: readTime(params.get("start_before")),
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

/** The parameter of a key of the metadata. */
export function metadataParam(key: string): string {
  return `metadata[${key}]`;
}

/** The key that a parameter of the metadata names; null for every other parameter. */
export function metadataKey(param: string): string | null {
  return /^metadata\[(.+)\]$/.exec(param)?.[1] ?? null;
}

/** How a list may be ordered, beside by start: by a value, with "-" the largest first. */
export const ORDERS = [
  "start_time",
  "-duration_ms",
  "duration_ms",
  "-cost_usd",
  "cost_usd",
  "-total_tokens",
  "total_tokens",
] as const;
export type Order = (typeof ORDERS)[number];

/** The order of an address; null: the newest first. */
export function readOrder(params: URLSearchParams): Order | null {
  return ORDERS.find((order) => order === params.get("order")) ?? null;
}

/** The order after a click on a column that is ordered by `key`: the largest first, then the smallest, then neither. */
export function nextOrder(order: Order | null, key: string): Order | null {
  const [largest, smallest] = [`-${key}`, key];
  const next = order === largest ? smallest : order === smallest ? null : largest;
  return (
    ORDERS.find((known) => known === next) ?? (key === "start_time" && order === null ? "start_time" : null)
  );
}

/** The API's parameters for the filters. */
export function toQuery(projectId: string, filters: Filters): RunFilter {
  const query: RunFilter = { project_id: projectId, ...filters.text, ...filters.number };
  if (filters.status.length > 0) query.status = filters.status;
  if (filters.kind.length > 0) query.kind = filters.kind;
  if (filters.search.trim() !== "") query.search = filters.search.trim();
  if (filters.range) query.window_seconds = RANGES[filters.range];
  if (filters.has_score !== null) query.has_score = filters.has_score;
  if (filters.start_after) query.start_after = filters.start_after;
  if (filters.start_before) query.start_before = filters.start_before;
  if (Object.keys(filters.metadata).length > 0) query.metadata = filters.metadata;
  return query;
}

/** The chips for what is set, the search box apart. */
export function chips(filters: Filters): Chip[] {
  const out: Chip[] = [];
  for (const status of filters.status)
    out.push({ param: "status", value: status, label: `status: ${status}` });
  for (const kind of filters.kind) out.push({ param: "kind", value: kind, label: `kind: ${kind}` });
  if (filters.range) out.push({ param: "range", label: `last ${filters.range}` });
  if (filters.start_after)
    out.push({ param: "start_after", label: `from ${shortTime(filters.start_after)}` });
  if (filters.start_before)
    out.push({ param: "start_before", label: `until ${shortTime(filters.start_before)}` });
  for (const { name, label } of TEXT_FIELDS) {
    const value = filters.text[name];
    if (value !== undefined) out.push({ param: name, label: `${label.toLowerCase()}: ${value}` });
  }
  if (filters.has_score !== null)
    out.push({ param: "has_score", label: `has scores: ${filters.has_score ? "yes" : "none"}` });
  for (const [key, value] of Object.entries(filters.metadata))
    out.push({ param: metadataParam(key), label: `${key}: ${value}` });
  for (const { name, label } of NUMBER_FIELDS) {
    const value = filters.number[name];
    if (value !== undefined)
      out.push({ param: name, label: `${label.toLowerCase()} ≥ ${formatBound(name, value)}` });
  }
  return out;
}

/** Whether any filter is set, or something is searched for. */
export function areFiltering(filters: Filters): boolean {
  return chips(filters).length > 0 || filters.search.trim() !== "";
}

/** The address with a parameter set; null removes it. */
export function withParam(params: URLSearchParams, name: string, value: string | null): URLSearchParams {
  const next = new URLSearchParams(params);
  if (value === null || value === "") next.delete(name);
  else next.set(name, value);
  return next;
}

/** The address without the parameters of some chips. */
export function withoutParams(params: URLSearchParams, dropped: Chip[]): URLSearchParams {
  const next = new URLSearchParams(params);
  for (const { param } of dropped) next.delete(param);
  return next;
}

/** The address with one value of a repeatable parameter switched. */
export function toggleParam(params: URLSearchParams, name: string, value: string): URLSearchParams {
  const values = params.getAll(name);
  const next = new URLSearchParams(params);
  next.delete(name);
  const kept = values.includes(value) ? values.filter((item) => item !== value) : [...values, value];
  for (const item of kept) next.append(name, item);
  return next;
}

/** The address with another time range; a preset and a custom range exclude each other. */
export function withTimeRange(
  params: URLSearchParams,
  range: { preset: Range | null; after?: string | null; before?: string | null },
): URLSearchParams {
  let next = withParam(params, "range", range.preset);
  next = withParam(next, "start_after", range.after ?? null);
  return withParam(next, "start_before", range.before ?? null);
}

/** The address when only failed runs are asked for, or all again. */
export function toggleOnlyErrors(params: URLSearchParams): URLSearchParams {
  const status = params.getAll("status");
  const next = withParam(params, "status", null);
  if (!(status.length === 1 && status[0] === "error")) next.set("status", "error");
  return next;
}

function formatBound(field: NumberField, value: number): string {
  if (field === "min_duration_ms") return formatDuration(value);
  return field === "min_cost_usd" ? formatCost(value) : formatTokens(value);
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

/** What a saved view keeps of an address: its parameters in the order of their names. */
export function viewQuery(params: URLSearchParams): string {
  const sorted = new URLSearchParams(params);
  sorted.sort();
  return sorted.toString();
}

/** Whether a saved view's query is that of the address. */
export function isSameQuery(query: string, params: URLSearchParams): boolean {
  return viewQuery(new URLSearchParams(query)) === viewQuery(params);
}
