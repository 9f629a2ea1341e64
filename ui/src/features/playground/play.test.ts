import { describe, expect, it } from "vitest";
import type { PlaygroundOpened, PromptVersion } from "@/api/types";
import { emptyModel } from "@/components/editor/draft";
import { playOf, scenarioOf, withOwnMessages, withPrompt, withScenario } from "./opened";
import { emptyPlay, inputsOf, newColumn, type Play, prepare, sourceOf, toolNames, versionKey } from "./play";

const PROJECT = "p";
const none = new Map<string, PromptVersion>();
const search = { type: "function", function: { name: "search", parameters: {} } };

function playWith(changed: Partial<Play>): Play {
  const column = { ...newColumn(), providerId: "prov", model: { ...emptyModel, model: "gpt" } };
  return {
    ...emptyPlay(),
    messages: [{ id: "m", kind: "text", role: "user", text: "Hi {{name}}", more: "" }],
    texts: { name: "Ada" },
    columns: [column],
    ...changed,
  };
}

function only(play: Play) {
  const [column] = play.columns;
  if (!column) throw new Error("no column");
  return column;
}

const version = {
  prompt_id: "q",
  name: "triage",
  version: 3,
  messages: [{ role: "user", content: "Route {{ticket}}" }],
  tools: [search],
  response_format: { type: "json_object" },
  model_config: { model: "gpt-p", temperature: 0.5, provider_id: "of prompt" },
  variables: { ticket: { type: "any", required: true, example: "broken" } },
  template_format: "mustache",
  missing: "error",
} as unknown as PromptVersion;
const choice = { id: "q", name: "triage", version: 3 };
const versions = new Map([[versionKey(choice), version]]);

describe("prepare", () => {
  it("sends messages as templates, with the values", () => {
    const play = playWith({});
    const { draft, problems } = prepare(PROJECT, play, only(play), none);
    expect(problems).toEqual([]);
    expect(draft).toEqual({
      project_id: PROJECT,
      provider_id: "prov",
      messages: [{ role: "user", content: "Hi {{name}}" }],
      template_format: "mustache",
      variables: { name: "Ada" },
      tools: [],
      model_config: { model: "gpt" },
      max_rounds: 5,
      allow_unpriced: false,
    });
  });

  it("says what is missing", () => {
    const play = playWith({ texts: {}, maxRounds: "0", columns: [newColumn()] });
    const { draft, problems } = prepare(PROJECT, play, only(play), none);
    expect(draft).toBeNull();
    expect(problems).toEqual([
      "Choose a connection.",
      "Choose a model.",
      "No value for name.",
      "Rounds must be a whole number from 1 to 50.",
    ]);
  });

  it("inserts what follows without reading it as a template", () => {
    const play = playWith({});
    const following = [{ role: "assistant", content: "{{not a tag" }];
    const { draft } = prepare(PROJECT, play, only(play), none, { following });
    const [, placeholder] = draft?.messages ?? [];
    expect(placeholder?.type).toBe("placeholder");
    expect(draft?.placeholders).toEqual({ [placeholder?.name ?? ""]: following });
  });

  it("names a version, and what replaces its parts", () => {
    const play = playWith({ prompt: choice, tools: null, responseFormat: null, texts: { ticket: "a" } });
    const { draft } = prepare(PROJECT, play, only(play), versions);
    expect(draft).toMatchObject({ prompt: { id: "q", version: 3 }, variables: { ticket: "a" } });
    expect(draft).not.toHaveProperty("messages");
    expect(draft).not.toHaveProperty("tools");
    expect(draft?.model_config).toEqual({ model: "gpt" });
    const own = { ...play, tools: [], responseFormat: "" };
    const replaced = prepare(PROJECT, own, only(own), versions).draft;
    expect(replaced).toMatchObject({ tools: [], response_format: { type: "text" } });
  });

  it("waits for a version", () => {
    const play = playWith({ prompt: choice });
    expect(prepare(PROJECT, play, only(play), none).problems).toEqual(["The prompt isn't loaded."]);
  });

  it("answers tools as they are set, and leaves out those that stop", () => {
    const tools = ["a", "b", "c"].map((name) => ({
      id: name,
      json: JSON.stringify({ type: "function", function: { name } }),
    }));
    const play = playWith({
      tools,
      toolSettings: {
        a: { policy: "fixed", content: "1", recorded: [] },
        b: { policy: "recorded", content: "", recorded: [{ content: "2" }] },
        c: { policy: "stop", content: "3", recorded: [] },
      },
    });
    expect(prepare(PROJECT, play, only(play), none).draft?.tool_answers).toEqual({
      a: { content: "1" },
      b: { recorded: [{ content: "2" }] },
    });
  });

  it("takes values of an item instead of the typed ones", () => {
    const play = playWith({});
    const { draft } = prepare(PROJECT, play, only(play), none, { given: { name: "Bob", other: 1 } });
    expect(draft?.variables).toEqual({ name: "Bob" });
    expect(prepare(PROJECT, play, only(play), none, { given: {} }).problems).toEqual(["No value for name."]);
  });
});

it("merges the inputs of columns with different prompts", () => {
  const play = playWith({});
  const other = { ...only(play), prompt: choice };
  const drafts = [only(play), other].map((column) => sourceOf(play, column, versions));
  const found = drafts.filter((draft) => draft !== undefined);
  expect(inputsOf(found).variables.map(({ name }) => name)).toEqual(["name", "ticket"]);
  // Own tools replace those of all prompts.
  expect(toolNames(found)).toEqual([]);
});

describe("opened", () => {
  it("restores a call, and sends its texts as they are", () => {
    const opened = {
      messages: [{ role: "user", content: "Use {{braces}}" }],
      tools: [search],
      response_format: null,
      model_config: { model: "gpt-4o", temperature: 0 },
      provider_id: "prov",
      tool_answers: { search: { recorded: [{ arguments: "{}", content: "found" }] } },
    } as unknown as PlaygroundOpened;
    const play = playOf(opened);
    const { draft } = prepare(PROJECT, play, only(play), none);
    expect(draft).toMatchObject({
      messages: opened.messages,
      template_format: "none",
      tools: [search],
      model_config: { model: "gpt-4o", temperature: 0 },
      tool_answers: opened.tool_answers,
    });
  });

  it("loads what was saved as a scenario", () => {
    const play = playWith({
      tools: [{ id: "t", json: JSON.stringify(search) }],
      toolSettings: { search: { policy: "fixed", content: "1", recorded: [] } },
    });
    const source = sourceOf(play, only(play), none);
    if (!source) throw new Error("no source");
    const content = scenarioOf(play, source, { name: "Ada", count: 3 });
    const loaded = withScenario(playWith({ texts: {} }), { id: "s", name: "S" }, content);
    expect(loaded.texts).toEqual({ name: "Ada", count: "3" });
    expect(loaded.scenario).toEqual({ id: "s", name: "S" });
    const { draft } = prepare(PROJECT, loaded, only(loaded), none);
    expect(draft).toMatchObject({ tools: [search], tool_answers: { search: { content: "1" } } });
  });

  it("takes a prompt, and edits its version here", () => {
    const play = playWith({ columns: [newColumn()] });
    const withIt = withPrompt(play, choice, version);
    expect(only(withIt).providerId).toBe("of prompt");
    const own = withOwnMessages(withIt, version);
    expect(own.prompt).toBeNull();
    expect(own.texts).toMatchObject({ ticket: "broken" });
    expect(prepare(PROJECT, own, only(own), none).draft).toMatchObject({
      model_config: { model: "gpt-p", temperature: 0.5 },
      response_format: { type: "json_object" },
      tools: [search],
    });
  });
});
