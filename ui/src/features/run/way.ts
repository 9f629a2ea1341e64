/** What an entry of the browser's history knows of the way that led to the run. */
export interface Way {
  /** It began in the list, as it stands there. */
  fromList?: boolean;
  /** The entries of this run that lie between. */
  within?: number;
}

/** The way of the next entry within the run. */
export function further(way: Way | null): Way {
  return { ...way, within: (way?.within ?? 0) + 1 };
}

/** The steps in the history that lead to the list where it was left; null where it did not lead here. */
export function stepsToList(way: Way | null): number | null {
  return way?.fromList ? -1 - (way.within ?? 0) : null;
}
