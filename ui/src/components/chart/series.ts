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

/** The range of whole buckets that overlaps a time range, in seconds. */
export function touchedBuckets(from: number, until: number, bucket: number, first: number): [number, number] {
  const begin = first + Math.floor((from - first) / bucket) * bucket;
  const end = first + Math.ceil((until - first) / bucket) * bucket;
  return [begin, Math.max(end, begin + bucket)];
}
