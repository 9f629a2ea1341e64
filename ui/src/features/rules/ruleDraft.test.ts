import { describe, expect, it } from "vitest";
import type { EvalRule } from "@/api/types";
import { shownEarly } from "@/components/formErrors";
import { newJudge, newPanel } from "@/components/panels/panelDraft";
import {
  changesOf,
  draftOf,
  emptyRule,
  filterPreview,
  isNewVersion,
  type RuleDraft,
  ruleRequest,
} from "./ruleDraft";

const grader = { id: "g", name: "short", json: '{"type":"length","max":10}' };
const request = (changed: Partial<RuleDraft>) =>
  ruleRequest("p1", {
    ...emptyRule("agent_name=support&range=24h"),
    name: "helpful",
    graders: [grader],
    ...changed,
  });
const panel = {
  ...newPanel("score", [], []),
  criteria: { readyMade: null, rubric: "Is it helpful?", prompt: null },
  judges: [{ ...newJudge(), model: { ...newJudge().model, providerId: "c1", model: "gpt-4o" } }],
};

describe("the request of a rule", () => {
  it("has a filter without times and a share", () => {
    expect(request({ sample: "7" })).toEqual({
      errors: {},
      body: {
        project_id: "p1",
        name: "helpful",
        run_filter: "agent_name=support",
        sample_rate: 0.07,
        group_by: "session",
        graders: [{ type: "length", max: 10, name: "short" }],
        panels: [],
        allow_unpriced: false,
      },
    });
  });
  it("needs a budget for judges", () => {
    expect(request({ panels: [panel] }).errors).toEqual({
      "body.max_cost_usd_per_day": "Enter a daily budget for the judges.",
    });
    expect(request({ panels: [panel], budget: "2.5" }).body?.max_cost_usd_per_day).toBe(2.5);
  });
  it.each([
    [{ name: " " }, "body.name"],
    [{ graders: [] }, "body.graders"],
    [{ sample: "" }, "body.sample_rate"],
    [{ sample: "0" }, "body.sample_rate"],
    [{ sample: "101" }, "body.sample_rate"],
    [{ budget: "-1" }, "body.max_cost_usd_per_day"],
    [{ graders: [{ ...grader, json: "{" }] }, "body.graders[0]"],
  ])("says what is wrong with %o", (changed, at) => {
    const { body, errors } = request(changed);
    expect(body).toBeNull();
    expect(Object.keys(errors)).toEqual([at]);
  });
});

it("starts without what rules can't filter by", () => {
  expect(emptyRule("has_score=true&source=evaluation&status=ok&range=7d").runs).toBe("status=ok");
  expect(emptyRule("source=replay").runs).toBe("source=replay");
});

it("previews the filter of a rule that isn't complete", () => {
  const draft = { ...emptyRule("status=ok"), panels: [panel] };
  expect(filterPreview("p1", draft)).toMatchObject({ run_filter: "status=ok", sample_rate: 0.1 });
  expect(filterPreview("p1", { ...draft, sample: "x" })).toBeNull();
});

describe("changes of a rule", () => {
  const rule = {
    name: "helpful",
    run_filter: "status=ok",
    sample_rate: 0.1,
    group_by: "session",
    graders: [{ type: "length", max: 10, name: "short" }],
    panels: [],
    max_cost_usd_per_day: 2,
    allow_unpriced: false,
  } as unknown as EvalRule;
  const start = draftOf(rule, []);
  const changes = (changed: Partial<RuleDraft>) => {
    const [before, after] = [ruleRequest("p1", start).body, ruleRequest("p1", { ...start, ...changed }).body];
    if (!before || !after) throw new Error("the rule isn't complete");
    return changesOf(before, after);
  };
  it.each([
    [{}, {}, false],
    [{ name: "helpful 2" }, { name: "helpful 2" }, false],
    [{ budget: "" }, { max_cost_usd_per_day: null }, false],
    [{ budget: "3" }, { max_cost_usd_per_day: 3 }, false],
    [{ runs: "" }, { run_filter: "" }, true],
    [{ groupBy: "metadata.customer" }, { group_by: "metadata.customer" }, true],
    [{ groupBy: "" }, {}, false],
    [
      { graders: [{ ...grader, name: "brief" }] },
      { graders: [{ type: "length", max: 10, name: "brief" }] },
      true,
    ],
  ])("of %o", (changed, want, isNew) => {
    expect(changes(changed)).toEqual(want);
    expect(isNewVersion(want)).toBe(isNew);
  });
});

it("says nothing early about a form that nobody touched", () => {
  const { body, errors } = ruleRequest("p1", emptyRule(""));
  expect(body).toBeNull();
  expect(shownEarly(errors)).toEqual({});
});
