import type { Run, RunPage, Status } from "@/api/types";
import { parseTime } from "@/components/format";

/** What came since the list was loaded. */
export interface Live {
  /** Runs as they are now, by id. */
  changed: ReadonlyMap<string, Run>;
  /** Runs that the list would show by now, and does not yet. */
  fresh: ReadonlySet<string>;
}

export const NOTHING: Live = { changed: new Map(), fresh: new Set() };

/** The list as it was loaded, which nothing may move. */
export interface Listed {
  first: Pick<RunPage, "data" | "next_cursor" | "partial">;
  isNewestFirst: boolean;
  /** The states that are listed; without them all. What arrives is of any state. */
  status?: readonly Status[];
}

// Far more than what is looked at: the oldest are forgotten.
const MOST_CHANGED = 2_000;

/** Takes in runs that appeared or changed. */
export function absorb(live: Live, arrived: readonly Run[], listed: Listed): Live {
  const changed = new Map(live.changed);
  const fresh = new Set(live.fresh);
  const shown = new Map(listed.first.data.map((run) => [run.run_id, run]));
  const since = completeSince(listed);
  let isNew = false;
  for (const run of arrived) {
    const known = changed.get(run.run_id) ?? shown.get(run.run_id);
    if (known?.received_at === run.received_at && known.status === run.status) continue;
    isNew = true;
    const isListed = !listed.status || listed.status.includes(run.status);
    if (isListed && !shown.has(run.run_id) && parseTime(run.start_time) > since) fresh.add(run.run_id);
    else fresh.delete(run.run_id);
    changed.delete(run.run_id);
    changed.set(run.run_id, run);
  }
  if (!isNew) return live;
  for (const id of changed.keys()) {
    if (changed.size <= MOST_CHANGED) break;
    changed.delete(id);
  }
  return { changed, fresh };
}

/** The start from which on a run that the first page does not show is no run of the list: another page may hold those before. */
function completeSince({ first, isNewestFirst }: Listed): number {
  const isWhole = first.next_cursor === null && !first.partial;
  if (isWhole || first.data.length === 0) return Number.NEGATIVE_INFINITY;
  // By any other order it may stand on any page.
  if (!isNewestFirst) return Number.POSITIVE_INFINITY;
  return Math.min(...first.data.map((run) => parseTime(run.start_time)));
}
