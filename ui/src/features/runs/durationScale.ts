const SHORTEST = 10;
const LONGEST = 600_000;

/** How long a duration's bar is, 0 to 1: logarithmic from 10 ms to 10 minutes, so that rows compare at a glance. */
export function durationShare(ms: number | null): number {
  if (ms === null || ms <= SHORTEST) return ms === null ? 0 : 0.02;
  return Math.min(1, Math.max(0.02, Math.log(ms / SHORTEST) / Math.log(LONGEST / SHORTEST)));
}
