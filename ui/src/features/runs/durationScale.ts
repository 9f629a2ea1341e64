const SHORTEST = 10;
const LONGEST = 600_000;

/** The length of a duration's bar, 0 to 1, on a logarithmic scale from 10 ms to 10 minutes. */
export function durationShare(ms: number | null): number {
  if (ms === null || ms <= SHORTEST) return ms === null ? 0 : 0.02;
  return Math.min(1, Math.max(0.02, Math.log(ms / SHORTEST) / Math.log(LONGEST / SHORTEST)));
}
