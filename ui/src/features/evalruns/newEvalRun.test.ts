import { describe, expect, it } from "vitest";
import type { Dataset, EvalRun } from "@/api/types";
import { emptyConfiguration, type ReadyConfiguration } from "@/components/configuration/configurationDraft";
import { emptyModel, newId } from "@/components/editor/draft";
import { shownEarly } from "@/components/formErrors";
import { emptyEvalRun, evalRunRequest, judgeAgain, likeEvalRun, type NewEvalRun } from "./newEvalRun";

const dataset = { id: "d1", revision: 4, item_count: 10 } as Dataset;

function request(changed: Partial<NewEvalRun>) {
  const side = emptyConfiguration();
  const config: ReadyConfiguration = {
    draft: {
      ...side,
      content: {
        ...side.content,
        messages: [{ id: newId(), kind: "text", role: "user", text: "{{question}}", more: "" }],
        model: { ...emptyModel, providerId: "p1", model: "gpt-4o" },
      },
    },
    version: undefined,
    providerId: "p1",
  };
  return evalRunRequest("project", { ...emptyEvalRun(), name: "triage", dataset, ...changed }, config);
}

describe("the target", () => {
  it("is a configuration with repeats", () => {
    const { body, errors } = request({ repeats: "3" });
    expect(errors).toEqual({});
    expect(body).toMatchObject({
      target: { config: { provider_id: "p1", model_config: { model: "gpt-4o" } } },
      repeats: 3,
    });
    expect(body).not.toHaveProperty("panels");
  });
  it("is the reference outputs, which have no repeats", () => {
    const { body } = request({ target: "reference", repeats: "3" });
    expect(body?.target).toEqual({ outputs: "reference" });
    expect(body).not.toHaveProperty("repeats");
  });
  it("is the outputs of an eval-run", () => {
    expect(request({ target: "eval_run" }).errors).toEqual({
      "body.target.eval_run_id": "Choose an eval-run.",
    });
    expect(request({ target: "eval_run", source: "r1", labelled: true }).body?.target).toEqual({
      eval_run_id: "r1",
      labelled: true,
    });
  });
  it("is recorded runs, with times of their own", () => {
    const runs = "agent_name=support&tag=beta&range=24h&start_after=2026-01-01T00:00:00Z";
    const { body } = request({
      target: "runs",
      runs,
      from: "2026-11-01T10:00",
      to: "2026-11-02T10:00",
      maxRuns: "50",
    });
    expect(body?.target).toEqual({
      run_filter: "agent_name=support&tag=beta",
      from: new Date("2026-11-01T10:00").toISOString(),
      to: new Date("2026-11-02T10:00").toISOString(),
      max_runs: 50,
    });
    const backwards = request({
      target: "runs",
      from: "2026-11-02T10:00",
      to: "2026-11-01T10:00",
      maxRuns: "0",
    });
    expect(Object.keys(backwards.errors)).toEqual(["body.target.to", "body.target.max_runs"]);
  });
  it("of your own program starts nothing here", () => {
    expect(request({ target: "external" })).toEqual({ body: null, errors: {} });
  });
});

describe("an eval-run like another", () => {
  const run = {
    id: "r1",
    name: "triage",
    dataset: { id: "d1", revision: 3, split: "test" },
    target: {
      type: "external",
      config: null,
      eval_run_id: null,
      labelled: false,
      run_filter: null,
      from: null,
      to: null,
      max_runs: null,
    },
    graders: [],
    panels: [],
    repeats: 2,
    primary_metric: null,
    cache: true,
    max_cost_usd: 2,
    allow_unpriced: false,
    on_incompatible: "skip",
  } as unknown as EvalRun;
  it("judges the outputs again that a program sent", () => {
    const draft = likeEvalRun(run, dataset, []);
    expect(draft).toMatchObject({ target: "eval_run", source: "r1" });
    expect(judgeAgain(run, dataset, [])).toMatchObject({ target: "eval_run", source: "r1" });
    expect(request(draft).body).toMatchObject({
      name: "triage",
      revision: 3,
      split: "test",
      target: { eval_run_id: "r1" },
      max_cost_usd: 2,
      on_incompatible: "skip",
    });
  });
  it("has the same target", () => {
    const target = { ...run.target, type: "runs" as const, run_filter: "tag=beta", max_runs: 20 };
    expect(request(likeEvalRun({ ...run, target }, dataset, [])).body?.target).toEqual({
      run_filter: "tag=beta",
      max_runs: 20,
    });
  });
});

it("says nothing early about a form that nobody touched", () => {
  const draft = emptyEvalRun();
  const { body, errors } = evalRunRequest("project", draft, {
    draft: draft.config,
    version: undefined,
    providerId: "",
  });
  expect(body).toBeNull();
  expect(shownEarly(errors)).toEqual({});
});
