import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readGrader } from "./graderDraft";
import type { Definition } from "./graderFields";
import {
  fieldsOf,
  innerGraders,
  problemsOf,
  readDefinition,
  readNumber,
  reshaped,
  shapeOf,
  withInner,
  withMember,
  withOneMore,
} from "./graderMembers";
import { GRADER_KINDS, newGrader, ONLINE_KINDS } from "./graders";
import { GRADER_TYPES, graderType } from "./graderTypes";

/** What the server's tests parse. */
const known: Record<
  string,
  { start?: Definition; full: Definition; words?: Record<string, string[]>; json_only?: string[] }
> = JSON.parse(
  readFileSync(new URL("../../../../controlplane/grader/testdata/definitions.json", import.meta.url), "utf8"),
);

describe.each(Object.entries(known))(
  "the form of %s",
  (type, { start, full, words = {}, json_only: hidden = [] }) => {
    const described = graderType({ type });
    if (!described) throw new Error(`no form for ${type}`);

    it("starts with what the server takes", () => {
      const kinds = GRADER_KINDS.filter(({ definition }) => definition.type === type);
      expect(kinds.length).toBeGreaterThan(0);
      const [kind] = kinds;
      if (!kind) return;
      const errors = {};
      const graders = readGrader(newGrader(kind, []), "body.graders[0]", errors);
      if (start) {
        expect(graders).toEqual([{ name: described.name, type, ...start }]);
        expect(errors).toEqual({});
      } else {
        expect(graders).toEqual([]);
        expect(Object.keys(errors).length).toBeGreaterThan(0);
      }
    });

    it("has a field for every member, and no other", () => {
      const fields = fieldsOf(described, { type, ...full });
      expect(fields.map(({ member }) => member).sort()).toEqual(Object.keys(full).sort());
    });

    it("gives what is filled in", () => {
      let definition: Definition = { type };
      // Fields that depend on others come after them.
      const fields = described.fields.toSorted(
        (a, b) => Number(a.when !== undefined) - Number(b.when !== undefined),
      );
      for (const field of fields) {
        const value = full[field.member];
        if (field.kind === "number") {
          expect(readNumber(String(value))).toBe(value);
        }
        if (field.kind === "value") {
          const shape = shapeOf(value, field.shapes);
          expect(field.shapes).toContain(shape);
          expect(reshaped(value, shape, field.fallback)).toEqual(value);
        }
        if (field.kind === "select") expect(field.options.map((option) => option.value)).toContain(value);
        definition = withMember(definition, field.member, value);
      }
      expect(definition).toEqual({ type, ...full });
      expect(problemsOf(definition, "body.graders[0]")).toEqual({});
      const [grader] = readGrader(
        { id: "1", name: "g", json: JSON.stringify(definition) },
        "body.graders[0]",
        {},
      );
      expect(grader).toEqual({ name: "g", type, ...full });
    });

    it("offers the words that the server knows", () => {
      const offered = described.fields.flatMap((field) =>
        field.kind === "select" ? [[field.member, field.options.map(({ value }) => value).sort()]] : [],
      );
      const sorted = Object.entries(words).map(([member, list]) => [
        member,
        list.filter((word) => !hidden.includes(word)).sort(),
      ]);
      expect(Object.fromEntries(offered)).toEqual(Object.fromEntries(sorted));
      for (const field of described.fields) {
        // The first word is the server's default.
        if (field.kind === "select" && field.fallback !== undefined)
          expect(field.fallback).toBe(words[field.member]?.[0]);
      }
    });
  },
);

it("knows no type that the server doesn't", () => {
  expect(GRADER_TYPES.map(({ type }) => type).sort()).toEqual(Object.keys(known).sort());
});

describe("members", () => {
  it("that lose their meaning go", () => {
    const check = { type: "json_check", operation: "eq", reference: { a: 1 } };
    expect(withMember(check, "operation", "valid")).toEqual({ type: "json_check", operation: "valid" });
    const use = { type: "tool_use", tools: ["a", "b"], min: 1, pass_threshold: 0.5 };
    expect(withMember(use, "tools", ["a"])).toEqual({ type: "tool_use", tools: ["a"], min: 1 });
  });

  it("keep their order, their digits, and others that no form has", () => {
    const definition = readDefinition(
      '{"type": "number", "absolute_tolerance": 0.12345678901234567890, "x": 1}',
    );
    expect(definition).not.toBeNull();
    const changed = withMember(definition ?? {}, "relative_tolerance", 0.1);
    expect(Object.keys(changed)).toEqual(["type", "absolute_tolerance", "x", "relative_tolerance"]);
    expect(String(changed.absolute_tolerance)).toBe("0.12345678901234567890");
  });

  it.each([
    ["{{item.a}}", "texts", ["{{item.a}}"]],
    [["a"], "text", "a"],
    [["a", "b"], "text", '["a","b"]'],
    [[], "text", undefined],
    [undefined, "texts", []],
    [undefined, "json", "{{item.x}}"],
    [{ a: 1 }, "text", '{"a":1}'],
    [7, "texts", ["7"]],
  ] as const)("%j as %s are %j", (value, shape, want) => {
    expect(reshaped(value, shape, "{{item.x}}")).toEqual(want);
  });

  it.each([
    [{ type: "regex" }, "body.pattern"],
    [{ type: "string_check" }, "body.operation"],
    [{ type: "length" }, "body.min"],
    [{ type: "length", min: 3, max: 2 }, "body.max"],
    [{ type: "tool_loop", max_repeats: 0 }, "body.max_repeats"],
    [{ type: "tool_loop", max_repeats: 1.5 }, "body.max_repeats"],
    [{ type: "tool_order", order: ["a"] }, "body.order"],
    [{ type: "finish_reason" }, "body.allowed"],
    [{ type: "tool_loop", pass_threshold: 2 }, "body.pass_threshold"],
    [{ type: "budget" }, "body"],
    [{ type: "json_schema" }, "body.schema"],
    [{ type: "expression", expression: "" }, "body.expression"],
    [{ type: "multi", graders: [] }, "body.graders"],
    [{ type: "multi", graders: { a: { type: "regex" } } }, "body.graders.a.pattern"],
    [{ type: "multi", graders: [{ name: "a", type: "regex" }] }, "body.graders[0].pattern"],
  ])("%j are wrong at %s", (definition, location) => {
    expect(Object.keys(problemsOf(definition, "body"))).toEqual([location]);
  });

  it("that are no JSON yet are said, wherever they are", () => {
    const errors = {};
    const draft = {
      id: "1",
      name: "g",
      json: JSON.stringify({ type: "json_schema", schema: {} }),
      broken: { schema: "{" },
    };
    expect(readGrader(draft, "body.graders[2]", errors)).toEqual([]);
    expect(errors).toEqual({ "body.graders[2].schema": "This isn't valid JSON." });
  });
});

describe("graders inside another", () => {
  const a = { name: "a", type: "refusal" };
  const b = { name: "b", type: "refusal" };

  it("are in a list", () => {
    const [first, second] = innerGraders([a, b]);
    expect([first?.at, second?.at]).toEqual(["graders[0]", "graders[1]"]);
    if (!first || !second) throw new Error("two graders");
    expect(withInner([a, b], second, { ...b, expected: true })).toEqual([a, { ...b, expected: true }]);
    expect(withInner([a, b], first, null)).toEqual([b]);
    expect(withOneMore([a], b)).toEqual([a, b]);
  });

  it("are in an object by name", () => {
    const graders = { x: a, y: b };
    const [first] = innerGraders(graders);
    if (!first) throw new Error("a grader");
    expect(first).toEqual({ at: "graders.x", key: "x", definition: a });
    expect(withInner(graders, first, { type: "tool_loop" })).toEqual({ x: { type: "tool_loop" }, y: b });
    expect(withInner(graders, first, null)).toEqual({ y: b });
    expect(withOneMore(graders, { name: "z", type: "refusal" })).toEqual({
      ...graders,
      z: { name: "z", type: "refusal" },
    });
  });

  it("are one alone", () => {
    const [only] = innerGraders(a);
    if (!only) throw new Error("a grader");
    expect(only).toEqual({ at: "graders", definition: a });
    expect(withInner(a, only, b)).toEqual(b);
    expect(withOneMore(a, b)).toEqual([a, b]);
  });
});

it("names graders apart", () => {
  const [kind] = GRADER_KINDS;
  if (!kind) throw new Error("no kinds");
  const first = newGrader(kind, []);
  expect(newGrader(kind, [first]).name).toBe("correct 2");
});

it("offers what needs no reference output for runs as they come", () => {
  const labels = ONLINE_KINDS.map(({ label }) => label);
  expect(labels).toContain("Contains a text");
  expect(labels).toContain("Is JSON");
  expect(labels).toContain("Several graders as one");
  for (const label of [
    "Equals the reference output",
    "Similar JSON",
    "Same number",
    "Chosen answer",
    "Few steps",
    "Same tool calls as the reference",
  ])
    expect(labels).not.toContain(label);
  expect(JSON.stringify(ONLINE_KINDS)).not.toContain("reference_output");
  for (const kind of ONLINE_KINDS)
    expect(problemsOf(kind.definition, "")).toEqual(
      kind.definition.type === "tool_order" ? { ".order": expect.any(String) } : {},
    );
});
