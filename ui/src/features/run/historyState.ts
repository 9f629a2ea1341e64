/** How the reader reached a run, stored in the browser's history entry. */
export interface HistoryState {
  /** The reader opened the run from the list. */
  fromList?: boolean;
  /** The history entries of this run since then. */
  entries?: number;
}

/** The state of the run's next history entry. */
export function nextEntry(state: HistoryState | null): HistoryState {
  return { ...state, entries: (state?.entries ?? 0) + 1 };
}

/** The steps back to the list in the history; null if the reader didn't come from there. */
export function stepsToList(state: HistoryState | null): number | null {
  return state?.fromList ? -1 - (state.entries ?? 0) : null;
}
