import { describe, expect, it } from "vitest";
import type { PanelRead, Provider, ReadyMadeJudge } from "@/api/types";
import type { FormErrors } from "@/components/formErrors";
import { familyHint, familyOf } from "./families";
import {
  likePanels,
  newJudge,
  newPanel,
  type PanelDraft,
  promptVariables,
  readyMadePanel,
  withoutJudge,
} from "./panelDraft";
import { readPanels } from "./readPanels";
import { samplesOfRuns } from "./samples";

const provider = { id: "p1" } as Provider;
const correctness: ReadyMadeJudge = {
  id: "correctness",
  version: 1,
  title: "Correctness",
  description: "",
  rubric: "As correct as the reference?",
  scale: { type: "ordinal", min: 1, max: 5 },
  pass: 4,
  needs: ["reference_output"],
};

function judge(model: string, changed: Partial<ReturnType<typeof newJudge>> = {}) {
  const one = newJudge(provider);
  return { ...one, model: { ...one.model, model }, ...changed };
}

function panel(changed: Partial<PanelDraft> = {}): PanelDraft {
  return { ...readyMadePanel(correctness, [provider], []), judges: [judge("gpt-4o-mini")], ...changed };
}

function read(panels: PanelDraft[], graders: string[] = []) {
  const errors: FormErrors = {};
  return { panels: readPanels(panels, graders, errors), errors };
}

describe("the request of a panel", () => {
  it("names a ready-made judge while nothing of it is changed", () => {
    const { panels, errors } = read([panel()]);
    expect(errors).toEqual({});
    expect(panels).toEqual([
      {
        name: "correctness",
        kind: "score",
        repeats: 1,
        judges: [
          {
            name: "gpt-4o-mini",
            provider_id: "p1",
            model_config: { model: "gpt-4o-mini" },
            ready_made: "correctness",
          },
        ],
      },
    ]);
  });

  it("has the rubric and the scale once one of them is changed", () => {
    const rubric = read([panel({ criteria: { readyMade: correctness, rubric: "Other", prompt: null } })]);
    expect(rubric.panels[0]?.judges[0]).toMatchObject({
      rubric: "Other",
      scale: { type: "ordinal", min: 1, max: 5 },
      pass: 4,
    });
    const scale = read([panel({ scale: { ...panel().scale, passFrom: "5" } })]);
    expect(scale.panels[0]?.judges[0]).toMatchObject({ rubric: correctness.rubric, pass: 5 });
    expect(scale.panels[0]?.judges[0]).not.toHaveProperty("ready_made");
  });

  it("has what a judge has for itself", () => {
    const own = { readyMade: null, rubric: "Mine", prompt: null };
    const { panels } = read([
      panel({
        aggregate: "minimum",
        repeats: "2",
        judges: [judge("gpt-4o-mini", { repeats: "3" }), judge("claude-haiku-4-5", { own })],
        escalation: judge("claude-opus-4-5"),
      }),
    ]);
    expect(panels[0]).toMatchObject({
      aggregate: "minimum",
      repeats: 2,
      judges: [{ repeats: 3, ready_made: "correctness" }, { rubric: "Mine" }],
      escalation: { name: "claude-opus-4-5", ready_made: "correctness" },
    });
  });

  it("has labels, and what of them passes", () => {
    const labels = ["bad", "good"];
    const ordinal = { ...panel().scale, isLabelled: true, labels, passFrom: "good" };
    expect(read([panel({ scale: ordinal })]).panels[0]?.judges[0]).toMatchObject({
      scale: { type: "ordinal", labels },
      pass: "good",
    });
    const categories = { ...ordinal, type: "categorical" as const, passLabels: ["good", "gone"] };
    expect(read([panel({ scale: categories })]).panels[0]?.judges[0]).toMatchObject({
      scale: { type: "categorical", labels },
      pass: ["good"],
    });
  });

  it("of a preference has no scale", () => {
    const preference = { ...newPanel("preference", [provider], []), judges: [judge("gpt-4o-mini")] };
    const [one] = read([preference]).panels;
    expect(one).toMatchObject({ kind: "preference", name: "preference" });
    expect(one).not.toHaveProperty("aggregate");
    expect(one?.judges[0]).not.toHaveProperty("scale");
  });

  it("says at the fields what is missing or wrong", () => {
    const wrong = panel({
      name: "",
      criteria: { readyMade: null, rubric: " ", prompt: null },
      scale: { ...panel().scale, min: "5", max: "1", passFrom: "" },
      judges: [judge("m"), judge("m"), { ...judge(""), model: { ...judge("").model, providerId: "" } }],
      repeats: "11",
    });
    expect(Object.keys(read([wrong]).errors).sort()).toEqual([
      "body.panels[0].judges[1].name",
      "body.panels[0].judges[2].model_config.model",
      "body.panels[0].judges[2].provider_id",
      "body.panels[0].name",
      "body.panels[0].repeats",
      "body.panels[0].rubric",
      "body.panels[0].scale.max",
    ]);
    expect(read([panel(), panel()]).errors).toEqual({
      "body.panels[1].name": "Another panel has this name.",
    });
    expect(read([panel()], ["correctness"]).errors).toEqual({
      "body.panels[0].name": "A grader has this name.",
    });
    const noPrompt = panel({
      criteria: { readyMade: null, rubric: "", prompt: { id: "", name: "", version: 0 } },
    });
    expect(read([noPrompt]).errors).toEqual({ "body.panels[0].prompt": "Choose a prompt." });
  });
});

describe("panels that are there", () => {
  const stored = (name: string, rubric: string, repeats = 1) => ({
    name,
    provider_id: "p1",
    provider_name: "One",
    model_config: { model: name, temperature: 0 },
    rubric,
    prompt: null,
    messages: null,
    ready_made: "correctness",
    scale: correctness.scale,
    pass: 4,
    repeats,
    version: "v",
  });
  const there: PanelRead = {
    name: "correct",
    kind: "score",
    aggregate: "minimum",
    judges: [stored("a", correctness.rubric), stored("b", correctness.rubric), stored("c", "Own", 3)],
    escalation: stored("d", correctness.rubric),
  };

  it("give the request that made them", () => {
    const drafts = likePanels([there], [correctness]);
    const { panels, errors } = read(drafts);
    expect(errors).toEqual({});
    expect(panels[0]).toMatchObject({
      name: "correct",
      aggregate: "minimum",
      repeats: 1,
      judges: [
        { name: "a", model_config: { model: "a", temperature: 0 }, ready_made: "correctness" },
        { name: "b", ready_made: "correctness" },
        { name: "c", rubric: "Own", repeats: 3 },
      ],
      escalation: { name: "d", ready_made: "correctness" },
    });
  });

  it("lose a judge, and a panel that has no other", () => {
    const drafts = likePanels([there, { ...there, name: "alone", judges: there.judges.slice(0, 1) }], []);
    const fewer = withoutJudge(drafts, "correct", "b");
    expect(fewer[0]?.judges.map(({ name }) => name)).toEqual(["a", "c"]);
    expect(fewer[1]?.judges).toHaveLength(1);
    expect(withoutJudge(drafts, "alone", "a").map(({ name }) => name)).toEqual(["correct"]);
    expect(withoutJudge(drafts, "correct", "d")[0]?.escalation).toBeNull();
  });
});

it("an own name is found for each panel", () => {
  expect(newPanel("score", [provider], ["quality", "quality 2"]).name).toBe("quality 3");
});

it("an aggregate that was removed becomes the default", () => {
  const judges = [{ name: "a", model_config: { model: "a" }, repeats: 1, prompt: null, rubric: "x" }];
  const old = { name: "correct", kind: "score", aggregate: "median", judges, escalation: null };
  expect(likePanels([old as unknown as PanelRead], [])[0]?.aggregate).toBe("");
});

it.each([
  ["gpt-4o-mini", "OpenAI"],
  ["openai/o3-mini", "OpenAI"],
  ["anthropic.claude-3-5-haiku-v1:0", "Anthropic"],
  ["meta-llama/llama-3.3-70b", "Meta"],
  ["llama3.1:8b", "Meta"],
  ["models/gemini-2.5-flash", "Google"],
  ["my-own-model", null],
  ["", null],
])("%s is of the family %s", (model, want) => expect(familyOf(model)).toBe(want));

describe("another judge is advised", () => {
  it("where all are of one family", () => {
    expect(familyHint(["gpt-4o", "gpt-4o-mini"], [])).toMatch(/OpenAI.*same mistakes/);
    expect(familyHint(["gpt-4o", "gpt-4o-mini"], ["openai/gpt-5"])).toMatch(/own family/);
  });
  it("where there is one", () => {
    expect(familyHint(["claude-haiku-4-5"], ["gpt-4o"])).toMatch(/one judge/);
  });
  it("not where they differ, or nobody knows", () => {
    expect(familyHint(["gpt-4o", "claude-haiku-4-5"], ["gpt-4o"])).toBeNull();
    expect(familyHint(["own-1", "own-2"], [])).toBeNull();
  });
});

it("tries judges on the runs that can be scored", () => {
  const run = {
    run_id: "r1",
    span_id: null,
    name: "support",
    input: "Hi",
    reference_output: "Hello",
    metadata: {},
  };
  expect(
    samplesOfRuns([
      { ...run, skipped: null },
      { ...run, run_id: "r2", name: "", skipped: null },
      { ...run, run_id: "r3", skipped: "The run has no output." },
    ]),
  ).toEqual([
    { name: "support", sample: { input: "Hi", output: "Hello", metadata: {} } },
    { name: "r2", sample: { input: "Hi", output: "Hello", metadata: {} } },
  ]);
});

it("names the variables of prompts where they hold", () => {
  expect(promptVariables("score", true)).toEqual(["input", "output", "tool_calls", "metadata"]);
  expect(promptVariables("score", false)).toContain("reference_output");
  expect(promptVariables("preference", false)).toContain("second_output");
});
