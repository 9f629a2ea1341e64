import type { ComparisonMetric, EvaluationDifference, EvaluationVerdict } from "@/api/types";
import { formatCost, formatCount, formatCountOf, formatDuration, NONE } from "@/components/format";

type Kind = ComparisonMetric["kind"];

const LABELS: Record<Exclude<Kind, "score">, string> = {
  failures: "Failed outputs",
  cost: "Cost",
  duration: "Duration",
  output_tokens: "Output tokens",
};

/** What a metric is called: the name of its grader, or what is measured anyway. */
export function metricLabel({ name, kind }: Pick<ComparisonMetric, "name" | "kind">): string {
  return kind === "score" ? name : LABELS[kind];
}

/** Whether differences of a metric are in points; else they are compared with the mean of A. */
export function isInPoints(kind: Kind): boolean {
  return kind === "score" || kind === "failures";
}

/** A value of a metric for people. Scores are out of 100. */
export function formatValue(kind: Kind, value: number | null): string {
  if (value === null) return NONE;
  switch (kind) {
    case "score":
      return digits(value * 100);
    case "failures":
      return `${digits(value * 100)}\u00a0%`;
    case "cost":
      return formatCost(value);
    case "duration":
      return formatDuration(value);
    case "output_tokens":
      return (value < 100 ? digits(value) : formatCount(value)).replace("-", "−");
  }
}

/** A difference with its sign: "+6.0", "−$0.002". */
export function formatDifference(kind: Kind, value: number | null): string {
  if (value === null) return NONE;
  const size = formatValue(kind, Math.abs(value)).replace("\u00a0%", "");
  return `${signOf(value)}${size}`;
}

function signOf(value: number): string {
  return value > 0 ? "+" : value < 0 ? "−" : "";
}

/** One digit after the point; two that count for what is smaller. */
function digits(value: number): string {
  // A rounding error of an interval at 0.
  if (Math.abs(value) < 1e-9) return "0.0";
  if (value === 0 || Math.abs(value) >= 0.095) return value.toFixed(1);
  return Math.abs(value) < 0.0001 ? value.toExponential(1) : String(Number(value.toPrecision(2)));
}

/** A p value: "0.016", "< 0.001". */
export function formatP(p: number | null): string {
  if (p === null) return NONE;
  if (p < 0.001) return "< 0.001";
  if (p > 0.05 && p < 0.0505) return String(Math.max(0.0501, Number(p.toPrecision(3)))); // not as what is a finding
  return p >= 0.0995 ? p.toFixed(2) : String(Number(p.toPrecision(2)));
}

/** A difference on the common axis, in points or in percent of the mean of A. Null if it can't be drawn. */
export interface Place {
  estimate: number;
  low: number | null;
  high: number | null;
}

export function placeOf(
  { kind, a }: Pick<ComparisonMetric, "kind" | "a">,
  { estimate, ci }: Pick<EvaluationDifference, "estimate" | "ci">,
): Place | null {
  if (estimate === null) return null;
  const scale = isInPoints(kind) ? 100 : a.mean !== null && a.mean > 0 ? 100 / a.mean : null;
  if (scale === null) return null;
  return {
    estimate: estimate * scale,
    low: scaled(ci?.[0], scale),
    high: scaled(ci?.[1], scale),
  };
}

function scaled(value: number | undefined, scale: number): number | null {
  return value === undefined ? null : value * scale;
}

/** An interval of the API in words, "1.2 to 10.8"; null for none. */
export function intervalText(ci: readonly number[] | null, format: (value: number) => string): string | null {
  const [low, high] = ci ?? [];
  return low === undefined || high === undefined ? null : `${format(low)} to ${format(high)}`;
}

/** How far an axis reaches to both sides of 0, so that everything fits: 1, 2, 5, 10, … */
export function axisBound(places: readonly (Place | null)[]): number {
  const sizes = places.flatMap((place) =>
    place ? [place.estimate, place.low ?? 0, place.high ?? 0].map(Math.abs) : [],
  );
  const most = Math.max(0, ...sizes);
  if (most === 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * power).find((bound) => bound >= most * (1 - 1e-9)) ?? 10 * power;
}

/** What a verdict means for B. */
export type Effect = "better" | "worse" | "equivalent" | "inconclusive";

const EFFECTS: Record<EvaluationVerdict, Effect> = {
  b_better: "better",
  a_better: "worse",
  equivalent: "equivalent",
  inconclusive: "inconclusive",
};

export function effectOf(verdict: EvaluationVerdict): Effect {
  return EFFECTS[verdict];
}

/** A verdict in a few words. */
export const VERDICTS: Record<EvaluationVerdict, string> = {
  b_better: "B is better",
  a_better: "B is worse",
  equivalent: "Equivalent",
  inconclusive: "Can't tell",
};

const FLAGS: Record<string, string> = {
  few_items: "Few items: the interval may be too narrow.",
  few_differing: "Few items differ between the sides, so the interval and the test are rough.",
  heavy_tail:
    "The means have no interval: few large values decide them, and rare ones need not be among the items. Look at the difference.",
  different_times:
    "The outputs were made at different times, under different loads. Let one comparison make both: it takes turns.",
  no_variation: "All items differ by the same amount, so there is nothing to test.",
  too_few: "Too few items for an interval.",
  out_of_domain: "Some values can't be compared.",
};

/** What to mind about a difference, in plain words. */
export function flagText(flag: string): string {
  return FLAGS[flag] ?? `${flag.replaceAll("_", " ")}.`;
}

/** Why labels of people don't correct the difference of a score of judges, and what would. */
export function labelsWhy({
  labels_flag: flag,
  labels_paired: paired,
  labels_needed: needed,
}: Pick<ComparisonMetric, "labels_flag" | "labels_paired" | "labels_needed">): string {
  const items = formatCountOf(paired, "item");
  switch (flag) {
    case "grouped":
      return "By judges alone: labels correct no difference of groups.";
    case "too_few":
      return "By judges alone: labels correct a difference from 20 items on.";
    case "not_drawn":
      return `By judges alone: the labels of ${items} are not those of the first items of the random order, so they correct nothing. ${formatCountOf(needed ?? 0, "more item")} would do.`;
  }
  return paired === 0
    ? "By judges alone. Labels of both sides correct it, from 20 items in random order on."
    : `By judges alone: ${items} have labels on both sides. Those of ${formatCountOf(needed ?? 0, "more item")} in random order correct it.`;
}

const TESTS: Record<string, string> = {
  mcnemar_exact: "McNemar's exact test",
  sign_flip: "Sign-flip permutation test",
};

/** The name of a test. */
export function testName(test: string): string {
  return TESTS[test] ?? test.replaceAll("_", " ");
}

/** A difference in one line, for people who don't see the drawing. */
export function differenceText(
  metric: Pick<ComparisonMetric, "name" | "kind">,
  { estimate, ci }: Pick<EvaluationDifference, "estimate" | "ci">,
): string {
  if (estimate === null) return `${metricLabel(metric)}: not compared`;
  const interval = intervalText(ci, (value) => formatDifference(metric.kind, value));
  const doubt = interval === null ? "no interval" : `95 % interval ${interval}`;
  return `${metricLabel(metric)}: ${formatDifference(metric.kind, estimate)}, ${doubt}`;
}
