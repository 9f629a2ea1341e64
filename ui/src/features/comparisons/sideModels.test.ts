import { expect, it } from "vitest";
import { sideModels } from "./sideModels";

it("sums the outputs of a model over its fingerprints", () => {
  const model = (of: "a" | "b", name: string, fingerprint: string | null, outputs: number) => ({
    side: of,
    model: name,
    fingerprint,
    outputs,
  });
  const models = [
    model("a", "m1", "f1", 3),
    model("a", "m2", null, 9),
    model("a", "m1", "f2", 4),
    model("b", "m1", "f1", 1),
  ];
  expect(sideModels(models, "a")).toEqual([
    { model: "m2", outputs: 9, fingerprints: [] },
    { model: "m1", outputs: 7, fingerprints: ["f1", "f2"] },
  ]);
});
