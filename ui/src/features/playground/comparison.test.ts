import { expect, it } from "vitest";
import { comparisonOf } from "./comparison";
import { emptyPlay, newColumn, type Play, sourceOf } from "./play";

function playOf(changed: Partial<Play>): Play {
  const model = { ...newColumn().model, model: "gpt-4o", temperature: "0.2" };
  return {
    ...emptyPlay(),
    messages: [{ id: "m", kind: "text", role: "user", text: "{{question}}", more: "" }],
    columns: [
      { ...newColumn(), providerId: "p1", model },
      { ...newColumn(), providerId: "p2", model: { ...model, model: "gpt-4o-mini" } },
    ],
    ...changed,
  };
}

const compare = (play: Play) =>
  comparisonOf(
    play,
    play.columns.map((column) => sourceOf(play, column, new Map())),
  );

it("makes configurations of the first two columns", () => {
  expect(compare(playOf({}))).toEqual({
    a: {
      provider_id: "p1",
      model_config: { model: "gpt-4o", temperature: 0.2 },
      tools: [],
      messages: [{ role: "user", content: "{{question}}" }],
      template_format: "mustache",
    },
    b: expect.objectContaining({
      provider_id: "p2",
      model_config: { model: "gpt-4o-mini", temperature: 0.2 },
    }),
  });
});

it("names the prompt instead of its messages", () => {
  const prompt = { id: "x", name: "triage", version: 3 };
  const { a } = compare(playOf({ prompt, tools: null, responseFormat: null })) ?? {};
  expect(a).toEqual({
    provider_id: "p1",
    model_config: { model: "gpt-4o", temperature: 0.2 },
    prompt,
  });
});

it("needs two columns", () => expect(compare(playOf({ columns: [newColumn()] }))).toBeNull());
