import type { Outcome, Run, RunPage, Status } from "@/api/types";
import { parseTime } from "@/components/format";

/** Changes since the list was loaded. */
export interface Live {
  /** The current state of changed runs, by id. */
  changed: ReadonlyMap<string, Run>;
  /** Ids of new runs that the list doesn't show yet. */
  fresh: ReadonlySet<string>;
}

export const NO_CHANGES: Live = { changed: new Map(), fresh: new Set() };

/** The list as it was loaded. New runs don't change it. */
export interface Listed {
  first: Pick<RunPage, "data" | "next_cursor" | "partial">;
  isNewestFirst: boolean;
  /** The statuses and outcomes that the list shows; all if missing. Arriving runs may have any. */
  status?: readonly Status[];
  outcome?: readonly Outcome[];
}

// More than any screen shows. The oldest changes are dropped.
const MAX_CHANGED = 2_000;

/** Adds runs that appeared or changed. */
export function mergeArrivals(live: Live, arrived: readonly Run[], listed: Listed): Live {
  const changed = new Map(live.changed);
  const fresh = new Set(live.fresh);
  const shown = new Map(listed.first.data.map((run) => [run.run_id, run]));
  const since = completeSince(listed);
  let isNew = false;
  for (const run of arrived) {
    const known = changed.get(run.run_id) ?? shown.get(run.run_id);
    if (known?.received_at === run.received_at && known.status === run.status) continue;
    isNew = true;
    const isListed =
      (!listed.status || listed.status.includes(run.status)) &&
      (!listed.outcome || listed.outcome.includes(run.outcome));
    if (isListed && !shown.has(run.run_id) && parseTime(run.start_time) > since) fresh.add(run.run_id);
    else fresh.delete(run.run_id);
    changed.delete(run.run_id);
    changed.set(run.run_id, run);
  }
  if (!isNew) return live;
  for (const id of changed.keys()) {
    if (changed.size <= MAX_CHANGED) break;
    changed.delete(id);
  }
  return { changed, fresh };
}

/** A run that started later and isn't on the first page is new. Earlier runs may be on another page. */
function completeSince({ first, isNewestFirst }: Listed): number {
  const isWhole = first.next_cursor === null && !first.partial;
  if (isWhole || first.data.length === 0) return Number.NEGATIVE_INFINITY;
  // In any other order it may be on any page.
  if (!isNewestFirst) return Number.POSITIVE_INFINITY;
  return Math.min(...first.data.map((run) => parseTime(run.start_time)));
}
