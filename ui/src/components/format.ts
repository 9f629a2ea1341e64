/** What stands where a value is not known; never 0. */
export const UNKNOWN = "unknown";

const integer = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** A whole number with thousands separators. */
export function formatCount(value: number): string {
  return integer.format(value);
}

/** A duration in the unit that reads best, three digits at most: 412 µs, 31.5 ms, 12.4 s, 3 m 04 s. */
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

/** Tokens: exact up to 999,999, then millions with two decimals. */
export function formatTokens(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  return value < 1_000_000 ? formatCount(value) : `${(value / 1_000_000).toFixed(2)} M`;
}

/** Dollars: cents from $1 up, three significant digits below, two below a cent. */
export function formatCost(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return UNKNOWN;
  if (usd === 0) return "$0";
  if (usd >= 0.995)
    return `$${usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  if (usd < 0.000001) return "<$0.000001";
  const digits = usd >= 0.01 ? 3 : 2;
  const places = Math.min(8, digits - 1 - Math.floor(Math.log10(usd)));
  return `$${usd.toFixed(places)}`;
}

/** What is known of a run's cost. */
interface RunCost {
  cost_usd: number | null;
  unpriced_call_count: number;
}

/** A run's cost, with a plus where it leaves calls out. */
export function formatRunCost(run: RunCost): string {
  const known = formatCost(run.cost_usd);
  return run.cost_usd !== null && run.unpriced_call_count > 0 ? `${known} +` : known;
}

/** What a run's cost leaves out, in words; undefined where it is whole, or where nothing is known of it. */
export function unpricedNote(run: RunCost): string | undefined {
  if (run.cost_usd === null || run.unpriced_call_count === 0) return undefined;
  const calls = run.unpriced_call_count;
  return `Without ${calls} model ${calls === 1 ? "call whose price is" : "calls whose prices are"} not known`;
}

/** A size in bytes: 812 B, 18.2 kB, 3.41 MB. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${threeDigits(bytes / 1000)} kB`;
  return `${threeDigits(bytes / 1_000_000)} MB`;
}

/** How long ago, in one unit: 12 s, 4 min, 3 h, 2 d, then weeks and years. */
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

/** Milliseconds since the epoch with the fraction that the API gives (up to nanoseconds). */
export function parseTime(time: string): number {
  const fraction = /\.(\d+)/.exec(time)?.[1];
  const ms = Date.parse(time);
  if (!fraction || fraction.length <= 3) return ms;
  return ms + Number(`0.${fraction.slice(3)}`);
}

/** The first words of a recorded text, on one line. */
export function firstWords(text: string, length = 200): string {
  return text
    .slice(0, length * 2)
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, length);
}

function threeDigits(value: number): string {
  const places = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return String(Number(value.toFixed(places)));
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
