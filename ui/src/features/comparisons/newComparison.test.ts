import { describe, expect, it } from "vitest";
import type { Comparison, Dataset, PromptVersion } from "@/api/types";
import {
  type ConfigurationDraft,
  configurationDraft,
  emptyConfiguration,
  namesOf,
  readyConfiguration,
  withOwnMessages,
} from "@/components/configuration/configurationDraft";
import { emptyModel, newId } from "@/components/editor/draft";
import { shownEarly } from "@/components/formErrors";
import { GRADER_KINDS, newGrader } from "@/components/graders/graders";
import { emptyComparison, likeComparison, type NewComparison, requestOf } from "./newComparison";

const dataset = { id: "d1", revision: 4, item_count: 10 } as Dataset;
const providers = [{ id: "p1" }, { id: "p2" }];
const version = {
  prompt_id: "x",
  name: "triage",
  version: 3,
  messages: [{ role: "user", content: "{{question}} {{language}}" }],
  tools: [],
  response_format: null,
  model_config: { provider_id: "p2", model: "gpt-4o", temperature: 0.5 },
  variables: {},
  template_format: "mustache",
  missing: "error",
} as unknown as PromptVersion;

function own(model: string): ConfigurationDraft {
  const side = emptyConfiguration();
  return {
    ...side,
    content: {
      ...side.content,
      messages: [{ id: newId(), kind: "text", role: "user", text: "{{question}}", more: "" }],
      model: { ...emptyModel, providerId: "p1", model },
    },
  };
}

function request(changed: Partial<NewComparison>, versions: { a?: PromptVersion; b?: PromptVersion } = {}) {
  const draft = { ...emptyComparison(), dataset, a: own("m1"), b: own("m2"), ...changed };
  const ready = (which: "a" | "b") =>
    readyConfiguration(draft[which], versions[which] ? [versions[which]] : [], providers);
  return requestOf("project", draft, { a: ready("a"), b: ready("b") });
}

describe("the request", () => {
  it("has what was chosen", () => {
    const [kind] = GRADER_KINDS;
    const { body, errors } = request({
      name: " Mine ",
      split: " test ",
      graders: kind ? [newGrader(kind, [])] : [],
      margin: "5",
      maxCost: "1.5",
      skipIncompatible: true,
    });
    expect(errors).toEqual({});
    expect(body).toEqual({
      project_id: "project",
      name: "Mine",
      dataset_id: "d1",
      split: "test",
      a: {
        messages: [{ role: "user", content: "{{question}}" }],
        template_format: "mustache",
        provider_id: "p1",
        model_config: { model: "m1" },
        variables_map: {},
      },
      b: expect.objectContaining({ model_config: { model: "m2" } }),
      repeats: 1,
      graders: [{ name: "correct", type: "string_check", operation: "eq", ignore_case: true }],
      equivalence_margin: 0.05,
      stop_early: false,
      on_incompatible: "skip",
      max_cost_usd: 1.5,
      allow_unpriced: false,
    });
  });

  it("names a prompt, its connection, and only paths that it uses", () => {
    const side: ConfigurationDraft = {
      ...emptyConfiguration(),
      prompt: { id: "x", name: "triage", version: 3 },
      paths: { language: "metadata.lang", unused: "input.x", question: "" },
    };
    const { body } = request({ b: side }, { b: version });
    expect(body?.b).toEqual({
      prompt: { id: "x", version: 3 },
      provider_id: "p2",
      model_config: {},
      variables_map: { language: "metadata.lang" },
    });
  });

  it.each([
    [{ dataset: null }, "body.dataset_id"],
    [{ a: { ...own(""), prompt: null } }, "body.a.model_config.model"],
    [{ a: { ...emptyConfiguration() } }, "body.a.provider_id"],
    [{ repeats: "0" }, "body.repeats"],
    [{ repeats: "1.5" }, "body.repeats"],
    [{ margin: "-1" }, "body.equivalence_margin"],
    [{ maxCost: "0" }, "body.max_cost_usd"],
    [{ stopEarly: true }, "body.stop_early"],
    [{ graders: [{ id: "1", name: "x", json: "{" }] }, "body.graders[0]"],
    [{ graders: [{ id: "1", name: "x", json: "{}" }] }, "body.graders[0]"],
    [{ graders: [{ id: "1", name: "", json: '{"type": "regex"}' }] }, "body.graders[0].name"],
  ] as [Partial<NewComparison>, string][])("%j is wrong at %s", (changed, location) => {
    const { body, errors } = request(changed);
    expect(body).toBeNull();
    expect(Object.keys(errors)).toContain(location);
  });
});

it("keeps a configuration that another page hands over", () => {
  const config = {
    provider_id: "p1",
    messages: [{ role: "user", content: "Hello" }],
    template_format: "none" as const,
    model_config: { model: "m", temperature: 0.1 },
    variables_map: { a: "input.b" },
  };
  const side = configurationDraft(config);
  const { body } = request({ a: side });
  expect(body?.a).toEqual({ ...config, variables_map: {} });
  expect(side.paths).toEqual({ a: "input.b" });
});

it("starts like another comparison", () => {
  const side = {
    name: "x",
    prompt: { id: "x", name: "triage", version: 3 },
    provider: { id: "p1", name: "P" },
    model: "gpt-4o",
    model_config: { model: "gpt-4o" },
    variables_map: {},
    messages: [],
    tools: [],
  };
  const comparison = {
    dataset: { revision: 2, split: "test" },
    a: side,
    b: side,
    repeats: 3,
    graders: [{ name: "correct", type: "string_check", operation: "eq" }],
    panels: [],
    primary_metric: "correct",
    equivalence_margin: 0.07,
    stop_early: true,
    on_incompatible: "skip",
    max_cost_usd: null,
    allow_unpriced: true,
  } as unknown as Comparison;
  const draft = likeComparison(comparison, dataset);
  expect(draft).toMatchObject({ revision: "2", split: "test", repeats: "3", margin: "7", maxCost: "" });
  expect(draft.a.prompt).toEqual({ id: "x", name: "triage", version: 3 });
  const { body } = request({ ...draft }, { a: version, b: version });
  expect(body).toMatchObject({ revision: 2, repeats: 3, stop_early: true, primary_metric: "correct" });
});

it("edits the messages of a prompt with the parameters of both", () => {
  const side = withOwnMessages({ ...own("mine"), prompt: { id: "x", name: "triage", version: 3 } }, version);
  expect(side.prompt).toBeNull();
  expect(side.content.model).toMatchObject({ model: "mine", temperature: "0.5", providerId: "p1" });
  expect(namesOf(side.content)).toEqual(["question", "language"]);
});

it("says nothing early about a form that nobody touched", () => {
  const draft = emptyComparison();
  const side = (which: "a" | "b") => ({ draft: draft[which], version: undefined, providerId: "" });
  const { body, errors } = requestOf("project", draft, { a: side("a"), b: side("b") });
  expect(body).toBeNull();
  expect(shownEarly(errors)).toEqual({});
});
