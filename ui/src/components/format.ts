import type { HiddenTraces } from "@/api/stats";
import type { Run } from "@/api/types";

/** Shown for a missing value that should be there. */
export const UNKNOWN = "unknown";

/** Shown where there is nothing to know: the tokens of a run without model calls. */
export const NONE = "—";

/** Whether a formatted value is missing: it is shown dimmed. */
export function isMissing(text: React.ReactNode): boolean {
  return text === null || text === undefined || text === "" || text === UNKNOWN || text === NONE;
}

const integer = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** A whole number with thousands separators. */
export function formatCount(value: number): string {
  return integer.format(value);
}

/** A duration with at most three digits: 412 µs, 31.5 ms, 12.4 s, 3 m 04 s. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return UNKNOWN;
  if (ms <= 0) return "0 ms";
  if (ms < 1) return `${threeDigits(ms * 1000)} µs`;
  if (ms < 999.5) return `${threeDigits(ms)} ms`;
  if (ms < 59_950) return `${threeDigits(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${pad(seconds % 60)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} m`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)} d ${pad(hours % 24)} h`;
}

/** Tokens: exact up to 999,999, above that millions with two decimals. */
export function formatTokens(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  return value < 1_000_000 ? formatCount(value) : `${(value / 1_000_000).toFixed(2)} M`;
}

/** Smaller costs would need more zeros than people count. */
const MIN_COST = 0.00001;

/** Dollars: two decimals from $1, three significant digits below, two below one cent; <$0.00001 for less. */
export function formatCost(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return UNKNOWN;
  if (usd === 0) return "$0";
  if (usd >= 0.995)
    return `$${usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  if (usd < MIN_COST) return "<$0.00001";
  const digits = usd >= 0.01 ? 3 : 2;
  return `$${usd.toFixed(digits - 1 - Math.floor(Math.log10(usd)))}`;
}

type ModelUse = Pick<Run, "usage" | "cost_usd" | "llm_call_count" | "unpriced_call_count">;

function hasModelCalls(run: ModelUse): boolean {
  return run.llm_call_count > 0 || run.unpriced_call_count > 0;
}

/** A run's tokens. */
export function formatRunTokens(run: ModelUse): string {
  return run.usage || hasModelCalls(run) ? formatTokens(run.usage?.total_tokens) : NONE;
}

/** A run's cost. A plus says that some calls have no price. */
export function formatRunCost(run: ModelUse): string {
  if (run.cost_usd === null) return hasModelCalls(run) ? UNKNOWN : NONE;
  return formatCost(run.cost_usd) + (run.unpriced_call_count > 0 ? " +" : "");
}

/** Explains the plus of a run's cost. */
export function unpricedNote(run: ModelUse): string | undefined {
  if (run.cost_usd === null || run.unpriced_call_count === 0) return undefined;
  return `Excludes ${formatCountOf(run.unpriced_call_count, "model call")} without a known price`;
}

/** A share of a whole: 0.4 %, 12 %. */
export function formatPercent(share: number): string {
  return `${(share * 100).toFixed(share > 0 && share < 0.0995 ? 1 : 0)}\u00a0%`;
}

/** A count with what it counts: 1 item, 2,000 items. */
export function formatCountOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** 1 run, 2,000 runs. */
export function formatRuns(count: number): string {
  return formatCountOf(count, "run");
}

/** How many traces without GenAI spans are hidden. Of a partial count only the newest are known. */
export function formatHidden({ count, partial }: HiddenTraces): string {
  const traces = `${formatCountOf(count, "trace")} without GenAI spans`;
  return `${partial ? "At least " : ""}${traces} ${count === 1 ? "is" : "are"} hidden.`;
}

/** A size in bytes: 812 B, 18.2 kB, 3.41 MB. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${threeDigits(bytes / 1000)} kB`;
  return `${threeDigits(bytes / 1_000_000)} MB`;
}

/** An age in one unit: 12 s, 4 min, 3 h, 2 d, then weeks and years. */
export function formatAge(time: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  if (Number.isNaN(seconds)) return UNKNOWN;
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  if (seconds < 14 * 86_400) return `${Math.floor(seconds / 86_400)} d`;
  if (seconds < 365 * 86_400) return `${Math.floor(seconds / (7 * 86_400))} wk`;
  return `${Math.floor(seconds / (365 * 86_400))} y`;
}

const absolute = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "long",
});

/** The full time in the reader's zone. */
export function formatTime(time: string | null | undefined): string {
  if (!time) return UNKNOWN;
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? time : absolute.format(ms);
}

const moment: Intl.DateTimeFormatOptions = {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
};
const thisYear = new Intl.DateTimeFormat(undefined, moment);
const anyYear = new Intl.DateTimeFormat(undefined, { ...moment, year: "numeric" });

/** Day and time in the reader's zone, short enough for a list. With the year, unless it is the present one. */
export function formatMoment(time: string, now: number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return UNKNOWN;
  return (date.getFullYear() === new Date(now).getFullYear() ? thisYear : anyYear).format(date);
}

/** Milliseconds since the epoch, including the fraction below a millisecond. */
export function parseTime(time: string): number {
  const fraction = /\.(\d+)/.exec(time)?.[1];
  const ms = Date.parse(time);
  if (!fraction || fraction.length <= 3) return ms;
  return ms + Number(`0.${fraction.slice(3)}`);
}

/** The start of a recorded text, on one line. */
export function firstWords(text: string, length = 200): string {
  return text
    .slice(0, length * 2)
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, length);
}

function threeDigits(value: number): string {
  const decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return String(Number(value.toFixed(decimals)));
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
