import { describe, expect, it } from "vitest";
import { ApiError, type Problem } from "@/api/problem";
import { emptyModel } from "@/components/editor/draft";
import { fixesOf } from "./fixes";
import { emptyPlay, newColumn } from "./play";

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
const play = { ...emptyPlay(), columns: [column] };

function fixed(error: ApiError, index = 0) {
  const fix = fixesOf(error, column)[index];
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
    expect(fixesOf(refused("parameter_refused", "body.model_config.seed"), column)).toEqual([]);
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

  it("removes tools and the response format", () => {
    expect(fixed(refused("parameter_refused", "body.tools")).play?.tools).toEqual([]);
    expect(fixed(refused("parameter_refused", "body.response_format")).play?.responseFormat).toBe("");
  });

  it("allows models without a price", () => {
    expect(fixed(refused("price_unknown")).play?.allowUnpriced).toBe(true);
    expect(fixesOf(refused("provider_error"), column)).toEqual([]);
    expect(fixesOf(refused("parameter_refused"), column)).toEqual([]);
  });
});
