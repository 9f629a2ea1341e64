/** The address of the form of a replay of a run. It starts with an edit of the span, if there is one. */
export function newReplayPath(projectId: string, runId: string, spanId?: string): string {
  const query = new URLSearchParams({ run: runId });
  if (spanId !== undefined) query.set("span", spanId);
  return `/p/${projectId}/replays/new?${query}`;
}

/** Kinds of spans that an edit can change. */
const EDITABLE = ["llm", "tool", "embedding"];

/** Whether a replay can begin at a span: a call of a model or of a tool. */
export function isReplayable(kind: string): boolean {
  return EDITABLE.includes(kind);
}
