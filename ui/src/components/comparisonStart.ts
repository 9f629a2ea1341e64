import type { ComparisonConfig } from "@/api/types";

/** The address of the form of a new comparison, with what it starts from. */
export function newComparisonPath(
  projectId: string,
  start: {
    datasetId?: string;
    /** Versions of prompts. */
    a?: { id: string; version: number };
    b?: { id: string; version: number };
  } = {},
): string {
  const query = new URLSearchParams();
  if (start.datasetId !== undefined) query.set("dataset", start.datasetId);
  for (const side of ["a", "b"] as const) {
    const version = start[side];
    if (version) query.set(side, `${version.id}@${version.version}`);
  }
  const text = query.toString();
  return `/p/${projectId}/comparisons/new${text === "" ? "" : `?${text}`}`;
}

/** A version of a prompt in an address; null if there is none. */
export function readVersionAt(text: string | null): { id: string; version: number } | null {
  const { id, version } = /^(?<id>[0-9a-f-]{36})@(?<version>[1-9]\d{0,8})$/.exec(text ?? "")?.groups ?? {};
  return id === undefined || version === undefined ? null : { id, version: Number(version) };
}

/** Configurations that are too large for an address. Another page hands them over in the state of the router. */
export interface ComparisonStart {
  a: ComparisonConfig;
  b: ComparisonConfig;
}

/** The configurations in the state of the router; null if there are none. */
export function readComparisonStart(state: unknown): ComparisonStart | null {
  if (typeof state !== "object" || state === null || !("a" in state) || !("b" in state)) return null;
  return state as ComparisonStart;
}
