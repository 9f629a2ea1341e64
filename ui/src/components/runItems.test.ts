import { describe, expect, it } from "vitest";
import { formErrors, groupSkipped, type ItemForm, presetOf, presets, requestOf } from "./runItems";

const [whole, call] = [presets[0], presets[2]] as [ItemForm, ItemForm];

describe("requestOf", () => {
  it("takes the run as a whole", () => {
    expect(requestOf(whole, undefined)).toEqual({
      map: { input: "$.input", reference_output: "$.output", metadata: null },
    });
  });
  it("takes a span of each run", () => {
    expect(requestOf(call, undefined).span).toEqual({ kind: "llm", occurrence: "last" });
    const named: ItemForm = {
      ...call,
      source: { of: "span", kind: " ", name: " plan ", occurrence: "first" },
    };
    expect(requestOf(named, undefined).span).toEqual({ name: "plan", occurrence: "first" });
  });
  it("takes one given span, whatever the form says of spans", () => {
    expect(requestOf(call, "00000000000000c1").span).toEqual({ span_id: "00000000000000c1" });
  });
  it("leaves the reference output out if its path is empty", () => {
    const form = { ...whole, paths: { input: " $.name ", reference: " ", metadata: " $.metadata " } };
    expect(requestOf(form, undefined).map).toEqual({
      input: "$.name",
      reference_output: null,
      metadata: "$.metadata",
    });
  });
});

describe("presetOf", () => {
  it("finds each preset", () => {
    for (const preset of presets) expect(presetOf(preset, false)).toBe(preset);
  });
  it("finds none for other paths or another span", () => {
    expect(presetOf({ ...whole, paths: { ...whole.paths, metadata: "$.metadata" } }, false)).toBeUndefined();
    const other: ItemForm = { ...call, source: { of: "span", kind: "tool", name: "", occurrence: "last" } };
    expect(presetOf(other, false)).toBeUndefined();
  });
  it("asks only for the paths if the span is given", () => {
    expect(presetOf({ source: { of: "run" }, paths: call.paths }, true)).toBe(call);
  });
});

describe("formErrors", () => {
  it("needs a path for the input, and a kind or a name of the span", () => {
    expect(formErrors(whole)).toEqual({});
    expect(formErrors(call)).toEqual({});
    const empty: ItemForm = {
      source: { of: "span", kind: "", name: " ", occurrence: "last" },
      paths: { input: " ", reference: "", metadata: "" },
    };
    expect(Object.keys(formErrors(empty)).sort()).toEqual(["input", "span"]);
  });
});

describe("groupSkipped", () => {
  it("groups runs by reason, the most frequent first", () => {
    const skipped = [
      { run_id: "a", reason: "has not ended" },
      { run_id: "b", reason: "not found" },
      { run_id: "c", reason: "not found" },
    ];
    expect(groupSkipped(skipped)).toEqual([
      { reason: "not found", runIds: ["b", "c"] },
      { reason: "has not ended", runIds: ["a"] },
    ]);
  });
});
