/** One line or layer of a chart; null is a gap: nothing is known there. */
export interface ChartSeries {
  label: string;
  /** A variable of the theme, such as `--lt-series-1`. */
  color: string;
  values: (number | null)[];
}

/** The sums of the layers up to each one, from the bottom; what is not known adds nothing. */
export function stack(layers: readonly (number | null)[][]): (number | null)[][] {
  const sums: (number | null)[][] = [];
  for (const layer of layers) {
    const below = sums.at(-1);
    sums.push(
      layer.map((value, at) =>
        value === null && below?.[at] == null ? null : (value ?? 0) + (below?.[at] ?? 0),
      ),
    );
  }
  return sums;
}

/** The steps that an axis of counts may take, each whole and round. */
export const WHOLE_STEPS = Array.from({ length: 15 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();

/** The steps that an axis of durations may take, in ms: round in the unit in which they are read. */
export const DURATION_STEPS = [
  ...[0.001, 0.01, 0.1, 1, 10, 100].flatMap((ms) => [ms, 2 * ms, 5 * ms]),
  ...[1_000, 60_000].flatMap((unit) => [1, 2, 5, 10, 15, 30].map((step) => step * unit)),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3_600_000),
  ...WHOLE_STEPS.slice(0, 15).map((days) => days * 86_400_000),
];

/** The colours of series that are told apart, in their order; there are ten, and then they come again. */
export function seriesColor(index: number): string {
  return `--lt-series-${(index % 10) + 1}`;
}

/** The whole buckets that a stretch of time touches, both in seconds. */
export function touchedBuckets(from: number, until: number, bucket: number, first: number): [number, number] {
  const begin = first + Math.floor((from - first) / bucket) * bucket;
  const end = first + Math.ceil((until - first) / bucket) * bucket;
  return [begin, Math.max(end, begin + bucket)];
}
