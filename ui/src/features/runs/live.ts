import type { Run } from "@/api/types";

/** What came since the list was loaded. */
export interface Live {
  /** Runs as they are now, by id. */
  changed: ReadonlyMap<string, Run>;
  /** Runs that began since, and that the list does not show yet. */
  fresh: ReadonlySet<string>;
}

export const NOTHING: Live = { changed: new Map(), fresh: new Set() };

// Far more than what is looked at: the oldest are forgotten.
const MOST_CHANGED = 2_000;

/** Takes in runs that appeared or changed; `first` is the newest page as it was loaded, which nothing may move. */
export function absorb(live: Live, arrived: readonly Run[], first: readonly Run[]): Live {
  const changed = new Map(live.changed);
  const fresh = new Set(live.fresh);
  const shown = new Map(first.map((run) => [run.run_id, run]));
  const newest = first.reduce((time, run) => (run.start_time > time ? run.start_time : time), "");
  let isNew = false;
  for (const run of arrived) {
    const known = changed.get(run.run_id) ?? shown.get(run.run_id);
    if (known?.received_at === run.received_at && known.status === run.status) continue;
    isNew = true;
    if (!shown.has(run.run_id) && run.start_time >= newest) fresh.add(run.run_id);
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
