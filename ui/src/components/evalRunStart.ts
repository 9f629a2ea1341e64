/** What the form of a new eval-run starts from. */
export interface EvalRunStart {
  datasetId?: string;
  /** An eval-run to make another one like it. */
  from?: string;
  /** An eval-run whose outputs are judged again. */
  outputs?: string;
  /** The judge of a panel to leave out of those of `from` or `outputs`. */
  without?: { panel: string; judge: string };
}

/** The address of the form of a new eval-run, with what it starts from. */
export function newEvalRunPath(projectId: string, start: EvalRunStart = {}): string {
  const query = new URLSearchParams();
  if (start.datasetId !== undefined) query.set("dataset", start.datasetId);
  if (start.from !== undefined) query.set("from", start.from);
  if (start.outputs !== undefined) query.set("outputs", start.outputs);
  setWithout(query, start.without);
  const text = query.toString();
  return `/p/${projectId}/eval-runs/new${text === "" ? "" : `?${text}`}`;
}

/** Puts the judge that a form leaves out into its address. */
export function setWithout(query: URLSearchParams, without: EvalRunStart["without"]): void {
  if (!without) return;
  query.set("panel", without.panel);
  query.set("without", without.judge);
}

/** The judge that a form leaves out; undefined for none. */
export function readWithout(query: URLSearchParams): EvalRunStart["without"] {
  const [panel, judge] = [query.get("panel"), query.get("without")];
  return panel === null || judge === null ? undefined : { panel, judge };
}
