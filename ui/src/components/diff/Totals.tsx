import type { RunDiff, RunDiffTotal } from "@/api/types";
import { formatCost, formatCount, formatDuration, formatTokens, UNKNOWN } from "@/components/format";
import classes from "./Diff.module.css";

const ROWS: { key: keyof RunDiff["totals"]; label: string; format: (value: number) => string }[] = [
  { key: "duration_ms", label: "Duration", format: formatDuration },
  { key: "total_tokens", label: "Tokens", format: formatTokens },
  { key: "cost_usd", label: "Cost", format: formatCost },
  { key: "spans", label: "Spans", format: formatCount },
  { key: "errors", label: "Errors", format: formatCount },
  { key: "llm_calls", label: "Model calls", format: formatCount },
  { key: "tool_calls", label: "Tool calls", format: formatCount },
];

/** The totals of both runs and their difference. */
export function Totals({ totals }: { totals: RunDiff["totals"] }) {
  return (
    <dl className={classes.totals} aria-label="Totals">
      {ROWS.map(({ key, label, format }) => {
        const total = totals[key];
        return (
          <div key={key}>
            <dt>{label}</dt>
            <dd>
              {known(total.base, format)} → {known(total.other, format)}
              <span className={classes.difference}>{difference(total, format)}</span>
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

function known(value: number | null, format: (value: number) => string): string {
  return value === null ? UNKNOWN : format(value);
}

/** The difference with its sign, and as a percentage of the first run. */
function difference({ base, difference }: RunDiffTotal, format: (value: number) => string): string {
  if (difference === null) return "";
  if (difference === 0) return "=";
  const sign = difference > 0 ? "+" : "−";
  const share = base ? ` (${sign}${Math.round((Math.abs(difference) / base) * 100)}\u00a0%)` : "";
  return `${sign}${format(Math.abs(difference))}${share}`;
}
