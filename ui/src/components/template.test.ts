import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Missing, MissingVariablesError, render, scan, TemplateSyntaxError } from "./template";

interface Case {
  name: string;
  template: string;
  variables: Record<string, unknown>;
  missing?: Missing;
  text?: string;
  missing_variables?: string[];
  error?: { line?: number; column?: number; contains: string };
}

const { cases }: { cases: Case[] } = JSON.parse(
  readFileSync(new URL("../../../test/conformance/templates.json", import.meta.url), "utf8"),
);

describe("render", () => {
  it.each(cases)("$name", (c) => {
    const run = () => render(c.template, c.variables, c.missing);
    if (c.text !== undefined) {
      expect(run()).toBe(c.text);
      return;
    }
    let caught: unknown;
    try {
      run();
    } catch (error) {
      caught = error;
    }
    if (c.missing_variables) {
      expect(caught).toBeInstanceOf(MissingVariablesError);
      expect((caught as MissingVariablesError).names).toEqual(c.missing_variables);
      return;
    }
    expect(String(caught)).toContain(c.error?.contains);
    if (c.error?.line) {
      expect(caught).toBeInstanceOf(TemplateSyntaxError);
      expect(caught).toMatchObject({ line: c.error.line, column: c.error.column });
    }
  });
  // Reading the line again for each tag takes minutes.
  it("reads a very long line of tags once", () => {
    expect(render("{{!c}}".repeat(400_000), {})).toBe("");
  });
});

describe("scan", () => {
  it("finds the tags of a text", () => {
    expect(scan("a {{b.c}} {{! d }}{{#e}}{{.}}{{/e}}").tags).toEqual([
      { from: 2, to: 9, variable: "b" },
      { from: 10, to: 18, variable: null },
      { from: 18, to: 24, variable: "e" },
      { from: 24, to: 29, variable: null },
      { from: 29, to: 35, variable: "e" },
    ]);
  });
  it("stops at the first error", () => {
    const { tags, error } = scan("é😀{{a}}\n😀{{b c}}{{d}}");
    expect(tags).toEqual([{ from: 3, to: 8, variable: "a" }]);
    expect(error).toMatchObject({ line: 2, column: 2, at: 11 });
  });
});
