import type { Completion } from "@/api/types";
import { isObject } from "@/components/json";

/** One item of a dataset while a column runs over it. */
export interface BatchRow {
  id: string;
  /** The values of the variables, or why the item has none. */
  variables: Record<string, unknown> | null;
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  completion: Completion | null;
  error: Error | null;
}

/** Most items of one batch. */
export const MAX_ITEMS = 20;
/** Most calls at once. */
const CONCURRENCY = 4;

/**
 * The variables that an item's input gives: the members of an object, or the whole input if there is one variable and it isn't
 * among them. Null if a variable gets no value.
 */
export function variablesFrom(input: unknown, names: readonly string[]): Record<string, unknown> | null {
  const given = isObject(input) ? input : {};
  const [only] = names;
  if (names.length === 1 && only !== undefined && !Object.hasOwn(given, only)) return { [only]: input };
  if (!names.every((name) => Object.hasOwn(given, name))) return null;
  return Object.fromEntries(names.map((name) => [name, given[name]]));
}

/** Runs the rows, a few at once. `onRow` gets each change. It ends when all have, or were cancelled. */
export async function runBatch(
  rows: readonly BatchRow[],
  call: (row: BatchRow, signal: AbortSignal) => Promise<Completion>,
  signal: AbortSignal,
  onRow: (row: BatchRow) => void,
): Promise<void> {
  const waiting = rows.filter(({ state }) => state === "waiting");
  const work = async () => {
    for (let row = waiting.shift(); row; row = waiting.shift()) {
      if (signal.aborted) {
        onRow({ ...row, state: "cancelled" });
        continue;
      }
      onRow({ ...row, state: "running" });
      try {
        onRow({ ...row, state: "done", completion: await call(row, signal) });
      } catch (error) {
        onRow(
          signal.aborted
            ? { ...row, state: "cancelled" }
            : { ...row, state: "failed", error: error as Error },
        );
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

/** The cost of the rows that are done, and how many of them have none that is known. */
export function costOf(rows: readonly BatchRow[]): { usd: number; unknown: number } {
  const done = rows.flatMap(({ completion }) => (completion ? [completion.cost_usd] : []));
  return {
    usd: done.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
    unknown: done.filter((cost) => cost === null).length,
  };
}
