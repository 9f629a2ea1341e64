import { describe, expect, it } from "vitest";
import type { ImportColumn, ImportMapping } from "@/api/types";
import { assign, isPlain, mappingByNames, rolesOf, setPlain, setType, targetText } from "./mapping";

const order = ["id", "question", "context", "answer", "topic"];
const mapping: ImportMapping = {
  shape: "columns",
  input: ["question"],
  reference_output: "answer",
  metadata: ["topic"],
  key: "id",
  split: null,
  tags: null,
  types: { id: "number", topic: "json" },
};

describe("rolesOf", () => {
  it.each([
    ["question", ["input"]],
    ["answer", ["reference_output"]],
    ["id", ["key"]],
    ["context", []],
  ])("%s: %j", (column, want) => expect(rolesOf(mapping, column)).toEqual(want));
  it("has every place of a column", () =>
    expect(rolesOf({ ...mapping, input: ["id", "question"] }, "id")).toEqual(["input", "key"]));
});

describe("assign", () => {
  it("adds a column in the order of the file", () =>
    expect(assign({ ...mapping, input: ["context"] }, order, "question", "input")).toMatchObject({
      input: ["question", "context"],
    }));
  it("makes an object of two columns", () =>
    expect(assign(mapping, order, "context", "reference_output").reference_output).toEqual([
      "context",
      "answer",
    ]));
  it("takes the column from where it was", () =>
    expect(assign(mapping, order, "topic", "input")).toMatchObject({
      input: ["question", "topic"],
      metadata: null,
    }));
  it("keeps an object of one column that is left", () =>
    expect(assign({ ...mapping, input: ["question", "context"] }, order, "context", null).input).toEqual([
      "question",
    ]));
  it("leaves a column where it is", () =>
    expect(assign(mapping, order, "answer", "reference_output")).toEqual(mapping));
  it("takes a reference output as it is", () =>
    expect(assign({ ...mapping, reference_output: null }, order, "answer", "reference_output")).toMatchObject(
      {
        reference_output: "answer",
      },
    ));
  it("moves the key, and leaves the column out that was it", () => {
    const changed = assign(mapping, order, "topic", "key");
    expect(changed).toMatchObject({ key: "topic", metadata: null });
    expect(rolesOf(changed, "id")).toEqual([]);
  });
  it("reads tags from text", () =>
    expect(assign(mapping, order, "topic", "tags")).toMatchObject({
      tags: "topic",
      types: { id: "number" },
    }));
  it("leaves out", () =>
    expect(assign(mapping, order, "answer", null)).toEqual({ ...mapping, reference_output: null }));
});

describe("setPlain", () => {
  it("turns one column into an object and back", () => {
    const plain = setPlain(mapping, "input", true);
    expect(plain.input).toBe("question");
    expect(isPlain(plain.input)).toBe(true);
    expect(setPlain(plain, "input", false).input).toEqual(["question"]);
  });
  it("leaves several columns and none", () => {
    const several = { ...mapping, input: ["question", "context"] };
    expect(setPlain(several, "input", true)).toBe(several);
    const none = { ...mapping, metadata: null };
    expect(setPlain(none, "metadata", true)).toBe(none);
  });
});

it("setType changes one column", () =>
  expect(setType(mapping, "topic", "text").types).toEqual({ id: "number", topic: "text" }));

it.each([
  [null, "nothing"],
  ["question", "the value of question"],
  [["question", "context"], "{question, context}"],
])("targetText %j: %s", (target, want) => expect(targetText(target)).toBe(want));

describe("mappingByNames", () => {
  const columns = (...names: string[]) => names.map((name) => ({ name }) as ImportColumn);
  it("uses the names", () =>
    expect(mappingByNames(columns("ID", "question", "context", "expected_output", "topic", "Tags"))).toEqual({
      shape: "columns",
      key: "ID",
      input: ["question", "context"],
      reference_output: "expected_output",
      metadata: ["topic"],
      split: null,
      tags: "Tags",
    }));
  it("takes a column named input as it is", () =>
    expect(mappingByNames(columns("input", "x"))).toMatchObject({ input: "input", metadata: ["x"] }));
  it("makes the input of unknown columns", () =>
    expect(mappingByNames(columns("a", "b"))).toMatchObject({ input: ["a", "b"], metadata: null }));
});
