import { describe, expect, it } from "vitest";
import { ApiError, type Problem } from "@/api/problem";
import type { PromptVersion } from "@/api/types";
import { emptyModel } from "@/components/editor/draft";
import { fixesOf } from "./fixes";
import { emptyPlay, newColumn, type Play, prepare, sourceOf, versionKey } from "./play";

function refused(code: string, location?: string, message = "Refused."): ApiError {
  const problem = {
    title: "Refused",
    status: 422,
    code,
    ...(location ? { errors: [{ location, message }] } : {}),
  } as unknown as Problem;
  return new ApiError(422, problem, null, "Refused");
}

const column = {
  ...newColumn(),
  model: { ...emptyModel, model: "gpt", temperature: "0", stop: ["x"], extra: '{"max_tokens": 5, "n": 2}' },
};
const play: Play = {
  ...emptyPlay(),
  tools: [{ id: "t", json: '{"type": "function", "function": {"name": "search"}}' }],
  responseFormat: '{"type": "json_object"}',
  maxCost: "1",
  columns: [column],
};

function fixes(error: ApiError, of: Play = play) {
  const [first] = of.columns;
  if (!first) throw new Error("no column");
  return fixesOf(error, of, first, sourceOf(of, first, new Map()));
}

function fixed(error: ApiError, index = 0) {
  const fix = fixes(error)[index];
  return { label: fix?.label, model: fix?.change(play).columns[0]?.model, play: fix?.change(play) };
}

describe("fixesOf", () => {
  it("removes a parameter", () => {
    const fix = fixed(refused("parameter_refused", "body.model_config.temperature"));
    expect(fix.label).toBe("Remove temperature");
    expect(fix.model?.temperature).toBe("");
    expect(fixed(refused("parameter_refused", "body.model_config.stop")).model?.stop).toEqual([]);
  });

  it("has nothing for a parameter that isn't set", () => {
    expect(fixes(refused("parameter_refused", "body.model_config.seed"))).toEqual([]);
    const bare = { ...play, tools: [], responseFormat: "" };
    expect(fixes(refused("parameter_refused", "body.tools"), bare)).toEqual([]);
    expect(fixes(refused("parameter_refused", "body.response_format"), bare)).toEqual([]);
  });

  it("renames and removes other parameters", () => {
    const error = refused(
      "parameter_refused",
      "body.model_config.max_tokens",
      "This model takes max_completion_tokens, not max_tokens.",
    );
    expect(fixed(error).label).toBe("Rename max_tokens to max_completion_tokens");
    expect(JSON.parse(fixed(error).model?.extra ?? "")).toEqual({ n: 2, max_completion_tokens: 5 });
    expect(JSON.parse(fixed(error, 1).model?.extra ?? "")).toEqual({ n: 2 });
  });

  it("says that it changes all columns", () => {
    const two = { ...play, columns: [column, { ...column, id: "other" }] };
    expect(fixes(refused("parameter_refused", "body.tools"), two)[0]?.label).toBe(
      "Remove tools from all columns",
    );
  });

  it("removes tools and the response format", () => {
    expect(fixed(refused("parameter_refused", "body.tools")).play?.tools).toEqual([]);
    expect(fixed(refused("parameter_refused", "body.response_format")).play?.responseFormat).toBe("");
  });

  it("allows models without a price", () => {
    expect(fixed(refused("price_unknown")).play?.allowUnpriced).toBe(true);
    // The limit of the connection is not one of the playground.
    expect(fixes(refused("price_unknown"), { ...play, maxCost: "" })).toEqual([]);
    expect(fixes(refused("price_unknown"), { ...play, allowUnpriced: true })).toEqual([]);
    expect(fixes(refused("provider_error"))).toEqual([]);
    expect(fixes(refused("parameter_refused"))).toEqual([]);
  });
});

describe("fixesOf a column with a prompt", () => {
  const choice = { id: "q", name: "triage", version: 3 };
  const version = {
    prompt_id: "q",
    version: 3,
    messages: [{ role: "user", content: "Hi" }],
    tools: [],
    response_format: null,
    model_config: { model: "gpt", temperature: 0.5, stop: ["x"], extra: { user: "a", n: 2 } },
    variables: {},
    template_format: "mustache",
    missing: "error",
  } as unknown as PromptVersion;
  const versions = new Map([[versionKey(choice), version]]);
  const start = (model = emptyModel): Play => ({
    ...emptyPlay(),
    prompt: choice,
    tools: null,
    responseFormat: null,
    columns: [{ ...newColumn(), providerId: "prov", model }],
  });
  const config = (from: Play) => {
    const [first] = from.columns;
    return first && prepare("p", from, first, versions).draft?.model_config;
  };
  const withFix = (from: Play, parameter: string) => {
    const [first] = from.columns;
    if (!first) throw new Error("no column");
    const error = refused("parameter_refused", `body.model_config.${parameter}`);
    const [fix] = fixesOf(error, from, first, sourceOf(from, first, versions));
    return fix ? fix.change(from) : null;
  };

  it("removes a parameter of the prompt", () => {
    const changed = withFix(start(), "temperature");
    expect(changed && config(changed)).toEqual({ temperature: null });
    expect(changed && withFix(changed, "temperature")).toBeNull();
    const both = changed && withFix(changed, "stop");
    expect(both && config(both)).toEqual({ temperature: null, stop: null });
  });

  it("removes the column's, and doesn't send the prompt's instead", () => {
    const changed = withFix(start({ ...emptyModel, temperature: "1" }), "temperature");
    expect(changed && config(changed)).toEqual({ temperature: null });
  });

  it("keeps the prompt's other parameters", () => {
    const changed = withFix(start(), "user");
    expect(changed && config(changed)).toEqual({ extra: { n: 2 } });
    const none = changed && withFix(changed, "n");
    expect(none && config(none)).toEqual({ extra: null });
  });

  it("sends what is typed later", () => {
    const changed = withFix(start(), "temperature");
    const [first] = changed?.columns ?? [];
    if (!changed || !first) throw new Error("no column");
    const typed = { ...changed, columns: [{ ...first, model: { ...first.model, temperature: "0.2" } }] };
    expect(config(typed)).toEqual({ temperature: 0.2 });
  });
});
