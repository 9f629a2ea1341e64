import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  type Message,
  type Missing,
  MissingVariablesError,
  render,
  renderVersion,
  scan,
  TemplateSyntaxError,
  ValuesError,
  type Version,
  variablesOf,
} from "./template";

interface Case {
  name: string;
  template: string;
  variables: Record<string, unknown>;
  missing?: Missing;
  text?: string;
  missing_variables?: string[];
  error?: { line?: number; column?: number; contains: string };
}

interface PromptCase {
  name: string;
  version: Version;
  variables: Record<string, unknown>;
  placeholders: Record<string, Message[]>;
  messages?: Message[];
  unused?: string[];
  error?: {
    missing_variables: string[];
    missing_placeholders: string[];
    wrong_types: { name: string; type: string }[];
  };
}

interface NamesCase {
  name: string;
  template: string;
  variables: string[];
}

const { cases, names, prompts }: { cases: Case[]; names: NamesCase[]; prompts: PromptCase[] } = JSON.parse(
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

describe("renderVersion", () => {
  it.each(prompts)("$name", (c) => {
    const before = JSON.stringify(c.version);
    const run = () => renderVersion(c.version, { variables: c.variables, placeholders: c.placeholders });
    if (!c.error) {
      expect(run()).toEqual({ messages: c.messages, unused: c.unused });
    } else {
      let caught: unknown;
      try {
        run();
      } catch (error) {
        caught = error;
      }
      expect(caught).toBeInstanceOf(ValuesError);
      expect(caught).toMatchObject({
        variables: c.error.missing_variables,
        placeholders: c.error.missing_placeholders,
        wrongTypes: c.error.wrong_types,
      });
    }
    expect(JSON.stringify(c.version)).toBe(before);
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

describe("variablesOf", () => {
  it.each(names)("$name", ({ template, variables }) => {
    expect(variablesOf({ messages: [{ role: "user", content: template }] })).toEqual(variables);
  });

  it("names each variable once, in order of appearance", () => {
    const messages = [
      { role: "system", content: "{{b}} {{a.x}} {{b}}" },
      { type: "placeholder", name: "history" },
      { role: "user", content: [{ type: "image_url", image_url: { url: "{{c}}" } }] },
    ];
    expect(variablesOf({ messages })).toEqual(["b", "a", "c"]);
    expect(variablesOf({ messages, template_format: "none" })).toEqual([]);
  });
});
