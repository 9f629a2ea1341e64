import { expect, it } from "vitest";
import type { ComparisonSide } from "@/api/types";
import { configChanges } from "./configChanges";

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
