import type { Run, Thread } from "@/api/types";
import { formatDuration, parseTime } from "@/components/format";

/**
 * How long a conversation took: until its last run ended, or until now while it is running. If not all runs are loaded, at
 * least until the last run started.
 */
export function threadDuration(
  thread: Pick<Thread, "first_time" | "last_time" | "running">,
  runs: readonly Pick<Run, "start_time" | "duration_ms">[],
  areAll: boolean,
  now: number,
): string {
  const start = parseTime(thread.first_time);
  const length = (end: number) => formatDuration(Math.max(0, end - start));
  if (thread.running) return `${length(Math.floor(now / 1000) * 1000)}…`;
  if (!areAll) return `at least ${length(parseTime(thread.last_time))}`;
  return length(Math.max(...runs.map((run) => parseTime(run.start_time) + (run.duration_ms ?? 0))));
}
