import { describe, expect, it } from "vitest";
import { newPanel } from "@/components/panels/panelDraft";
import { newEdit } from "./edits";
import { batchRequest, emptyBatch } from "./newBatch";

const edit = { target: "all" as const, set: { model: "m" } };
const draft = emptyBatch([newEdit("all", "model")]);

describe("batchRequest", () => {
  it("asks for good runs and for two attempts of each role", () =>
    expect(batchRequest("p", { run_filter: "fingerprint=f" }, draft, [edit], {}).body).toEqual({
      project_id: "p",
      run_filter: "fingerprint=f",
      max_runs: 50,
      good_runs: 20,
      edits: [edit],
      controls: 2,
      treatments: 2,
    }));
  it("takes all runs that are named", () => {
    const { body } = batchRequest("p", { run_ids: ["a", "b"] }, { ...draft, maxRuns: "?" }, [edit], {});
    expect(body).toMatchObject({ run_ids: ["a", "b"] });
    expect(body).not.toHaveProperty("max_runs");
  });
  it("has one panel of judges, and says what it lacks where its form shows it", () => {
    const { body, errors } = batchRequest(
      "p",
      { run_ids: ["a"] },
      { ...draft, panel: newPanel("score", [], []) },
      [edit],
      {},
    );
    expect(body).toBeNull();
    expect(Object.keys(errors).every((at) => at.startsWith("body.panels[0]."))).toBe(true);
  });
  it("says what is wrong", () => {
    const wrong = { ...draft, maxRuns: "0", goodRuns: "201", controls: "21", maxCost: "0" };
    const { body, errors } = batchRequest("p", { run_filter: "" }, wrong, [], {});
    expect(body).toBeNull();
    expect(Object.keys(errors).sort()).toEqual([
      "body.controls",
      "body.edits",
      "body.good_runs",
      "body.max_cost_usd",
      "body.max_runs",
    ]);
  });
});
