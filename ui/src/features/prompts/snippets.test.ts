import { describe, expect, it } from "vitest";
import { curlSnippet, pythonSnippet } from "./snippets";

describe("pythonSnippet", () => {
  it("gives the variables as keywords", () => {
    const code = pythonSnippet(
      "support/triage",
      { alias: "production" },
      { variables: ["product", "ticket"], placeholders: ["history"] },
    );
    expect(code).toContain('looptrace.prompt("support/triage", alias="production")');
    expect(code).toContain('prompt.render(product="…", ticket="…", placeholders={"history": []})');
  });
  it("gives names that are no identifiers in a mapping", () => {
    const code = pythonSnippet("a", { version: 3 }, { variables: ["user-id", "b"], placeholders: [] });
    expect(code).toContain('looptrace.prompt("a", version=3)');
    expect(code).toContain('prompt.render({"user-id": "…", "b": "…"})');
  });
  it("gives nothing without variables", () => {
    expect(pythonSnippet("a", { version: 1 }, { variables: [], placeholders: [] })).toContain("render() as");
  });
});

describe("curlSnippet", () => {
  it("encodes the name", () => {
    expect(curlSnippet("https://trace.example", "support/triage", { alias: "production" })).toContain(
      '"https://trace.example/v1/prompts/resolve?name=support%2Ftriage&alias=production"',
    );
  });
});
