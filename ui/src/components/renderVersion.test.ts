import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Message, renderVersion, ValuesError, type Version, variablesOf } from "./renderVersion";

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

const { names, prompts }: { names: NamesCase[]; prompts: PromptCase[] } = JSON.parse(
  readFileSync(new URL("../../../test/conformance/templates.json", import.meta.url), "utf8"),
);

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
