import { useMemo, useSyncExternalStore } from "react";
import { fetchItems } from "@/api/datasets";
import { complete } from "@/api/playground";
import type { Completion, Dataset } from "@/api/types";
import { type BatchRow, MAX_ITEMS, runBatch, variablesFrom } from "./batch";
import type { Prepared } from "./play";

/** What to run over the first items of a dataset. */
export interface BatchStart {
  /** Whose playground it belongs to: see playKey. */
  owner: string;
  /** "Column 2". */
  column: string;
  dataset: Pick<Dataset, "id" | "name">;
  count: number;
  /** The variables that the column's messages use. */
  variables: readonly string[];
  /** The request with the variables of an item. */
  prepare: (variables: Record<string, unknown>) => Prepared;
}

/** A column's request, run over items of a dataset. It never changes: each step makes a new one. */
export interface Batch extends Pick<BatchStart, "owner" | "column" | "dataset"> {
  id: string;
  isRunning: boolean;
  /** Null until the items are read. */
  rows: readonly BatchRow[] | null;
  /** Why the items couldn't be read. */
  error: Error | null;
}

/** The batches of this page. They go on when their dialog closes, and on other pages of the product. */
class Batches {
  private list: readonly Batch[] = [];
  private readonly requests = new Map<string, AbortController>();
  private readonly listeners = new Set<() => void>();

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly all = (): readonly Batch[] => this.list;

  /** Starts a batch and returns its id. */
  start({ owner, column, dataset, count, variables, prepare }: BatchStart): string {
    const id = crypto.randomUUID();
    const request = new AbortController();
    if (this.requests.size === 0) window.addEventListener("beforeunload", ask);
    this.requests.set(id, request);
    this.set([...this.list, { id, owner, column, dataset, isRunning: true, rows: null, error: null }]);
    const call = (row: BatchRow, signal: AbortSignal): Promise<Completion> => {
      const { draft, problems } = prepare(row.variables ?? {});
      return draft ? complete(draft, signal) : Promise.reject(new Error(problems.join(" ")));
    };
    const run = async () => {
      const limit = Math.min(MAX_ITEMS, Math.max(1, count));
      const { data } = await fetchItems(dataset.id, {}, limit, undefined, request.signal);
      const rows = data.map((item) => rowOf(item.id, item.input, variables));
      this.change(id, () => ({ rows }));
      await runBatch(rows, call, request.signal, (changed) =>
        this.change(id, (batch) => ({
          rows: batch.rows?.map((row) => (row.id === changed.id ? changed : row)) ?? null,
        })),
      );
    };
    run()
      .catch((error: Error) => this.change(id, () => ({ error: request.signal.aborted ? null : error })))
      .finally(() => {
        this.requests.delete(id);
        if (this.requests.size === 0) window.removeEventListener("beforeunload", ask);
        this.change(id, () => ({ isRunning: false }));
      });
    return id;
  }

  /** Ends the requests of a batch, and with them the provider's. Its rows stay. */
  cancel(id: string): void {
    this.requests.get(id)?.abort();
  }

  /** Removes a batch that has ended. */
  remove(id: string): void {
    this.set(this.list.filter((batch) => batch.id !== id));
  }

  private change(id: string, changed: (batch: Batch) => Partial<Batch>): void {
    this.set(this.list.map((batch) => (batch.id === id ? { ...batch, ...changed(batch) } : batch)));
  }

  private set(list: readonly Batch[]): void {
    this.list = list;
    for (const listener of this.listeners) listener();
  }
}

/** The browser asks whether to leave the page. */
function ask(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

function rowOf(id: string, input: unknown, names: readonly string[]): BatchRow {
  const variables = variablesFrom(input, names);
  const missing = names.filter((name) => variablesFrom(input, [name, `${name} `]) === null);
  return {
    id,
    variables,
    state: variables ? "waiting" : "failed",
    completion: null,
    error: variables ? null : new Error(`The input has no ${missing.join(", ")}.`),
  };
}

export const batches = new Batches();

/** The batches of a playground, the oldest first. */
export function useBatches(owner: string): readonly Batch[] {
  const all = useSyncExternalStore(batches.subscribe, batches.all);
  return useMemo(() => all.filter((batch) => batch.owner === owner), [all, owner]);
}
