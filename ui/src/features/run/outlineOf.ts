import type { Outline } from "@/api/types";

/** A span of a test. */
export type Row = [
  id: string,
  parent: number,
  status?: "ok" | "error" | "running",
  start?: number,
  duration?: number,
  name?: string,
];

/** The outline of a run with these spans, for tests. */
export function outlineOf(rows: Row[], path: [span: number, from: number, to: number][] = []): Outline {
  const strings = [""];
  const stringIndex = (text: string) => {
    if (!strings.includes(text)) strings.push(text);
    return strings.indexOf(text);
  };
  return {
    run_id: "00000000-0000-4000-8000-000000000000",
    start_time: "2026-03-01T00:00:00Z",
    partial: false,
    spans: {
      span_id: rows.map(([id]) => id),
      parent: rows.map(([, parent]) => parent),
      status: rows.map(([, , status]) => status ?? "ok"),
      start_ms: rows.map(([, , , start]) => start ?? 0),
      duration_ms: rows.map(([, , , , duration]) => duration ?? 1),
      name: rows.map(([id, , , , , name]) => stringIndex(name ?? id)),
      kind: rows.map(([id]) => stringIndex(id === "tool" ? "tool" : "agent")),
      model: rows.map(() => 0),
      tool: rows.map(([id]) => stringIndex(id === "tool" ? "Search" : "")),
      agent: rows.map(() => 0),
      error: rows.map(() => 0),
      tokens: rows.map(() => -1),
    },
    strings,
    error_chain: [],
    critical_path: {
      span: path.map(([span]) => span),
      start_ms: path.map(([, from]) => from),
      duration_ms: path.map(([, from, to]) => to - from),
    },
  };
}
