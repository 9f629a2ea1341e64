import { expect, it } from "vitest";
import type { ComparisonSide } from "@/api/types";
import { configChanges } from "./configChanges";
import { estimatedCost, sideModels } from "./estimate";

const side = (changed: Partial<ComparisonSide>): ComparisonSide => ({
  name: "x",
  prompt: null,
  eval_run_id: null,
  provider: { id: "p1", name: "OpenAI" },
  model: "m1",
  model_config: { model: "m1", provider_id: "p1", temperature: 0 },
  variables_map: {},
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "{{question}}" },
  ],
  tools: [],
  template_format: "mustache",
  ...changed,
});

it("finds nothing between equal configurations, whatever they are called", () => {
  expect(configChanges(side({}), side({ name: "y" }))).toEqual([]);
});

it("finds what differs, member by member", () => {
  const b = side({
    provider: { id: "p2", name: "Azure" },
    model: "m2",
    model_config: { model: "m2", provider_id: "p2", temperature: 1, top_p: 0.5 },
    messages: [
      { role: "system", content: "Be kind." },
      { role: "user", content: "{{question}}" },
      { role: "assistant", content: "Yes" },
    ],
    variables_map: { question: "input.text" },
  });
  expect(configChanges(side({}), b)).toEqual([
    { path: "connection", change: "changed", before: "OpenAI", after: "Azure" },
    { path: "model", change: "changed", before: "m1", after: "m2" },
    { path: "messages[0] system", change: "changed", before: "Be brief.", after: "Be kind." },
    {
      path: "messages[2]",
      change: "added",
      before: undefined,
      after: { role: "assistant", content: "Yes" },
    },
    { path: "parameters.temperature", change: "changed", before: 0, after: 1 },
    { path: "parameters.top_p", change: "added", before: undefined, after: 0.5 },
    { path: "variables_map.question", change: "added", before: undefined, after: "input.text" },
  ]);
});

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

it.each([
  [0.1, 0.2, [], "$0.100 to $0.200"],
  [0.1, 0.1, [], "about $0.100"],
  [0.1, null, [], "at least $0.100, without a most: set a maximum of output tokens"],
  [null, null, ["m1", "m2"], "unknown cost: no price for m1 and m2"],
  [null, null, [], "unknown cost"],
])("estimates %s to %s, unpriced %j: %s", (low, high, unpriced, want) => {
  const estimate = {
    items: 1,
    calls: 2,
    judge_calls: 0,
    input_tokens: 10,
    cost_low_usd: low,
    cost_high_usd: high,
    basis: "tokens" as const,
    unpriced_models: unpriced,
    incompatible_items: 0,
    missing: [],
  };
  expect(estimatedCost(estimate)).toBe(want);
});
