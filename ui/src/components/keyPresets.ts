import type { Scope } from "@/api/types";

export interface KeyPreset {
  name: string;
  what: string;
  scopes: Scope[];
}

/** The usual sets of scopes. */
export const keyPresets: KeyPreset[] = [
  { name: "Ingest", what: "Records runs. For the application that is traced.", scopes: ["ingest:write"] },
  {
    name: "Agent",
    what: "Reads runs, makes replays. For a coding agent.",
    scopes: ["runs:read", "replays:read", "replays:write"],
  },
  {
    name: "CI",
    what: "Reads runs, works with datasets and evaluations.",
    scopes: ["runs:read", "datasets:read", "datasets:write", "evals:read", "evals:write"],
  },
  { name: "Admin", what: "Everything in the project, keys included.", scopes: ["admin"] },
];

/** Every scope, in the order of the API. */
export const allScopes: Scope[] = [
  "ingest:write",
  "runs:read",
  "runs:write",
  "datasets:read",
  "datasets:write",
  "prompts:read",
  "prompts:write",
  "evals:read",
  "evals:write",
  "replays:read",
  "replays:write",
  "admin",
];
