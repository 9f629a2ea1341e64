import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Missing, MissingVariablesError, render, TemplateSyntaxError } from "./template";

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
});
