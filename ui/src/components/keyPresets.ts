import type { Scope } from "@/api/types";

export interface KeyPreset {
  name: string;
  description: string;
  scopes: Scope[];
}

/** The usual sets of scopes. */
export const keyPresets: KeyPreset[] = [
  {
    name: "Ingest",
    description: "Record runs. For the application that you trace.",
    scopes: ["ingest:write"],
  },
  {
    name: "Agent",
    description: "Read everything and create replays. For a coding agent.",
    scopes: ["runs:read", "datasets:read", "prompts:read", "evals:read", "replays:read", "replays:write"],
  },
  {
    name: "CI",
    description:
      "Record runs, read everything, change datasets and evaluations, call models. For a test pipeline.",
    scopes: [
      "ingest:write",
      "runs:read",
      "datasets:read",
      "prompts:read",
      "evals:read",
      "replays:read",
      "datasets:write",
      "evals:write",
      "completions:write",
    ],
  },
  { name: "Admin", description: "Full access to the project, including its keys.", scopes: ["admin"] },
];

/** All scopes, in the API's order. */
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
  "completions:write",
  "admin",
];
