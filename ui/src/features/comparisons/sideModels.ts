import type { EvaluationModel } from "@/api/types";

/** A model that answered for a side. */
export interface SideModels {
  model: string;
  outputs: number;
  fingerprints: string[];
}

/** The models of a side with their fingerprints, the one with the most outputs first. */
export function sideModels(models: readonly EvaluationModel[], side: "a" | "b"): SideModels[] {
  const byName = new Map<string, SideModels>();
  for (const { side: of, model, outputs, fingerprint } of models) {
    if (of !== side) continue;
    const known = byName.get(model) ?? { model, outputs: 0, fingerprints: [] };
    known.outputs += outputs;
    if (fingerprint !== null) known.fingerprints.push(fingerprint);
    byName.set(model, known);
  }
  return [...byName.values()].sort((a, b) => b.outputs - a.outputs);
}
