import { describe, expect, it } from "vitest";
import type { PromptVersion } from "@/api/types";
import {
  type Draft,
  describeTool,
  draftOf,
  emptyDraft,
  isSameContent,
  newId,
  newVariable,
  readDraft,
  readTools,
  readValue,
  type VariableType,
  valueText,
  variableRows,
} from "./draft";

const version: PromptVersion = {
  prompt_id: "p",
  name: "support/triage",
  version: 3,
  content_hash: "h",
  messages: [
    { role: "system", content: "You help {{who}}." },
    { type: "placeholder", name: "history" },
    {
      role: "user",
      name: "ann",
      content: [
        { type: "text", text: "{{q}}" },
        { type: "image_url", image_url: { url: "{{image}}", detail: "low" } },
        { type: "image_url", image_url: "https://example.com/a.png" },
        { type: "file", file: { file_id: "f" } },
      ],
    },
    { role: "assistant", content: null, tool_calls: [{ id: "c", type: "function" }] as never },
    { role: "tool", tool_call_id: "c", content: "found" },
  ],
  tools: [{ type: "function", function: { strict: true, name: "search", parameters: { type: "object" } } }],
  response_format: { type: "json_object" },
  model_config: {
    model: "gpt-4o-mini",
    temperature: 0,
    top_p: 0.5,
    max_output_tokens: 100,
    stop: ["END"],
    seed: 7,
    reasoning_effort: "low",
    tool_choice: { type: "function", function: { name: "search" } },
    extra: { user: "u" },
  },
  variables: {
    image: { type: "string", required: false, description: "An address" },
    q: { type: "string", required: true, example: "Why?" },
    who: { type: "any", required: true, default: "" },
  },
  template_format: "mustache",
  missing: "error",
  note: "First",
  created_by: { email: "a@example.com", key: null },
  created_at: "2026-11-01T00:00:00Z",
};

describe("draftOf and readDraft", () => {
  it("keep all content, with the order of members", () => {
    const { content, errors } = readDraft(draftOf(version));
    expect(errors).toEqual([]);
    const { messages, tools, response_format, model_config, variables, template_format, missing } = version;
    const want = { messages, tools, response_format, model_config, variables, template_format, missing };
    expect(content).toEqual(want);
    expect(JSON.stringify(content.tools)).toBe(JSON.stringify(tools));
  });

  it("leave out an unset model and empty fields", () => {
    expect(readDraft(emptyDraft()).content).toMatchObject({ model_config: {}, response_format: null });
  });

  it("name what is wrong", () => {
    const draft: Draft = {
      ...emptyDraft(),
      messages: [
        { id: "m1", kind: "placeholder", name: " " },
        { id: "m2", kind: "text", role: "user", text: "", more: "[]" },
        { id: "m3", kind: "parts", role: "user", parts: [{ id: "p1", kind: "json", json: "{" }], more: "" },
      ],
      tools: [
        { id: "t1", json: "{" },
        { id: "t2", json: "" },
      ],
      responseFormat: "1",
      model: { ...emptyDraft().model, temperature: "warm", seed: "1.5", extra: "x" },
      variables: [{ ...newVariable("n"), type: "integer", default: "1.5", example: "2" }],
    };
    expect(readDraft(draft).errors.map(({ at }) => at)).toEqual([
      "m1",
      "m2",
      "p1",
      "t1",
      "t2",
      "response_format",
      "temperature",
      "seed",
      "extra",
      "default n",
    ]);
  });
});

describe("variableRows", () => {
  const text = (value: string): Draft => ({
    ...emptyDraft(),
    messages: [{ id: newId(), kind: "text", role: "user", text: value, more: "" }],
  });

  it("has the variables of the texts in their order, and unused declarations last", () => {
    const draft = {
      ...text("{{b.c}} {{#a}}{{x}}{{/a}}"),
      variables: [
        { ...newVariable("old"), type: "string" as const },
        { ...newVariable("a"), type: "array" as const },
      ],
    };
    expect(variableRows(draft).map(({ name, type, isUsed }) => [name, type, isUsed])).toEqual([
      ["b", "any", true],
      ["a", "array", true],
      ["x", "any", true],
      ["old", "string", false],
    ]);
  });

  it("forgets a plain declaration whose variable left the text", () => {
    const draft = { ...text("no tags"), variables: [newVariable("gone")] };
    expect(variableRows(draft)).toEqual([]);
    expect(readDraft(draft).content.variables).toEqual({});
  });

  it("has none without templates", () => {
    expect(variableRows({ ...text("{{a}}"), format: "none" })).toEqual([]);
  });
});

describe("isSameContent", () => {
  it("ignores ids and the note", () => {
    expect(isSameContent(draftOf(version), { ...draftOf(version), note: "x" })).toBe(true);
  });
  it("sees an undeclared variable and its plain declaration as the same", () => {
    const draft = draftOf({ ...version, variables: {} });
    expect(isSameContent(draft, { ...draft, variables: [newVariable("who")] })).toBe(true);
  });
  it("sees a changed text", () => {
    const draft = draftOf(version);
    expect(isSameContent(draft, { ...draft, messages: draft.messages.slice(1) })).toBe(false);
  });
});

describe("values", () => {
  const types: [unknown, VariableType, string][] = [
    ["a", "string", "a"],
    ["", "string", '""'],
    ["12", "string", "12"],
    ["12", "any", '"12"'],
    ["a b", "any", "a b"],
    [12, "any", "12"],
    [null, "any", "null"],
    [{ a: 1 }, "object", '{"a":1}'],
    [[1], "array", "[1]"],
    [true, "boolean", "true"],
  ];
  it.each(types)("%j as %s", (value, type, text) => {
    expect(valueText(value, type)).toBe(text);
    expect(readValue(text, type)).toEqual({ value });
  });
  it.each<[string, VariableType]>([
    ["a", "number"],
    ["1.5", "integer"],
    ["[]", "object"],
    ['"a"', "boolean"],
  ])("refuses %s as %s", (text, type) => expect(readValue(text, type).error).toContain(type));
  it("nothing is no value", () => expect(readValue("", "string")).toEqual({}));
});

describe("readTools", () => {
  const search = { type: "function", function: { name: "search", parameters: {} } };
  it.each([
    [search, [search]],
    [
      [search, search],
      [search, search],
    ],
    [{ model: "m", tools: [search] }, [search]],
    [{ name: "search", parameters: {} }, [search]],
    [{ type: "function", name: "search", parameters: {} }, [search]],
    [{ type: "web_search" }, [{ type: "web_search" }]],
    [[], null],
    ["x", null],
  ])("%j", (value, want) => expect(readTools(JSON.stringify(value))).toEqual(want));
  it("refuses text", () => expect(readTools("search")).toBeNull());
});

describe("describeTool", () => {
  it.each([
    [
      '{"type":"function","function":{"name":"search","description":"d"}}',
      { name: "search", description: "d" },
    ],
    ['{"type":"web_search"}', { name: "web_search", description: "" }],
    ["{", { name: "", description: "" }],
  ])("%s", (json, want) => expect(describeTool(json)).toEqual(want));
});
