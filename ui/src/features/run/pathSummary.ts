import type { RunTree } from "./outline";

/** The critical path in figures. */
export interface PathSummary {
  /** The sum of its intervals in milliseconds. */
  ms: number;
  /** How many spans have a part of it. */
  spans: number;
  /** The index of the span with the most of it, and how much that is in milliseconds. */
  longest: number;
  longestMs: number;
}

/** The critical path of a run; undefined if it has none. */
export function summarizePath(tree: RunTree): PathSummary | undefined {
  const summary = { ms: 0, spans: tree.path.size, longest: -1, longestMs: 0 };
  for (const [index, intervals] of tree.path) {
    const ms = intervals.reduce((sum, { from, to }) => sum + to - from, 0);
    summary.ms += ms;
    if (ms > summary.longestMs) {
      summary.longest = index;
      summary.longestMs = ms;
    }
  }
  return summary.longest < 0 ? undefined : summary;
}
