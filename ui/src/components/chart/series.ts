/** One line or layer of a chart. Null is an unknown value and leaves a gap. */
export interface ChartSeries {
  label: string;
  /** A variable of the theme, such as `--lt-series-1`. */
  color: string;
  values: (number | null)[];
  /** The ends of an interval around each value. Only lines have intervals. */
  low?: (number | null)[];
  high?: (number | null)[];
}

/** Cumulative sums of the layers, from the bottom. Unknown values add nothing. */
export function stack(layers: readonly (number | null)[][]): (number | null)[][] {
  const sums: (number | null)[][] = [];
  for (const layer of layers) {
    const below = sums.at(-1);
    sums.push(
      layer.map((value, index) =>
        value === null && below?.[index] == null ? null : (value ?? 0) + (below?.[index] ?? 0),
      ),
    );
  }
  return sums;
}

/** The indexes of values without a neighbour: no line reaches them. */
export function isolated(values: readonly (number | null | undefined)[]): number[] {
  return values.flatMap((value, index) =>
    value == null || values[index - 1] != null || values[index + 1] != null ? [] : [index],
  );
}

/** Axis steps for counts: round whole numbers. */
export const WHOLE_STEPS = Array.from({ length: 15 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();

/** Axis steps for durations in ms: round in the unit that the label uses. */
export const DURATION_STEPS = [
  ...[0.001, 0.01, 0.1, 1, 10, 100].flatMap((ms) => [ms, 2 * ms, 5 * ms]),
  ...[1_000, 60_000].flatMap((unit) => [1, 2, 5, 10, 15, 30].map((step) => step * unit)),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3_600_000),
  ...WHOLE_STEPS.slice(0, 15).map((days) => days * 86_400_000),
];

/** The color of a series. After ten they repeat. */
export function seriesColor(index: number): string {
  return `--lt-series-${(index % 10) + 1}`;
}

const SKEWED = 50;

/** Whether an outlier would flatten all other values: the largest is above 50 times the median of those above zero. */
export function isSkewed(series: readonly ChartSeries[]): boolean {
  const values = series
    .flatMap((one) => one.values)
    .filter((value) => value !== null && value > 0)
    .sort((a, b) => (a ?? 0) - (b ?? 0));
  const median = values[Math.floor((values.length - 1) / 2)] ?? 0;
  return (values.at(-1) ?? 0) > SKEWED * median;
}

/** The decades of a logarithmic axis that contain all values above zero. */
export function decades(values: readonly (number | null | undefined)[]): [number, number] {
  const positive = values.filter((value) => value != null && value > 0) as number[];
  if (positive.length === 0) return [1, 10];
  const low = Math.floor(Math.log10(positive.reduce((a, b) => Math.min(a, b))));
  const high = Math.ceil(Math.log10(positive.reduce((a, b) => Math.max(a, b))));
  return [10 ** low, 10 ** Math.max(high, low + 1)];
}

/** The labelled values of a logarithmic axis. */
export function powersOfTen(low: number, high: number): number[] {
  const [first, last] = [Math.round(Math.log10(low)), Math.round(Math.log10(high))];
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
}

/** The range of whole buckets that overlaps a time range, in seconds. */
export function touchedBuckets(from: number, until: number, bucket: number, first: number): [number, number] {
  const begin = first + Math.floor((from - first) / bucket) * bucket;
  const end = first + Math.ceil((until - first) / bucket) * bucket;
  return [begin, Math.max(end, begin + bucket)];
}
